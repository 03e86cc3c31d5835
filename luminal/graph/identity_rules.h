// The laws of identities.h, one small function each, and what they share. Each is declared beside
// its reason in its .cpp file; this header only lists them for the table.
#pragma once

#include "luminal/graph/rewriter.h"

namespace luminal::graph::identity_rules {

using Result = std::optional<Edge>;

// identities_arithmetic.cpp
Result add_zero(Rewriter& rewriter, const Node& node);
Result multiply_by_one(Rewriter& rewriter, const Node& node);
Result multiply_integer_by_zero(Rewriter& rewriter, const Node& node);
Result divide_by_one(Rewriter& rewriter, const Node& node);
Result divide_by_power_of_two(Rewriter& rewriter, const Node& node);
Result one_over(Rewriter& rewriter, const Node& node);
Result integer_quotient_with_zero(Rewriter& rewriter, const Node& node);
Result integer_remainder_of_one(Rewriter& rewriter, const Node& node);
Result power_of_zero_or_one(Rewriter& rewriter, const Node& node);
Result maximum_of_same(Rewriter& rewriter, const Node& node);
Result maximum_with_extreme(Rewriter& rewriter, const Node& node);
Result reassociate_constants(Rewriter& rewriter, const Node& node);
Result rounding_of_whole_number(Rewriter& rewriter, const Node& node);

// identities_logic.cpp
Result less_than_itself(Rewriter& rewriter, const Node& node);
Result less_than_extreme(Rewriter& rewriter, const Node& node);
Result equal_to_itself(Rewriter& rewriter, const Node& node);
Result equal_to_true(Rewriter& rewriter, const Node& node);
Result not_of_not(Rewriter& rewriter, const Node& node);
Result bits_with_itself(Rewriter& rewriter, const Node& node);
Result bits_with_constant(Rewriter& rewriter, const Node& node);
Result shift_by_zero(Rewriter& rewriter, const Node& node);
Result select_by_constant(Rewriter& rewriter, const Node& node);
Result select_of_same(Rewriter& rewriter, const Node& node);
Result select_true_or_false(Rewriter& rewriter, const Node& node);

// identities_structure.cpp
Result cast_to_same(Rewriter& rewriter, const Node& node);
Result cast_of_lossless_cast(Rewriter& rewriter, const Node& node);
Result bitcast_of_bitcast(Rewriter& rewriter, const Node& node);
Result copy_of_whole(Rewriter& rewriter, const Node& node);
Result reduce_no_axes(Rewriter& rewriter, const Node& node);
Result reduce_unit_axes(Rewriter& rewriter, const Node& node);
Result reduce_empty_axis(Rewriter& rewriter, const Node& node);
Result reduction_of_reduction(Rewriter& rewriter, const Node& node);
Result gather_at_constant(Rewriter& rewriter, const Node& node);
Result scatter_of_nothing(Rewriter& rewriter, const Node& node);

// Helpers

/// One operand of a binary op is the same value everywhere.
struct WithConstant {
  Edge other;
  Edge constant;
  Scalar value;
};

/// The right operand is uniform; for commutative ops the left one will do too.
std::optional<WithConstant> with_constant(const Graph& graph, const Node& node);

/// Operand `position` of the node that `edge` reads, seen by the reader of `edge`: both views
/// composed. For elementwise nodes only. Nothing if that cannot be said (padding in between gives
/// the fill, not the op of the fill).
std::optional<Edge> operand_through(const Graph& graph, const Edge& edge, size_t position);

/// A new scalar constant in the shape of the node.
Edge uniform_like(Rewriter& rewriter, const Node& node, const Scalar& value);

}  // namespace luminal::graph::identity_rules
