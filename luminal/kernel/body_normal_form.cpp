// The parts of the arena that keep bodies in normal form: reductions (axes of extent 1, splits,
// merges, names by height) and index arithmetic.
#include <algorithm>

#include "luminal/kernel/body.h"
#include "luminal/support/check.h"

namespace luminal::kernel {
namespace {

/// Enough for every reshape met so far; a chain of splits beyond it stays as divisions.
constexpr size_t kMostAxes = 12;

/// True if every value of the expression is one of the dtype. Values of i64 are taken to fit, as
/// index arithmetic is done in 64 bits everywhere.
bool fits(const Expr& expr, DType dtype) {
  if (is_float(dtype)) return false;
  if (dtype == DType::kI64) return true;
  const symbolic::Interval bounds = expr.bounds();
  return bounds.is_finite() && bounds.lo >= Scalar::lowest(dtype).as_int64() &&
         bounds.hi <= Scalar::highest(dtype).as_int64();
}

/// Axes of reductions around have names of their height, which is larger than any inside.
void check_no_capture(const BodyNode& child, std::span<const Expr> bound, int height) {
  for (const Expr& axis : child.free)
    LUMINAL_CHECK(!is_bound_axis(axis) || bound_height(axis) != height ||
                      std::find(bound.begin(), bound.end(), axis) != bound.end(),
                  "axis {} of a reduction around would be captured", axis);
}

}  // namespace

std::optional<Expr> Arena::as_expression(BodyId id) const {
  const BodyNode& node = nodes_[id.value];
  if (is_float(node.dtype)) return std::nullopt;
  if (node.kind == BodyKind::kIota && fits(node.exprs[0], node.dtype)) return node.exprs[0];
  // Large numbers could overflow what is built of them.
  if (node.kind == BodyKind::kConstant && std::abs(node.constant.as_double()) < 0x1p31)
    return Expr(node.constant.as_int64());
  return std::nullopt;
}

Expr Arena::index_value(BodyId id, const Expr& extent) const {
  const std::optional<Expr> expression = as_expression(id);
  return expression ? *expression : value_axis(id, extent);
}

std::optional<BodyId> Arena::fold_iotas(Op op, DType dtype, std::span<const BodyId> children) {
  if (children.size() > 2) return std::nullopt;
  std::vector<Expr> values;
  bool position = false;
  for (BodyId child : children) {
    const std::optional<Expr> value = as_expression(child);
    if (!value) return std::nullopt;
    position = position || !value->is_constant();
    values.push_back(*value);
  }
  if (!position) return std::nullopt;
  const bool logic = is_bool(node(children[0]).dtype);
  const Expr a = values[0], b = values.back();
  std::optional<Expr> result;
  if (op == Op::kCast) result = a;
  if (op == Op::kAdd) result = a + b;
  if (op == Op::kMul) result = a * b;
  if (op == Op::kMax) result = symbolic::max(a, b);
  if (op == Op::kLessThan) result = symbolic::less(a, b);
  if (op == Op::kEqual) result = symbolic::equal(a, b);
  if (op == Op::kBitAnd && logic) result = symbolic::logical_and(a, b);
  if (op == Op::kBitOr && logic) result = symbolic::logical_or(a, b);
  if (op == Op::kBitXor && logic) result = symbolic::not_equal(a, b);
  if (!result || (op != Op::kCast && !fits(*result, dtype))) return std::nullopt;
  return iota(*result, dtype);
}

BodyId Arena::reduce(Op op, std::vector<Expr> axes, BodyId child) {
  LUMINAL_CHECK(graph::is_reduction(op), "{} is no reduction", graph::name(op));
  std::erase_if(axes, [](const Expr& axis) { return !axis.is_axis(); });
  if (axes.empty()) return child;
  while (options_.merge_reductions && node(child).kind == BodyKind::kReduce &&
         node(child).op == op && is_subset(make_axis_set(axes), node(child).free) &&
         axes.size() + node(child).exprs.size() <= kMostAxes) {
    const BodyNode& inner = node(child);
    axes.insert(axes.end(), inner.exprs.begin(), inner.exprs.end());
    child = inner.children[0];
  }
  while (true) {
    const int height = node(child).height + 1;
    // One split at a time: others may want what is left of the axis.
    std::vector<Expr> pieces;
    std::optional<WantedSplit> split;
    for (const WantedSplit& wanted : node(child).splits)
      if (!split && axes.size() < kMostAxes &&
          std::find(axes.begin(), axes.end(), wanted.axis) != axes.end())
        split = wanted;
    for (const Expr& axis : axes) {
      const auto k = static_cast<int64_t>(pieces.size());
      const Expr extent = axis.axis_extent();
      if (split && axis == split->axis) {
        pieces.push_back(bound_axis(height, k, *exact_div(extent, split->divisor)));
        pieces.push_back(bound_axis(height, k + 1, split->divisor));
      } else {
        pieces.push_back(bound_axis(height, k, extent));
      }
    }
    std::vector<symbolic::Binding> bindings;
    size_t next = 0;
    for (const Expr& axis : axes) {
      Expr value = pieces[next++];
      if (split && axis == split->axis) value = value * split->divisor + pieces[next++];
      if (value != axis) bindings.push_back({axis, value});
    }
    if (bindings.empty()) break;
    check_no_capture(node(child), axes, height);
    child = substitute(child, bindings);
    axes = std::move(pieces);
  }
  return intern({.kind = BodyKind::kReduce,
                 .op = op,
                 .dtype = node(child).dtype,
                 .exprs = std::move(axes),
                 .children = {child}});
}

}  // namespace luminal::kernel
