#include "luminal/kernel/contraction.h"

#include <algorithm>

namespace luminal::kernel {
namespace {

/// The factors of a product, casts between floats that only widen looked through at the top.
void factors_of(const Arena& arena, BodyId id, const AxisSet& bound, std::vector<BodyId>& factors) {
  const BodyNode& node = arena[id];
  if (node.kind == BodyKind::kOp && node.op == Op::kMul && intersects(node.free, bound)) {
    factors_of(arena, node.children[0], bound, factors);
    factors_of(arena, node.children[1], bound, factors);
  } else {
    factors.push_back(id);
  }
}

BodyId without_casts(const Arena& arena, BodyId id) {
  while (arena[id].kind == BodyKind::kOp && arena[id].op == Op::kCast) id = arena[id].children[0];
  return id;
}

AxisSet outputs_of(const Arena& arena, BodyId id, const AxisSet& bound) {
  return difference(arena[id].free, bound);
}

/// Two groups of factors, by the output axes they use.
struct Sides {
  std::vector<BodyId> a, b;
  AxisSet a_axes, b_axes;
};

/// Both sides begin with one factor; the others join the side whose axes they stay within, and if
/// they fit both, the one with fewer: there they are computed for fewer elements. (What is done to
/// one row before a product would else be done to every column of the matrix.) What is only loaded
/// joins the first if both have axes of their own: the gain of a norm becomes part of weights, once
/// and for all. It does not join the matrix that meets one row, which would be another in every run
/// if the row is: what is constant is not known here.
std::optional<Sides> divide(const Arena& arena, std::span<const BodyId> factors,
                            const AxisSet& bound, size_t first, size_t second) {
  Sides sides{{factors[first]},
              {factors[second]},
              outputs_of(arena, factors[first], bound),
              outputs_of(arena, factors[second], bound)};
  for (size_t k = 0; k < factors.size(); ++k) {
    if (k == first || k == second) continue;
    const AxisSet axes = outputs_of(arena, factors[k], bound);
    const bool fits_a = is_subset(axes, sides.a_axes);
    const bool fits_b = is_subset(axes, sides.b_axes);
    if (!fits_a && !fits_b) return std::nullopt;
    const bool is_computed = arena[without_casts(arena, factors[k])].kind != BodyKind::kLoad;
    const bool has_fewer = sides.b_axes.size() < sides.a_axes.size();
    const bool is_row = is_subset(sides.b_axes, sides.a_axes);
    const bool joins_a = fits_a && !(fits_b && has_fewer && (is_computed || is_row));
    (joins_a ? sides.a : sides.b).push_back(factors[k]);
  }
  return sides;
}

bool covers(const Arena& arena, std::span<const BodyId> factors, const AxisSet& bound) {
  AxisSet used;
  for (BodyId factor : factors) used = union_of(used, arena[factor].free);
  return is_subset(bound, used);
}

/// The division with private axes on both sides if there is one, else on one side. The larger sum
/// of private axes decides among equals; then the order of the factors does.
std::optional<Sides> best_division(const Arena& arena, std::span<const BodyId> factors,
                                   const AxisSet& bound) {
  std::optional<Sides> best;
  size_t best_score = 0;
  for (size_t i = 0; i < factors.size(); ++i) {
    for (size_t j = i + 1; j < factors.size(); ++j) {
      std::optional<Sides> sides = divide(arena, factors, bound, i, j);
      // Every summed axis has to be on both sides, or there is nothing to contract.
      if (!sides || !covers(arena, sides->a, bound) || !covers(arena, sides->b, bound)) continue;
      const size_t m = difference(sides->a_axes, sides->b_axes).size();
      const size_t n = difference(sides->b_axes, sides->a_axes).size();
      if (m + n == 0) continue;
      const size_t score = 1 + m + n + (m > 0 && n > 0 ? 100 : 0);
      if (score > best_score) {
        best = std::move(sides);
        best_score = score;
      }
    }
  }
  return best;
}

ContractionOperand operand(Arena& arena, DType dtype, std::span<const BodyId> factors) {
  BodyId value = factors[0];
  for (BodyId factor : factors.subspan(1)) value = arena.op(Op::kMul, dtype, {value, factor});
  ContractionOperand result{value, std::nullopt};
  const BodyId inner = without_casts(arena, value);
  result.plain = strided_load(arena, inner);
  return result;
}

std::vector<Expr> in_order(const AxisSet& axes) { return {axes.begin(), axes.end()}; }

}  // namespace

Expr PlainOperand::stride(const Expr& axis) const {
  for (const AxisStride& entry : strides)
    if (entry.axis == axis) return entry.stride;
  return 0;
}

std::optional<PlainOperand> strided_load(const Arena& arena, BodyId load) {
  const BodyNode& node = arena[load];
  if (node.kind != BodyKind::kLoad || !node.index_values.empty()) return std::nullopt;
  const graph::Shape& shape = arena.tensor(node.tensor).shape;
  Expr linear = 0;
  for (size_t k = 0; k < shape.size(); ++k) linear = linear * shape[k] + node.exprs[k];
  const std::optional<symbolic::Affine> affine = as_affine(linear);
  if (!affine) return std::nullopt;
  PlainOperand result{node.tensor, load, node.dtype, affine->constant, {}};
  for (const symbolic::AffineTerm& term : affine->terms)
    result.strides.push_back({term.axis, term.coefficient});
  return result;
}

std::optional<Contraction> match_contraction(Arena& arena, BodyId reduction) {
  const BodyNode node = arena[reduction];
  if (node.kind != BodyKind::kReduce || node.op != Op::kSum) return std::nullopt;
  const AxisSet bound = make_axis_set(node.exprs);
  std::vector<BodyId> factors;
  factors_of(arena, node.children[0], bound, factors);
  std::optional<Sides> sides = best_division(arena, factors, bound);
  if (!sides) return std::nullopt;
  const AxisSet m = difference(sides->a_axes, sides->b_axes);
  const AxisSet n = difference(sides->b_axes, sides->a_axes);
  // N is the side of the last output axis that is private at all.
  const bool swap = n.empty() || (!m.empty() && m.back().axis_id() > n.back().axis_id());
  if (swap) std::swap(sides->a, sides->b);
  Contraction result;
  result.reduction = reduction;
  result.dtype = node.dtype;
  result.a = operand(arena, node.dtype, sides->a);
  result.b = operand(arena, node.dtype, sides->b);
  result.m = in_order(swap ? n : m);
  result.n = in_order(swap ? m : n);
  result.batch = in_order(difference(sides->a_axes, difference(sides->a_axes, sides->b_axes)));
  result.k = node.exprs;
  return result;
}

std::optional<ContractionKernel> match_contraction_kernel(Arena& arena, const Kernel& kernel) {
  if (kernel.roots.size() != 1) return std::nullopt;
  const BodyId root = kernel.roots[0].value;
  std::optional<BodyId> reduction;
  for (BodyId id : arena.reachable(std::span(&root, 1))) {
    if (arena[id].kind != BodyKind::kReduce) continue;
    if (reduction) return std::nullopt;
    reduction = id;
  }
  if (!reduction || arena[*reduction].free != make_axis_set(kernel.axes)) return std::nullopt;
  std::optional<Contraction> contraction = match_contraction(arena, *reduction);
  if (!contraction) return std::nullopt;
  return ContractionKernel{*contraction, root, root != *reduction};
}

}  // namespace luminal::kernel
