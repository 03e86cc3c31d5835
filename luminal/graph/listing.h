// A graph for people: inputs, steps in order with the named op each belongs to, outputs. text.h has
// the form that parses back.
#pragma once

#include <string>

#include "luminal/graph/graph.h"

namespace luminal::graph {

/// Several lines: what goes in, what is computed, what comes out.
std::string list_steps(const Graph& graph);

}  // namespace luminal::graph
