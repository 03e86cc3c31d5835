#include <cmath>

#include "luminal/graph/identity_rules.h"
#include "luminal/graph/uniform.h"

namespace luminal::graph::identity_rules {
namespace {

bool is_zero(const Scalar& value) { return value == Scalar::of(value.dtype(), 0); }
bool is_one(const Scalar& value) { return value == Scalar::of(value.dtype(), 1); }

/// Ops for which (x op a) op b = x op (a op b) without any rounding. Integer arithmetic wraps,
/// which is arithmetic modulo 2^bits: associative. Max picks one of its operands.
bool is_exactly_associative(Op op, DType dtype) {
  switch (op) {
    case Op::kAdd:
    case Op::kMul:
      return is_integer(dtype);
    case Op::kMax:
    case Op::kBitAnd:
    case Op::kBitOr:
    case Op::kBitXor:
      return true;
    default:
      return false;
  }
}

}  // namespace

// 0.0 + -0.0 is 0.0 and -0.0 + -0.0 is -0.0, so -0.0 is the neutral element of floats. The other
// zero is not: -0.0 + 0.0 is 0.0.
Result add_zero(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kAdd) return std::nullopt;
  const auto split = with_constant(rewriter.to(), node);
  if (!split) return std::nullopt;
  const Scalar neutral =
      is_float(node.dtype()) ? Scalar::of(node.dtype(), -0.0) : Scalar::of(node.dtype(), 0);
  return split->value == neutral ? Result(split->other) : std::nullopt;
}

// Multiplying by 1 rounds an exact result: x itself.
Result multiply_by_one(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kMul) return std::nullopt;
  const auto split = with_constant(rewriter.to(), node);
  return split && is_one(split->value) ? Result(split->other) : std::nullopt;
}

// Floats are left alone: 0 * inf is NaN and 0 * -1 is -0.
Result multiply_integer_by_zero(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kMul || !is_integer(node.dtype())) return std::nullopt;
  const auto split = with_constant(rewriter.to(), node);
  return split && is_zero(split->value) ? Result(split->constant) : std::nullopt;
}

// Dividing by 1 rounds an exact result: x itself.
Result divide_by_one(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kDiv) return std::nullopt;
  const auto split = with_constant(rewriter.to(), node);
  return split && is_one(split->value) ? Result(split->other) : std::nullopt;
}

// If 1/c is a value of the dtype, x/c and x*(1/c) are the same real number, rounded once. That is
// so for powers of two, as long as the reciprocal neither overflows nor underflows.
Result divide_by_power_of_two(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kDiv || !is_float(node.dtype())) return std::nullopt;
  const auto split = with_constant(rewriter.to(), node);
  if (!split) return std::nullopt;
  const double divisor = split->value.as_double();
  int exponent = 0;
  if (std::abs(std::frexp(divisor, &exponent)) != 0.5) return std::nullopt;
  const Scalar reciprocal = Scalar::of(node.dtype(), 1.0 / divisor);
  if (reciprocal.as_double() != 1.0 / divisor || !std::isfinite(1.0 / divisor)) return std::nullopt;
  Graph& to = rewriter.to();
  const Edge factor = uniform_like(rewriter, node, reciprocal);
  return to.whole(to.add(Op::kMul, {split->other, factor}));
}

// Recip is defined as the rounded quotient 1/x, so the two are one op.
Result one_over(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kDiv || !is_float(node.dtype())) return std::nullopt;
  const auto dividend = uniform_value(rewriter.to(), node.operands[0]);
  if (!dividend || !is_one(*dividend)) return std::nullopt;
  return rewriter.to().whole(rewriter.to().add(Op::kRecip, {node.operands[1]}));
}

// Integer division by 0 is defined to be 0, so 0/x is 0 for all x.
Result integer_quotient_with_zero(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kDiv || !is_integer(node.dtype())) return std::nullopt;
  for (const Edge& operand : node.operands)
    if (const auto value = uniform_value(rewriter.to(), operand); value && is_zero(*value))
      return operand;
  return std::nullopt;
}

// The integer remainder by 0 is defined to be 0, so 0 % x is 0 for all x.
Result integer_remainder_of_one(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kMod || !is_integer(node.dtype())) return std::nullopt;
  const auto dividend = uniform_value(rewriter.to(), node.operands[0]);
  if (dividend && is_zero(*dividend)) return node.operands[0];
  const auto divisor = uniform_value(rewriter.to(), node.operands[1]);
  if (!divisor || !(is_one(*divisor) || is_zero(*divisor))) return std::nullopt;
  return uniform_like(rewriter, node, Scalar::of(node.dtype(), 0));
}

// IEEE pow(x, 0) is 1 even for NaN, and pow(x, 1) is x; integers agree.
Result power_of_zero_or_one(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kPow) return std::nullopt;
  const auto exponent = uniform_value(rewriter.to(), node.operands[1]);
  if (!exponent) return std::nullopt;
  if (is_one(*exponent)) return node.operands[0];
  if (exponent->as_double() != 0.0) return std::nullopt;
  return uniform_like(rewriter, node, Scalar::of(node.dtype(), 1));
}

// Also for NaN, which max hands on.
Result maximum_of_same(Rewriter&, const Node& node) {
  if (node.op != Op::kMax || node.operands[0] != node.operands[1]) return std::nullopt;
  return node.operands[0];
}

// Every value but NaN is at least the lowest one, and NaN is handed on. The highest value wins only
// where there is no NaN.
Result maximum_with_extreme(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kMax) return std::nullopt;
  const auto split = with_constant(rewriter.to(), node);
  if (!split) return std::nullopt;
  if (split->value == Scalar::lowest(node.dtype())) return split->other;
  if (!is_float(node.dtype()) && split->value == Scalar::highest(node.dtype()))
    return split->constant;
  return std::nullopt;
}

// The new op of two constants is left to constant folding.
Result reassociate_constants(Rewriter& rewriter, const Node& node) {
  if (!is_exactly_associative(node.op, node.dtype())) return std::nullopt;
  Graph& to = rewriter.to();
  const auto outer = with_constant(to, node);
  if (!outer || uniform_value(to, outer->other)) return std::nullopt;
  const Node& inner_node = to.node(outer->other.node);
  if (inner_node.op != node.op) return std::nullopt;
  const auto inner = with_constant(to, inner_node);
  if (!inner) return std::nullopt;
  const size_t variable = inner_node.operands[0] == inner->other ? 0 : 1;
  const std::optional<Edge> value = operand_through(to, outer->other, variable);
  if (!value) return std::nullopt;
  const NodeId a = to.add_constant(inner->value);
  const NodeId b = to.add_constant(outer->value);
  const NodeId combined = to.add(node.op, {to.whole(a), to.whole(b)});
  const Edge constant{View({}, node.shape(), {}), combined};
  return to.whole(to.add(node.op, {*value, constant}));
}

// Results of floor and round, and integers cast to a float (rounded or not), are whole numbers,
// infinities or NaN; floor and round keep all of them, -0 too.
Result rounding_of_whole_number(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kFloor && node.op != Op::kRound) return std::nullopt;
  const Graph& graph = rewriter.to();
  const Edge& operand = node.operands[0];
  if (!operand.view.conditions().empty()) return std::nullopt;
  const Node& inner = graph.node(operand.node);
  const bool is_whole =
      inner.op == Op::kFloor || inner.op == Op::kRound ||
      (inner.op == Op::kCast && !is_float(graph.node(inner.operands[0].node).dtype()));
  return is_whole ? Result(operand) : std::nullopt;
}

}  // namespace luminal::graph::identity_rules
