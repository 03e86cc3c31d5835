// Values that are the same in every element: scalar constants under broadcast views, mostly.
// Constant folding produces them and algebraic identities look for them.
#pragma once

#include <optional>

#include "luminal/graph/graph.h"

namespace luminal::graph {

/// The value that every element of the array has, if there is one and the array is not empty.
/// NaNs must have the same bits; -0.0 is not 0.0.
std::optional<Scalar> uniform_value(const Array& array);

/// The value that every element seen through the edge is known to have: of a constant, of an iota
/// of a number, and through padding with the same value.
std::optional<Scalar> uniform_value(const Graph& graph, const Edge& edge);

/// Adds a scalar constant and gives it broadcast to `shape`.
Edge add_uniform(Graph& graph, const Scalar& value, const Shape& shape);

}  // namespace luminal::graph
