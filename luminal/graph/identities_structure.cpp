#include "luminal/graph/identities.h"
#include "luminal/graph/identity_rules.h"
#include "luminal/graph/uniform.h"

namespace luminal::graph {
namespace {

/// Which numbers a float format holds: multiples of 2^smallest with `precision` bits, below
/// 2^(largest + 1).
struct FloatFormat {
  int precision;
  int smallest;
  int largest;
};

FloatFormat format_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {53, -1074, 1023};
    case DType::kF32:
      return {24, -149, 127};
    case DType::kF16:
      return {11, -24, 15};
    case DType::kBF16:
      return {8, -133, 127};
    case DType::kF8E5M2:
      return {3, -16, 15};
    default:
      // f8e4m3 ends at 448 = 1.75 * 2^8; no dtype that fits otherwise has 480, which it lacks.
      return {4, -9, 8};
  }
}

/// Bits of the magnitude: 7 for i8, 8 for u8, 1 for bool.
int magnitude_bits(DType dtype) {
  if (is_bool(dtype)) return 1;
  return is_unsigned(dtype) ? bits(dtype) : bits(dtype) - 1;
}

bool is_signed(DType dtype) { return info(dtype).kind == DTypeKind::kSigned; }

bool integer_holds(DType to, DType from) {
  if (is_bool(to)) return false;
  if (is_signed(from) && !is_signed(to)) return false;
  return magnitude_bits(to) >= magnitude_bits(from);
}

}  // namespace

bool holds_every_value(DType to, DType from) {
  if (to == from) return true;
  if (is_float(to) && is_float(from)) {
    const FloatFormat wide = format_of(to);
    const FloatFormat narrow = format_of(from);
    return wide.precision >= narrow.precision && wide.smallest <= narrow.smallest &&
           wide.largest >= narrow.largest;
  }
  if (is_float(from)) return false;
  if (!is_float(to)) return integer_holds(to, from);
  // -2^n has one bit of precision but the exponent n.
  const FloatFormat format = format_of(to);
  const int magnitude = magnitude_bits(from);
  return format.precision >= magnitude &&
         format.largest >= (is_signed(from) ? magnitude : magnitude - 1);
}

namespace identity_rules {

Result cast_to_same(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kCast && node.op != Op::kBitcast) return std::nullopt;
  const Edge& operand = node.operands[0];
  return rewriter.to().node(operand.node).dtype() == node.dtype() ? Result(operand) : std::nullopt;
}

// The middle dtype must hold every value of the first. Even then an integer that goes to an integer
// by way of a float saturates where a direct cast wraps, so there the last must hold them too.
Result cast_of_lossless_cast(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kCast) return std::nullopt;
  Graph& to = rewriter.to();
  const Node& middle = to.node(node.operands[0].node);
  if (middle.op != Op::kCast) return std::nullopt;
  const DType first = to.node(middle.operands[0].node).dtype();
  const DType last = node.dtype();
  if (!holds_every_value(middle.dtype(), first)) return std::nullopt;
  const bool detour = !is_float(first) && is_float(middle.dtype()) && is_integer(last);
  if (detour && !holds_every_value(last, first)) return std::nullopt;
  std::optional<Edge> value = operand_through(to, node.operands[0], 0);
  if (!value) return std::nullopt;
  if (first == last) return value;
  return to.whole(to.add_cast(Op::kCast, *value, last));
}

Result bitcast_of_bitcast(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kBitcast) return std::nullopt;
  Graph& to = rewriter.to();
  if (to.node(node.operands[0].node).op != Op::kBitcast) return std::nullopt;
  std::optional<Edge> value = operand_through(to, node.operands[0], 0);
  if (!value) return std::nullopt;
  if (to.node(value->node).dtype() == node.dtype()) return value;
  return to.whole(to.add_cast(Op::kBitcast, *value, node.dtype()));
}

// A copy through another view is left: somebody wanted the view as data.
Result copy_of_whole(Rewriter&, const Node& node) {
  if (node.op != Op::kCopy || !node.operands[0].view.is_identity()) return std::nullopt;
  return node.operands[0];
}

/// What a reduction of one value gives: that value. Sums of floats begin with 0.0, to which -0.0 is
/// added, so there it is x + 0.0, which still is no reduction.
static Edge reduction_of_one(Rewriter& rewriter, const Node& node, const Edge& operand) {
  if (node.op != Op::kSum || !is_float(node.dtype())) return operand;
  const Edge zero = uniform_like(rewriter, node, Scalar::of(node.dtype(), 0.0));
  return rewriter.to().whole(rewriter.to().add(Op::kAdd, {operand, zero}));
}

