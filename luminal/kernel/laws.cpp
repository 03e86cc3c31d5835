#include "luminal/kernel/laws.h"

#include <algorithm>
#include <array>
#include <cmath>
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
  std::vector<BodyId> factors = {};
  std::vector<BodyId> divisors = {};

  bool empty() const { return factors.empty() && divisors.empty(); }
};

BodyId times(Arena& arena, DType dtype, BodyId start, const Fraction& fraction) {
  for (BodyId factor : fraction.factors) start = arena.op(Op::kMul, dtype, {start, factor});
  for (BodyId divisor : fraction.divisors) start = arena.op(Op::kDiv, dtype, {start, divisor});
  return start;
}

bool runs_at_least_once(std::span<const Expr> axes) {
  return std::all_of(axes.begin(), axes.end(),
                     [](const Expr& axis) { return provably_ge(axis.axis_extent(), 1); });
}

/// The largest magnitude of the sum of the codes of two tensors of 8 bits, with room to spare.
constexpr double kLargestCode = 1024;

/// The number that a value is masked with, unless it is negative: the result is at most as large.
std::optional<double> mask_of(const Arena& arena, const BodyNode& masked) {
  for (BodyId child : masked.children)
    if (arena[child].kind == BodyKind::kConstant && arena[child].constant.as_double() >= 0)
      return arena[child].constant.as_double();
  return std::nullopt;
}

/// Bounds the magnitude of a value that is an integer, whatever dtype it has: the codes of
/// quantised numbers, with or without their zero.
std::optional<double> integer_bound(const Arena& arena, BodyId id) {
  const BodyNode& node = arena[id];
  if (!is_float(node.dtype) && graph::bits(node.dtype) <= 8)
    return std::exp2(graph::bits(node.dtype));
  if (node.kind == BodyKind::kConstant) {
    const double value = node.constant.as_double();
    return std::trunc(value) == value ? std::optional(std::abs(value)) : std::nullopt;
  }
  if (node.kind != BodyKind::kOp) return std::nullopt;
  if (node.op == Op::kCast) return integer_bound(arena, node.children[0]);
  if (node.op == Op::kBitAnd) return mask_of(arena, node);
  if (node.op != Op::kAdd && node.op != Op::kMul) return std::nullopt;
  const std::optional<double> first = integer_bound(arena, node.children[0]);
  const std::optional<double> second = integer_bound(arena, node.children[1]);
  if (!first || !second) return std::nullopt;
  return node.op == Op::kAdd ? *first + *second : *first * *second;
}

/// l = sum exp(a - max a), the total of a softmax: from 1 to the number of its terms.
bool is_softmax_total(Arena& arena, BodyId id) {
  const BodyNode node = arena[id];
  if (node.kind != BodyKind::kReduce || node.op != Op::kSum) return false;
  const BodyNode& term = arena[node.children[0]];
  if (term.kind != BodyKind::kOp || (term.op != Op::kExp && term.op != Op::kExp2)) return false;
  const std::vector<BodyId> below = arena.reachable(std::span(&id, 1));
  return std::any_of(below.begin(), below.end(),
                     [&](BodyId max) { return is_online_pair(arena, max, id); });
}

/// The operand of an op, if the value is one.
std::optional<BodyId> operand_of(const Arena& arena, BodyId id, Op op) {
  const BodyNode& node = arena[id];
  return node.kind == BodyKind::kOp && node.op == op ? std::optional(node.children[0])
                                                     : std::nullopt;
}

std::optional<double> number_in(const Arena& arena, BodyId id) {
  const BodyNode& node = arena[id];
  if (node.kind != BodyKind::kConstant) return std::nullopt;
  return node.constant.as_double();
}

/// Splits a commutative op into a number from `lo` to `hi` and the rest.
std::optional<BodyId> beside_number(const Arena& arena, BodyId id, Op op, double lo, double hi) {
  const BodyNode& node = arena[id];
  if (node.kind != BodyKind::kOp || node.op != op) return std::nullopt;
  for (size_t k = 0; k < 2; ++k) {
    const std::optional<double> number = number_in(arena, node.children[k]);
    if (number && *number >= lo && *number <= hi) return node.children[1 - k];
  }
  return std::nullopt;
}

/// Whether `root` is sqrt(mean(x * x) + e), e from 2^-46 to 1, of the x that runs along the axes of
/// a sum: the divisor of rms_norm.
bool is_norm_of(Arena& arena, BodyId x, BodyId root, std::span<const Expr> axes) {
  const std::optional<BodyId> under = operand_of(arena, root, Op::kSqrt);
  if (!under) return false;
  const std::optional<BodyId> mean = beside_number(arena, *under, Op::kAdd, 0x1p-46, 1);
  if (!mean) return false;
  std::optional<BodyId> total = beside_number(arena, *mean, Op::kMul, 0x1p-46, 1);
  if (const BodyNode& node = arena[*mean]; node.kind == BodyKind::kOp && node.op == Op::kDiv)
    if (number_in(arena, node.children[1]).value_or(0) >= 1) total = node.children[0];
  const BodyNode squares = arena[total.value_or(*mean)];
  if (squares.kind != BodyKind::kReduce || squares.op != Op::kSum) return false;
  if (squares.exprs.size() != axes.size()) return false;
  const BodyNode square = arena[squares.children[0]];
  if (square.kind != BodyKind::kOp || square.op != Op::kMul) return false;
  if (square.children[0] != square.children[1]) return false;
  std::vector<symbolic::Binding> bindings;
  for (size_t k = 0; k < axes.size(); ++k) {
    if (squares.exprs[k].axis_extent() != axes[k].axis_extent()) return false;
    if (squares.exprs[k] != axes[k]) bindings.push_back({squares.exprs[k], axes[k]});
  }
  return arena.substitute(square.children[0], bindings) == x;
}

