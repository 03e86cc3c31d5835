// From a graph to a plan: what is materialised (kernel/cut_search.h), code for each kernel, the
// order of steps and the memory. No data is needed and nothing is measured.
#pragma once

#include "luminal/compiler/options.h"
#include "luminal/compiler/plan.h"

namespace luminal::compiler {

struct FoundDefinitions;

/// The plan of a graph. With `found`, further plans of the same graph use the definitions that
/// rules found for the first (planned_program.h); only what the options say of dims may differ.
Plan build_plan(graph::Graph graph, const Options& options = {}, FoundDefinitions* found = nullptr);

}  // namespace luminal::compiler
