// Compiles and loads in one step.
#pragma once

#include <memory>

#include "luminal/compiler/options.h"
#include "luminal/compiler/search_options.h"
#include "luminal/plan/compiled_program.h"

namespace luminal::compiler {

/// Compiles a graph (after passes) and loads it.
std::unique_ptr<plan::CompiledProgram> make_compiled(const graph::Graph& graph,
                                                     const Options& options = {});

/// The same with a plan that was searched for (search_plan.h). With buckets each has an equal part
/// of the time that is left, so that what one does not need is for those after it; what was
/// measured for one counts for the others where they share a kernel. An interrupt ends all of them,
/// each with the best so far. The report is of all of them.
std::unique_ptr<plan::CompiledProgram> make_searched(const graph::Graph& graph,
                                                     const Options& options,
                                                     const SearchOptions& search,
                                                     SearchReport* report = nullptr);

}  // namespace luminal::compiler