Result reduce_no_axes(Rewriter& rewriter, const Node& node) {
  if (!is_reduction(node.op) || node.attribute<ReduceAttribute>().axes != 0) return std::nullopt;
  return reduction_of_one(rewriter, node, node.operands[0]);
}

Result reduce_unit_axes(Rewriter& rewriter, const Node& node) {
  if (!is_reduction(node.op)) return std::nullopt;
  const int axes = node.attribute<ReduceAttribute>().axes;
  View view = node.operands[0].view;
  int left = axes;
  for (int axis = view.rank() - 1, count = 0; count < axes; --axis, ++count) {
    if (!view.domain()[static_cast<size_t>(axis)].is_constant(1)) continue;
    view = view.squeeze(axis);
    --left;
  }
  if (left == axes) return std::nullopt;
  const Edge operand{std::move(view), node.operands[0].node};
  if (left == 0) return reduction_of_one(rewriter, node, operand);
  Graph& to = rewriter.to();
  return to.whole(to.add(node.op, {operand}, ReduceAttribute{left}));
}

Result reduce_empty_axis(Rewriter& rewriter, const Node& node) {
  if (!is_reduction(node.op)) return std::nullopt;
  const Shape& domain = node.operands[0].view.domain();
  bool empty = false;
  for (size_t k = node.shape().size(); k < domain.size(); ++k) empty |= domain[k].is_constant(0);
  if (!empty) return std::nullopt;
  Scalar value = Scalar::lowest(node.dtype());
  if (node.op == Op::kSum) value = Scalar::of(node.dtype(), 0);
  if (node.op == Op::kProd) value = Scalar::of(node.dtype(), 1);
  return uniform_like(rewriter, node, value);
}

// Max picks one of its operands and integers wrap, so the order of combining does not matter;
// sums of floats would round differently. Only if nobody else needs the inner result, which would
// then be computed twice.
Result reduction_of_reduction(Rewriter& rewriter, const Node& node) {
  if (!is_reduction(node.op)) return std::nullopt;
  if (node.op != Op::kReduceMax && !is_integer(node.dtype())) return std::nullopt;
  Graph& to = rewriter.to();
  const Edge& outer = node.operands[0];
  const Node& inner_node = to.node(outer.node);
  if (inner_node.op != node.op || rewriter.uses(outer.node) > 1) return std::nullopt;
  if (!outer.view.conditions().empty()) return std::nullopt;
  const Edge inner = inner_node.operands[0];
  // The outer view, with the axes that the inner op reduces appended to its domain.
  const int inner_axes = inner_node.attribute<ReduceAttribute>().axes;
  const size_t kept = inner.view.domain().size() - static_cast<size_t>(inner_axes);
  Shape domain = outer.view.domain();
  std::vector<Expr> index = outer.view.index();
  for (size_t k = kept; k < inner.view.domain().size(); ++k) {
    const Expr& extent = inner.view.domain()[k];
    index.push_back(Expr::axis(static_cast<int64_t>(domain.size()), extent));
    domain.push_back(extent);
  }
  const View widened(inner.view.domain(), std::move(domain), std::move(index));
  std::optional<View> view = View::compose(inner.view, widened);
  if (!view) return std::nullopt;
  const int axes = node.attribute<ReduceAttribute>().axes + inner_axes;
  return to.whole(to.add(node.op, {{std::move(*view), inner.node}}, ReduceAttribute{axes}));
}

// The position must be proved to be in range, or an error would be lost.
Result gather_at_constant(Rewriter& rewriter, const Node& node) {
  if (node.op != Op::kGather) return std::nullopt;
  const auto position = uniform_value(rewriter.to(), node.operands[0]);
  if (!position) return std::nullopt;
  const Edge& data = node.operands[1];
  const int axis = data.view.rank() - 1;
  const Expr extent = data.view.domain()[static_cast<size_t>(axis)];
  const int64_t value = position->as_int64();
  if (value < 0 || !symbolic::provably_less(Expr(value), extent)) return std::nullopt;
  return Edge{data.view.select(axis, Expr(value)), data.node};
}

Result scatter_of_nothing(Rewriter&, const Node& node) {
  if (node.op != Op::kScatter) return std::nullopt;
  for (const Expr& extent : node.operands[1].view.domain())
    if (extent.is_constant(0)) return node.operands[0];
  return std::nullopt;
}

}  // namespace identity_rules
}  // namespace luminal::graph
