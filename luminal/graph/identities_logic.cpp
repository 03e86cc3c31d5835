#include "luminal/graph/identity_rules.h"
#include "luminal/graph/uniform.h"

namespace luminal::graph::identity_rules {
namespace {

bool is_bit_op(Op op) { return op == Op::kBitAnd || op == Op::kBitOr || op == Op::kBitXor; }

Scalar zero(DType dtype) { return Scalar::of(dtype, 0); }
/// All bits set: -1, the largest unsigned value, true.
Scalar ones(DType dtype) { return Scalar::of(dtype, -1); }

/// The operand of (x == false), if the edge is one: how `not` is written.
std::optional<Edge> negated(const Graph& graph, const Edge& edge) {
  const Node& node = graph.node(edge.node);
  if (node.op != Op::kEqual) return std::nullopt;
  for (size_t k = 0; k < 2; ++k) {
    const auto value = uniform_value(graph, node.operands[1 - k]);
    if (value && *value == Scalar::of(DType::kBool, false)) return operand_through(graph, edge, k);
  }
  return std::nullopt;
}

}  // namespace

// Comparisons with NaN are false, so this needs no exception.
Result less_than_itself(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kLessThan || node.operands[0] != node.operands[1]) return std::nullopt;
  return uniform_like(rewriter, node, Scalar::of(DType::kBool, false));
}

// Nothing is below the lowest value or above the highest; NaN compares false anyway.
Result less_than_extreme(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kLessThan) return std::nullopt;
  const Graph& graph = rewriter.to();
  const DType dtype = graph.node(node.operands[0].node).dtype();
  const auto left = uniform_value(graph, node.operands[0]);
  const auto right = uniform_value(graph, node.operands[1]);
  if (!(left && *left == Scalar::highest(dtype)) && !(right && *right == Scalar::lowest(dtype)))
    return std::nullopt;
  return uniform_like(rewriter, node, Scalar::of(DType::kBool, false));
}

// Not for floats: NaN is not equal to itself, and x == x is how one asks for it.
Result equal_to_itself(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kEqual || node.operands[0] != node.operands[1]) return std::nullopt;
  if (is_float(rewriter.to().node(node.operands[0].node).dtype())) return std::nullopt;
  return uniform_like(rewriter, node, Scalar::of(DType::kBool, true));
}

Result equal_to_true(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kEqual) return std::nullopt;
  const auto split = with_constant(rewriter.to(), node);
  if (!split || !(split->value == Scalar::of(DType::kBool, true))) return std::nullopt;
  return split->other;
}

// Exclusive-or with all ones twice is the other way to write it: reassociate_constants has it.
Result not_of_not(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kEqual) return std::nullopt;
  const auto split = with_constant(rewriter.to(), node);
  if (!split || !(split->value == Scalar::of(DType::kBool, false))) return std::nullopt;
  std::optional<Edge> inner = negated(rewriter.to(), split->other);
  if (!inner || !is_bool(rewriter.to().node(inner->node).dtype())) return std::nullopt;
  return inner;
}

Result bits_with_itself(Rewriter& rewriter, const Node& node) {
  if (!is_bit_op(node.op) || node.operands[0] != node.operands[1]) return std::nullopt;
  if (node.op != Op::kBitXor) return node.operands[0];
  return uniform_like(rewriter, node, zero(node.dtype()));
}

Result bits_with_constant(Rewriter& rewriter, const Node& node) {
  if (!is_bit_op(node.op)) return std::nullopt;
  const auto split = with_constant(rewriter.to(), node);
  if (!split) return std::nullopt;
  if (split->value == zero(node.dtype()))
    return node.op == Op::kBitAnd ? split->constant : split->other;
  if (split->value == ones(node.dtype())) {
    if (node.op == Op::kBitAnd) return split->other;
    if (node.op == Op::kBitOr) return split->constant;
  }
  return std::nullopt;
}

// Amounts out of range shift everything out; of 0 nothing is left either way.
Result shift_by_zero(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kShiftLeft && node.op != Op::kShiftRight) return std::nullopt;
  for (const Edge& operand : node.operands)
    if (const auto value = uniform_value(rewriter.to(), operand);
        value && *value == zero(node.dtype()))
      return node.operands[0];
  return std::nullopt;
}

Result select_by_constant(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kSelect) return std::nullopt;
  const auto condition = uniform_value(rewriter.to(), node.operands[0]);
  if (!condition) return std::nullopt;
  return node.operands[condition->as_int64() != 0 ? 1 : 2];
}

Result select_of_same(Rewriter&, const Node& node) {
  if (node.op != Op::kSelect || node.operands[1] != node.operands[2]) return std::nullopt;
  return node.operands[1];
}

Result select_true_or_false(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kSelect || !is_bool(node.dtype())) return std::nullopt;
  const auto if_true = uniform_value(rewriter.to(), node.operands[1]);
  const auto if_false = uniform_value(rewriter.to(), node.operands[2]);
  if (!if_true || !if_false || if_true->as_int64() != 1 || if_false->as_int64() != 0)
    return std::nullopt;
  return node.operands[0];
}

}  // namespace luminal::graph::identity_rules