/// Takes factors out of products and (of floats) quotients that use the axes, and leaves the order
/// of what remains alone. What may leave is said at factor_invariants.
class Factoring {
 public:
  /// `norms`: factors of norms may leave.
  Factoring(Arena& arena, std::span<const Expr> axes, bool norms)
      : arena_(arena), summed_(axes), axes_(make_axis_set(axes)), norms_(norms) {}

  BodyId without_factors(BodyId id) {
    const BodyNode node = arena_[id];
    const bool quotient = node.op == Op::kDiv && is_float(node.dtype);
    if (!varies(id) || node.kind != BodyKind::kOp || (node.op != Op::kMul && !quotient)) return id;
    BodyId first = node.children[0], second = node.children[1];
    if (quotient) {
      const BodyId rest = without_factors(first);
      if (varies(second) || !may_divide(rest, second))
        return arena_.op(Op::kDiv, node.dtype, {rest, second});
      outside.divisors.push_back(second);
      return rest;
    }
    if (!varies(first)) std::swap(first, second);
    const BodyId rest = without_factors(first);
    if (varies(second)) return arena_.op(Op::kMul, node.dtype, {rest, without_factors(second)});
    if (!may_multiply(rest, second)) return arena_.op(Op::kMul, node.dtype, {rest, second});
    outside.factors.push_back(second);
    return rest;
  }

  Fraction outside;
  int norms_outside = 0;

 private:
  bool varies(BodyId id) const { return uses(arena_, id, axes_); }

  bool is_code(BodyId id) const {
    const std::optional<double> bound = integer_bound(arena_, id);
    return bound && *bound <= kLargestCode;
  }

  bool may_multiply(BodyId rest, BodyId factor) {
    if (!is_float(arena_[factor].dtype) || is_code(rest)) return true;
    const std::optional<BodyId> divisor = operand_of(arena_, factor, Op::kRecip);
    return divisor && may_divide(rest, *divisor);
  }

  bool may_divide(BodyId rest, BodyId divisor) {
    if (is_code(rest) || is_softmax_total(arena_, divisor)) return true;
    if (!norms_ || !is_norm_of(arena_, rest, divisor, summed_)) return false;
    ++norms_outside;
    return true;
  }

  Arena& arena_;
  std::span<const Expr> summed_;
  AxisSet axes_;
  bool norms_;
};

/// What leaves the product, and the rest. One norm at most: each of two can make up for what the
/// other one does to the terms.
std::pair<Fraction, BodyId> factored(Arena& arena, BodyId product, std::span<const Expr> axes) {
  Factoring factoring(arena, axes, true);
  const BodyId rest = factoring.without_factors(product);
  if (factoring.norms_outside <= 1) return {std::move(factoring.outside), rest};
  Factoring without_norms(arena, axes, false);
  const BodyId all_norms_inside = without_norms.without_factors(product);
  return {std::move(without_norms.outside), all_norms_inside};
}

BodyId factor_out(Arena& arena, BodyId id) {
  const BodyNode node = arena[id];
  const bool summed = node.kind == BodyKind::kReduce && node.op == Op::kSum;
  const bool wide = !is_float(node.dtype) || graph::bits(node.dtype) >= 32;
  if (!summed || !wide || !runs_at_least_once(node.exprs)) return id;
  const AxisSet axes = make_axis_set(node.exprs);
  if (!uses(arena, node.children[0], axes)) return id;
  const auto [outside, rest] = factored(arena, node.children[0], node.exprs);
  if (outside.empty()) return id;
  return times(arena, node.dtype, arena.reduce(Op::kSum, node.exprs, rest), outside);
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
    auto [outside, rest] = factored(arena, node.children[0], last);
    if (outside.empty()) continue;
    // The inner sum takes the height of this one, the outer sum one more: it needs other names.
    std::vector<symbolic::Binding> lifted;
    std::vector<Expr> outer;
    for (const Expr& axis : first) {
      outer.push_back(
          bound_axis(node.height + 1, static_cast<int64_t>(outer.size()), axis.axis_extent()));
      lifted.push_back({axis, outer.back()});
    }
    for (std::vector<BodyId>* values : {&outside.factors, &outside.divisors})
      for (BodyId& value : *values) value = arena.substitute(value, lifted);
    const BodyId inner = arena.reduce(Op::kSum, last, arena.substitute(rest, lifted));
    return arena.reduce(Op::kSum, outer, times(arena, node.dtype, inner, outside));
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
  // Narrow floats do not hold every count: f16 ends before 65536.
  if (!graph::is_float(node.dtype) || graph::bits(node.dtype) >= 32)
    return arena.op(Op::kMul, node.dtype, {rest, arena.iota(times, node.dtype)});
  const BodyId wide = arena.op(Op::kCast, DType::kF32, {rest});
  const BodyId all = arena.op(Op::kMul, DType::kF32, {wide, arena.iota(times, DType::kF32)});
  return arena.op(Op::kCast, node.dtype, {all});
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
