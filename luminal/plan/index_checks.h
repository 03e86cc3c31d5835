// Which gathers need a look at their positions before they run. Kernels read something wherever a
// position points, never outside of memory; that a position out of range is the caller's error is
// found by a check of its own, unless it can be proved that there is none.
#pragma once

#include <vector>

#include "luminal/graph/graph.h"

namespace luminal::plan {

/// A gather that is not proved to stay in range, or whose data is not.
struct IndexCheck {
  graph::NodeId gather;  ///< the node
  /// Positions that follow from the dims alone: checked when they are bound.
  bool from_dims = false;
};

/// The checks that the outputs and effects of a graph need, in the graph's order.
std::vector<IndexCheck> index_checks(const graph::Graph& graph);

/// Throws the gather's UserError if a position, read through the operand's view, is out of range,
/// or if what it chooses lies outside of the data (a slice that is too long).
void check_positions(const graph::Node& gather, const graph::Array& positions,
                     const std::vector<symbolic::Binding>& dims);

/// A quick look at positions as they lie in memory: true only if every one is in [0, bound). False
/// for dtypes that it does not know.
bool quickly_in_range(graph::DType dtype, const std::byte* positions, int64_t count, int64_t bound);

/// Whether it can be shown that a view reads nothing outside of its source, for these dims.
bool stays_inside(const graph::View& view, const std::vector<symbolic::Binding>& dims);

/// Edges of live nodes that some values of the dims make read outside of their source (a slice that
/// is too long): whoever binds the dims checks them with check_view.
struct ViewCheck {
  graph::View view;       ///< of the edge
  std::string operation;  ///< that reads through it, for the error
};
std::vector<ViewCheck> view_checks(const graph::Graph& graph);  ///< of a graph
/// Throws the UserError of a view that leaves its source.
void check_view(const ViewCheck& check, const std::vector<symbolic::Binding>& dims);

}  // namespace luminal::plan
