// From a graph to a plan: what is materialised (kernel/cut_search.h), code for each kernel, the
// order of steps and the memory. No data is needed and nothing is measured.
#pragma once

#include "luminal/compiler/options.h"
#include "luminal/compiler/plan.h"

namespace luminal::compiler {

/// The plan of a graph.
Plan build_plan(graph::Graph graph, const Options& options = {});

}  // namespace luminal::compiler
