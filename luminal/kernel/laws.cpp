#include "luminal/kernel/laws.h"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>

#include "luminal/support/check.h"

namespace luminal::kernel {
namespace {

/// Rewrites bodies bottom-up: `change` sees a node whose operands were rewritten before.
class Rewriter {
 public:
  Rewriter(Arena& arena, std::function<BodyId(BodyId)> change)
      : arena_(arena), change_(std::move(change)) {}

  BodyId rewrite(BodyId id) {
    if (const auto found = memo_.find(id.value); found != memo_.end()) return found->second;
    std::vector<BodyId> children;
    for (BodyId child : std::vector<BodyId>(arena_[id].children))
      children.push_back(rewrite(child));
    // Index values stay as they are: they are integers, which no law here improves.
    const BodyId result = change_(arena_.with_children(id, std::move(children)));
    memo_.emplace(id.value, result);
    return result;
  }

 private:
  Arena& arena_;
  std::function<BodyId(BodyId)> change_;
  std::unordered_map<uint32_t, BodyId> memo_;
};

/// The kernel with every root rewritten, if that changes any.
std::optional<Kernel> rewrite_roots(Arena& arena, const Kernel& kernel,
                                    std::function<BodyId(BodyId)> change) {
  Rewriter rewriter(arena, std::move(change));
  Kernel result = kernel;
  for (Root& root : result.roots) root.value = rewriter.rewrite(root.value);
  if (result.roots == kernel.roots) return std::nullopt;
  return result;
}

bool uses(const Arena& arena, BodyId id, const AxisSet& axes) {
  return intersects(arena[id].free, axes);
}

/// A product of factors over a product of divisors.
struct Fraction {
  std::vector<BodyId> factors;
  std::vector<BodyId> divisors;
};

/// Takes products and (of floats) quotients apart, where they use the axes.
void take_apart(const Arena& arena, BodyId id, const AxisSet& axes, Fraction& fraction) {
  const BodyNode& node = arena[id];
  const bool varies = uses(arena, id, axes);
  if (varies && node.kind == BodyKind::kOp && node.op == Op::kMul) {
    take_apart(arena, node.children[0], axes, fraction);
    take_apart(arena, node.children[1], axes, fraction);
  } else if (varies && node.kind == BodyKind::kOp && node.op == Op::kDiv && is_float(node.dtype)) {
    take_apart(arena, node.children[0], axes, fraction);
    fraction.divisors.push_back(node.children[1]);
  } else {
    fraction.factors.push_back(id);
  }
}

BodyId product(Arena& arena, DType dtype, std::optional<BodyId> start, const Fraction& fraction) {
  for (BodyId factor : fraction.factors)
    start = start ? arena.op(Op::kMul, dtype, {*start, factor}) : factor;
  if (!start) start = arena.constant(Scalar::of(dtype, 1));
  for (BodyId divisor : fraction.divisors) start = arena.op(Op::kDiv, dtype, {*start, divisor});
  return *start;
}

bool runs_at_least_once(std::span<const Expr> axes) {
  return std::all_of(axes.begin(), axes.end(),
                     [](const Expr& axis) { return provably_ge(axis.axis_extent(), 1); });
}

/// Divides the factors of a sum by whether they use these axes.
void divide(const Arena& arena, BodyId product, const AxisSet& axes, Fraction& inside,
            Fraction& outside) {
  Fraction whole;
  take_apart(arena, product, axes, whole);
  for (BodyId factor : whole.factors)
    (uses(arena, factor, axes) ? inside : outside).factors.push_back(factor);
  for (BodyId divisor : whole.divisors)
    (uses(arena, divisor, axes) ? inside : outside).divisors.push_back(divisor);
}

BodyId factor_out(Arena& arena, BodyId id) {
  const BodyNode node = arena[id];
  const bool summed = node.kind == BodyKind::kReduce && node.op == Op::kSum;
  const bool wide = !is_float(node.dtype) || graph::bits(node.dtype) >= 32;
  if (!summed || !wide || !runs_at_least_once(node.exprs)) return id;
  const AxisSet axes = make_axis_set(node.exprs);
  if (!uses(arena, node.children[0], axes)) return id;
  Fraction inside, outside;
  divide(arena, node.children[0], axes, inside, outside);
  if (outside.factors.empty() && outside.divisors.empty()) return id;
  const BodyId child = product(arena, node.dtype, std::nullopt, inside);
  return product(arena, node.dtype, arena.reduce(Op::kSum, node.exprs, child), outside);
}

BodyId factor_block(Arena& arena, BodyId id) {
  const BodyNode node = arena[id];
  const bool summed = node.kind == BodyKind::kReduce && node.op == Op::kSum;
  const bool wide = !is_float(node.dtype) || graph::bits(node.dtype) >= 32;
  // One more level is added: axes of reductions around would be in its way.
  const bool outermost = std::all_of(node.free.begin(), node.free.end(), is_output_axis);
  if (!summed || !wide || !outermost) return id;
  for (size_t split = 1; split < node.exprs.size(); ++split) {
    const std::vector<Expr> first(node.exprs.begin(),
                                  node.exprs.begin() + static_cast<std::ptrdiff_t>(split));
    const std::vector<Expr> last(node.exprs.begin() + static_cast<std::ptrdiff_t>(split),
                                 node.exprs.end());
    const AxisSet block = make_axis_set(last);
    if (!runs_at_least_once(last) || !uses(arena, node.children[0], block)) continue;
    Fraction inside, outside;
    divide(arena, node.children[0], block, inside, outside);
    if (outside.factors.empty() && outside.divisors.empty()) continue;
    // The inner sum takes the height of this one, the outer sum one more: it needs other names.
    std::vector<symbolic::Binding> lifted;
    std::vector<Expr> outer;
    for (const Expr& axis : first) {
      outer.push_back(
          bound_axis(node.height + 1, static_cast<int64_t>(outer.size()), axis.axis_extent()));
      lifted.push_back({axis, outer.back()});
    }
    const auto lift = [&](std::vector<BodyId>& values) {
      for (BodyId& value : values) value = arena.substitute(value, lifted);
    };
    for (Fraction* fraction : {&inside, &outside}) {
      lift(fraction->factors);
      lift(fraction->divisors);
    }
    const BodyId child = product(arena, node.dtype, std::nullopt, inside);
    const BodyId inner = arena.reduce(Op::kSum, last, child);
    return arena.reduce(Op::kSum, outer, product(arena, node.dtype, inner, outside));
  }
  return id;
}

BodyId reduce_broadcast(Arena& arena, BodyId id) {
  const BodyNode node = arena[id];
  if (node.kind != BodyKind::kReduce || node.op == Op::kProd) return id;
  std::vector<Expr> kept;
  Expr times = 1;
  for (const Expr& axis : node.exprs) {
    const bool dropped =
        !contains(arena[node.children[0]].free, axis) && provably_ge(axis.axis_extent(), 1);
    if (dropped)
      times = times * axis.axis_extent();
    else
      kept.push_back(axis);
  }
  if (kept.size() == node.exprs.size()) return id;
  const BodyId rest = arena.reduce(node.op, kept, node.children[0]);
  if (node.op == Op::kReduceMax) return rest;
  return arena.op(Op::kMul, node.dtype, {rest, arena.iota(times, node.dtype)});
}

BodyId merge_reduction(Arena& arena, BodyId id) {
  const BodyNode node = arena[id];
  if (node.kind != BodyKind::kReduce) return id;
  const BodyNode& inner = arena[node.children[0]];
  if (inner.kind != BodyKind::kReduce || inner.op != node.op ||
      !is_subset(make_axis_set(node.exprs), inner.free))
    return id;
  std::vector<Expr> axes = node.exprs;
  axes.insert(axes.end(), inner.exprs.begin(), inner.exprs.end());
  return arena.reduce(node.op, std::move(axes), inner.children[0]);
}

size_t count_reductions(const Arena& arena, const Kernel& kernel) {
  std::vector<BodyId> values;
  for (const Root& root : kernel.roots) values.push_back(root.value);
  size_t count = 0;
  for (BodyId id : arena.reachable(values)) count += arena[id].kind == BodyKind::kReduce ? 1 : 0;
  return count;
}

/// The kernel with axis `unrolled` (a position) written out.
Kernel unrolled_at(Arena& arena, const Kernel& kernel, size_t unrolled) {
  Kernel result;
  const int64_t extent = *kernel.axes[unrolled].axis_extent().constant_value();
  std::vector<symbolic::Binding> bindings;
  for (size_t k = 0; k < kernel.axes.size(); ++k) {
    if (k == unrolled) continue;
    const auto next = static_cast<int64_t>(result.axes.size());
    result.axes.push_back(Expr::axis(next, kernel.axes[k].axis_extent()));
    if (result.axes.back() != kernel.axes[k])
      bindings.push_back({kernel.axes[k], result.axes.back()});
  }
  bindings.push_back({kernel.axes[unrolled], 0});
  for (int64_t point = 0; point < extent; ++point) {
    bindings.back().value = point;
    for (const Root& root : kernel.roots) {
      Root copy{root.tensor, arena.substitute(root.value, bindings), root.store};
      for (Expr& position : copy.store) position = symbolic::substitute(position, bindings);
      result.roots.push_back(std::move(copy));
    }
  }
  return result;
}

constexpr std::array kLaws{
    Law{"factor-invariants", NumericClass::kReassociation, factor_invariants},
    Law{"reduce-broadcasts", NumericClass::kReassociation, reduce_broadcasts},
    Law{"factor-blocks", NumericClass::kReassociation, factor_blocks},
    Law{"merge-reductions", NumericClass::kReassociation, merge_reductions},
    Law{"unroll-output", NumericClass::kExact, unroll_output},
};

}  // namespace

std::span<const Law> all_laws() { return kLaws; }

std::optional<Kernel> factor_invariants(Arena& arena, const Kernel& kernel) {
  return rewrite_roots(arena, kernel, [&](BodyId id) { return factor_out(arena, id); });
}

std::optional<Kernel> factor_blocks(Arena& arena, const Kernel& kernel) {
  return rewrite_roots(arena, kernel, [&](BodyId id) { return factor_block(arena, id); });
}

std::optional<Kernel> reduce_broadcasts(Arena& arena, const Kernel& kernel) {
  return rewrite_roots(arena, kernel, [&](BodyId id) { return reduce_broadcast(arena, id); });
}

std::optional<Kernel> merge_reductions(Arena& arena, const Kernel& kernel) {
  return rewrite_roots(arena, kernel, [&](BodyId id) { return merge_reduction(arena, id); });
}

std::optional<Kernel> unroll_output(Arena& arena, const Kernel& kernel) {
  const size_t before = count_reductions(arena, kernel);
  std::optional<Kernel> best;
  double least = 1.0;  // the share of the sums that is left
  for (size_t k = 0; k < kernel.axes.size() && before > 0; ++k) {
    const std::optional<int64_t> extent = kernel.axes[k].axis_extent().constant_value();
    if (!extent || *extent < 2 || *extent > 4) continue;
    // Only where reductions tell points apart: a plain batch axis is no reason to unroll.
    bool varies = false;
    for (const Root& root : kernel.roots)
      for (BodyId id : arena.reachable(std::span(&root.value, 1)))
        varies = varies ||
                 (arena[id].kind == BodyKind::kReduce && contains(arena[id].free, kernel.axes[k]));
    if (!varies) continue;
    Kernel candidate = unrolled_at(arena, kernel, k);
    const double left = static_cast<double>(count_reductions(arena, candidate)) /
                        (static_cast<double>(before) * static_cast<double>(*extent));
    if (left >= least) continue;
    least = left;
    best = std::move(candidate);
  }
  return best;
}

}  // namespace luminal::kernel
