#include "luminal/rules/reduction_views.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "luminal/graph/identities.h"
#include "luminal/graph/uniform.h"

namespace luminal::rules {
namespace {

/// The operand without some of its last axes, which it does not use.
std::optional<Plan> dropped_axes(int64_t count, const Access& operand,
                                 const std::vector<bool>& drop) {
  const size_t rank = operand.domain().size(), kept = rank - static_cast<size_t>(count);
  std::vector<int> to(rank, -1);
  Shape domain;
  int64_t left = 0;
  for (size_t k = 0; k < rank; ++k) {
    if (k >= kept && drop[k]) continue;
    to[k] = static_cast<int>(domain.size());
    domain.push_back(operand.domain()[k]);
    left += k >= kept ? 1 : 0;
  }
  if (left == count) return std::nullopt;
  const std::optional<Access> view = with_axes(operand, domain, to);
  if (!view) return std::nullopt;
  return Plan{{*view}, {}, {left}};
}

std::vector<bool> broadcast_axes(const Access& operand) {
  std::vector<bool> result = used_axes(operand.view);
  for (size_t k = 0; k < result.size(); ++k) {
    const Expr& extent = operand.domain()[k];
    result[k] = !result[k] && !extent.is_constant(1) && symbolic::provably_ge(extent, 1);
  }
  return result;
}

bool reduces_nothing(int64_t count, const Access& operand) {
  const Shape& domain = operand.domain();
  return std::all_of(domain.end() - count, domain.end(),
                     [](const Expr& extent) { return extent.is_constant(1); });
}

/// Whether the value is the same along an axis that is reduced.
bool repeats(int64_t count, const Access& operand) {
  const std::vector<bool> axes = broadcast_axes(operand);
  return std::any_of(axes.end() - count, axes.end(), [](bool repeated) { return repeated; });
}

bool is_narrow_float(DType dtype) { return graph::is_float(dtype) && graph::bits(dtype) < 32; }

constexpr int64_t kLongReduction = 1 << 16, kFewResults = 64, kLargestStep = 1024;

}  // namespace

std::optional<Plan> merged_reductions(int64_t count, const Access& outer, int64_t inner_count,
                                      const Access& inner) {
  // Reductions of one element are copies, and a value may be a copy of itself without end.
  if (reduces_nothing(count, outer) || reduces_nothing(inner_count, inner)) return std::nullopt;
  // So is the maximum of a value that is repeated.
  if (repeats(count, outer) || repeats(inner_count, inner)) return std::nullopt;
  const std::optional<Access> view = composed_before(inner, outer);
  if (!view) return std::nullopt;
  return Plan{{*view}, {}, {count + inner_count}};
}

std::optional<Plan> split_reduction(const TensorType& type, int64_t count, const Access& operand) {
  // Parts that are rounded to a narrow float might leave its range where the sum does not.
  if (count != 1 || is_narrow_float(type.dtype)) return std::nullopt;
  const int axis = operand.view.rank() - 1;
  const std::optional<int64_t> extent =
      operand.domain()[static_cast<size_t>(axis)].constant_value();
  if (!extent || *extent < kLongReduction || !provably_le(volume(type.shape), kFewResults))
    return std::nullopt;
  int64_t step = 1;
  while (step < kLargestStep && *extent % (2 * step) == 0) step *= 2;
  if (step < 16) return std::nullopt;
  const std::array<Expr, 2> extents{Expr(step), Expr(*extent / step)};
  const Access parts{operand.view.split(axis, extents), operand.dtype};
  TensorType partial = type;
  partial.shape.push_back(step);
  return Plan{{parts, {View::identity(partial.shape), type.dtype}}, {partial}, {}};
}

std::optional<Plan> split_narrow_reduction(const TensorType& type, int64_t count,
                                           const Access& operand) {
  if (!is_narrow_float(type.dtype)) return std::nullopt;
  const TensorType wide{DType::kF32, type.shape};
  std::optional<Plan> plan = split_reduction(wide, count, {operand.view, DType::kF32});
  if (plan) {
    plan->types.push_back(wide);
    plan->types.push_back({DType::kF32, operand.view.source()});
  }
  return plan;
}

std::optional<Plan> without_unit_axes(int64_t count, const Access& operand) {
  std::vector<bool> drop;
  for (const Expr& extent : operand.domain()) drop.push_back(extent.is_constant(1));
  std::optional<Plan> plan = dropped_axes(count, operand, drop);
  return plan && plan->counts[0] >= 1 ? plan : std::nullopt;
}

std::optional<Access> reduced_nothing(int64_t count, const Access& operand) {
  std::vector<bool> drop;
  for (const Expr& extent : operand.domain()) drop.push_back(extent.is_constant(1));
  const std::optional<Plan> plan = dropped_axes(count, operand, drop);
  if (!plan || plan->counts[0] != 0) return std::nullopt;
  return plan->views[0];
}

std::optional<Plan> without_broadcast_axes(int64_t count, const Access& operand) {
  std::optional<Plan> plan = dropped_axes(count, operand, broadcast_axes(operand));
  return plan && plan->counts[0] >= 1 ? plan : std::nullopt;
}

std::optional<Head> broadcast_count(int64_t count, const Access& operand) {
  const std::vector<bool> drop = broadcast_axes(operand);
  Expr times = 1;
  for (size_t k = drop.size() - static_cast<size_t>(count); k < drop.size(); ++k)
    if (drop[k]) times *= operand.domain()[k];
  if (times.is_constant(1)) return std::nullopt;
  return Head{graph::Op::kIota, graph::IotaAttribute{times}};
}

std::optional<Scalar> uniform(const Head& head, const Access& seen) {
  const auto* constant = std::get_if<graph::ConstantAttribute>(&head.attributes);
  if (constant == nullptr || !seen.view.conditions().empty()) return std::nullopt;
  if (constant->value.size() != 1) return std::nullopt;
  return constant->value.at(0);
}

std::optional<Scalar> exact_reciprocal(const Scalar& number) {
  if (!graph::is_float(number.dtype())) return std::nullopt;
  const double value = number.as_double();
  int exponent = 0;
  if (!std::isfinite(value) || std::abs(std::frexp(value, &exponent)) != 0.5) return std::nullopt;
  const Scalar result = Scalar::of(number.dtype(), 1.0 / value);
  // A reciprocal that is denormal or infinite in this dtype would round where the quotient does
  // not.
  if (result.as_double() * value != 1.0) return std::nullopt;
  const Scalar smallest = Scalar::of(number.dtype(), std::abs(result.as_double()) / 1024);
  return smallest.as_double() * 1024 == std::abs(result.as_double()) ? std::optional(result)
                                                                     : std::nullopt;
}

std::optional<Scalar> times(const Scalar& a, const Scalar& b) {
  if (a.dtype() != b.dtype() || !graph::is_float(a.dtype())) return std::nullopt;
  // Here every number is near an end, and f8e4m3 stays there.
  if (graph::bits(a.dtype()) == 8) return std::nullopt;
  const Scalar result = Scalar::of(a.dtype(), a.as_double() * b.as_double());
  for (const Scalar& number : {a, b, result}) {
    const double size = std::abs(number.as_double());
    if (!(size >= 1e-4 && size <= 1e4)) return std::nullopt;  // far from every format's ends
  }
  return result;
}

std::optional<Scalar> log2_of(const Scalar& number) {
  if (!graph::is_integer(number.dtype())) return std::nullopt;
  const int64_t value = number.as_int64();
  if (value < 2 || !std::has_single_bit(static_cast<uint64_t>(value))) return std::nullopt;
  return Scalar::of(number.dtype(), int64_t{std::countr_zero(static_cast<uint64_t>(value))});
}

std::optional<Scalar> low_mask_of(const Scalar& number) {
  if (!graph::is_unsigned(number.dtype()) || !log2_of(number)) return std::nullopt;
  return Scalar::of(number.dtype(), number.as_int64() - 1);
}

bool is_lossless(const TensorType& from, const TensorType& to) {
  return graph::holds_every_value(to.dtype, from.dtype);
}

bool casts_end_alike(const TensorType& from, const TensorType& between, const TensorType& to) {
  return !graph::is_integer(from.dtype) || !graph::is_float(between.dtype) ||
         !graph::is_integer(to.dtype) || is_lossless(from, to);
}

bool is_maximum_of_casts(int64_t count, const Access& operand, const TensorType& from) {
  if (Scalar::lowest(operand.dtype).as_double() == Scalar::lowest(from.dtype).as_double())
    return true;
  const graph::Shape& domain = operand.domain();
  return std::all_of(domain.end() - count, domain.end(),
                     [](const Expr& extent) { return provably_ge(extent, 1); });
}

bool is_permutation(const Access& access) {
  const View& view = access.view;
  return view.conditions().empty() && !view.is_identity() &&
         symbolic::provably_equal(volume(view.domain()), volume(view.source())) &&
         view.reads_each_element_at_most_once();
}

}  // namespace luminal::rules
