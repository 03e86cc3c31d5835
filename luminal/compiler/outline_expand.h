// From a plan of the reduced program to one of the whole: every kernel of a body is copied to all
// instances. A copy computes the same from other tensors, so nothing is derived, estimated or
// compiled again.
#pragma once

#include "luminal/compiler/outline_choice.h"
#include "luminal/compiler/outline_reduce.h"
#include "luminal/kernel/cut_search.h"

namespace luminal::compiler {

/// A reduced program and the plan that was found for it.
struct ReducedSearch {
  const Outline& outline;
  const ReducedGraph& reduced;
  const ReducedProgram& program;
  const kernel::Arena& arena;  // of the plan's kernels
  const kernel::CutPlan& plan;
};

/// The plan of a whole program. `source` is that of the graph, `whole` the same or one that has
/// more roots. Its kernels are in an arena of their own, since ids are those of another program.
/// Kernels that are copies say of which one (PlannedKernel::copy).
kernel::CutPlan expand(const ReducedSearch& search, const kernel::GraphProgram& source,
                       const kernel::Program& whole, kernel::Arena& into);

/// The same for a program with choices, as it is chosen now; `whole` has its definitions.
kernel::CutPlan expand(const Outline& outline, const kernel::Program& chosen,
                       const kernel::Arena& from, const kernel::CutPlan& plan,
                       ExpandedProgram& whole, kernel::Arena& into);

/// One sentence per law that a plan breaks: every node of the cut that is not data or opaque is
/// stored by exactly one kernel, kernels read only what is in memory by then, and roots are in the
/// cut.
std::vector<std::string> problems(const kernel::Program& program, const kernel::CutPlan& plan);

}  // namespace luminal::compiler
