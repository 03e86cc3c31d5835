// What random graphs are made of: sources, views of what is there, and operands that fit together.
// A step of random_graph.cpp asks for operands and adds one op to them.
#pragma once

#include "luminal/graph/graph.h"
#include "random.h"

namespace luminal::fuzz {

using test::Random;

/// The graph so far, and random operands from it. New sources are added where nothing fits.
class OperandMaker {
 protected:
  explicit OperandMaker(uint64_t seed);

  /// A number or an expression of the dims.
  graph::Expr random_extent();
  /// Rank 0 to 6, few elements.
  graph::Shape random_shape();
  /// A new input, named x0, x1, ...
  graph::NodeId add_input(graph::DType dtype, const graph::Shape& shape);
  /// A constant with data.
  graph::NodeId add_array(graph::DType dtype, const graph::Extents& extents);
  /// Positions times small numbers, sometimes divided.
  graph::NodeId add_iota(graph::DType dtype, const graph::Shape& shape);
  /// Often one of the last, so that ops stand on each other and rules find chains.
  graph::NodeId any_node();
  /// A constant that some op treats specially: 0, 1, 2, -1, a half, the ends of the range.
  graph::Edge special_constant(graph::DType dtype, const graph::Shape& domain);
  /// The other operand of an op: another value, a special constant, or the same value again.
  graph::Edge other_side(const graph::Edge& first);
  /// How many moves a view gets: often none.
  int few_moves();
  /// A node seen through a few moves.
  graph::Edge any_edge();
  /// An edge of this dtype: an existing node if one is found by trying, otherwise a cast.
  graph::Edge edge_of(graph::DType dtype);
  /// An edge of this dtype and domain: an existing value that broadcasts to it, or a new source.
  graph::Edge partner(graph::DType dtype, const graph::Shape& domain);
  /// A shape that broadcasts to `domain`: trailing axes, some of them 1.
  graph::Shape random_broadcast_of(const graph::Shape& domain);
  /// The whole node broadcast to a domain.
  graph::Edge expanded(graph::NodeId node, const graph::Shape& domain);
  /// A dtype that the op takes.
  graph::DType dtype_for(graph::DTypeRule rule);
  /// Positions below `bound`: a constant, or computed from whatever integers there are by
  /// max(x % bound, 0).
  graph::Edge positions(const graph::Shape& shape, int64_t bound);
  /// Whether an elementwise op or reduction takes operands of a dtype.
  static bool takes(graph::Op op, graph::DType dtype);
  /// An edge of a dtype that the op takes.
  graph::Edge edge_for(graph::Op op);
  /// The dtype of an edge.
  graph::DType dtype_of(const graph::Edge& edge) const;

  graph::Graph graph_;
  Random random_;
  graph::Expr n_, m_, batch_;  // named dims, of which n may be 0 and m may be 1
  int input_count_ = 0;
};

}  // namespace luminal::fuzz
