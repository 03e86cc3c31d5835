// What every program does before it computes: the check that each input is there and fits, and
// values of the dims from the request and the data. One place, so that all programs say the same.
#pragma once

#include <span>
#include <vector>

#include "luminal/graph/index_walker.h"
#include "luminal/graph/program.h"

namespace luminal::graph {

/// Values for these dims of the graph. `inputs` are the input nodes that are read. Throws UserError
/// naming inputs without data, data that does not fit, and a dim that has no value or leaves its
/// interval.
DimBindings bind_run(const Graph& graph, const RunRequest& request, std::span<const NodeId> inputs,
                     std::span<const Expr> dims);

}  // namespace luminal::graph
