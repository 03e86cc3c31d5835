// From a plan of the reduced program to one of the whole: every kernel of a body is copied to all
// instances. A copy computes the same from other tensors, so nothing is derived, estimated or
// compiled again.
#pragma once

#include "luminal/compiler/outline_choice.h"
#include "luminal/compiler/outline_reduce.h"
#include "luminal/kernel/cut_search.h"

namespace luminal::compiler {

/// The plan of a whole program from that of a program with choices, as it is chosen now; `whole`
/// has its definitions. Its kernels are in an arena of their own, since ids are those of another
/// program. Kernels that are copies say of which one (PlannedKernel::copy).
kernel::CutPlan expand(const Outline& outline, const kernel::Program& chosen,
                       const kernel::Arena& from, const kernel::CutPlan& plan,
                       ExpandedProgram& whole, kernel::Arena& into);

/// One sentence per law that a plan breaks: every node of the cut that is not data or opaque is
/// stored by exactly one kernel, kernels read only what is in memory by then, and roots are in the
/// cut.
std::vector<std::string> problems(const kernel::Program& program, const kernel::CutPlan& plan);

}  // namespace luminal::compiler
