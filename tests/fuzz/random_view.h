// Random views of a node: chains of all movement ops, over constant and symbolic extents.
#pragma once

#include "luminal/graph/graph.h"
#include "random.h"

namespace luminal::fuzz {

using test::Random;

/// No tensor of a random graph may grow beyond this many elements when every dim is at its largest.
inline constexpr int64_t kMostElements = 600;

/// Largest number of elements the shape can have.
int64_t most_elements(const graph::Shape& shape);

/// `view` moved once, at random; the same view if the chosen move does not apply to it.
graph::View random_move(Random& random, const graph::View& view, graph::DType dtype);

/// The node seen through up to `moves` random moves.
graph::Edge random_edge(Random& random, const graph::Graph& graph, graph::NodeId node, int moves);

}  // namespace luminal::fuzz
