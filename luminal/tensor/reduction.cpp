#include "luminal/tensor/reduction.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "luminal/support/error.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/math.h"
#include "luminal/tensor/movement.h"

namespace luminal {
namespace {

using graph::Op;

/// Moves the axes to the end, reduces them, and puts back axes of extent 1 if they are to be kept.
Tensor reduce(Op op, const Tensor& x, const std::vector<int>& axes, bool keepdims) {
  std::vector<int> order;
  for (int k = 0; k < x.rank(); ++k)
    if (!std::binary_search(axes.begin(), axes.end(), k)) order.push_back(k);
  order.insert(order.end(), axes.begin(), axes.end());
  Tensor result =
      build::apply(op, {permute(x, order)}, graph::ReduceAttribute{static_cast<int>(axes.size())});
  if (keepdims)
    for (int axis : axes) result = unsqueeze(result, axis);
  return result;
}

/// Number of elements that each result of a reduction is made of.
Dim count(const Tensor& x, const std::vector<int>& axes) {
  Dim product = 1;
  for (int axis : axes) product = product * x.dim(axis);
  return product;
}

/// Integers and bool add up in i64.
Tensor widen_integers(const Tensor& x) { return graph::is_float(x.dtype()) ? x : cast(x, i64); }

std::vector<int64_t> as_parameter(const std::vector<int>& axes) {
  return {axes.begin(), axes.end()};
}

Tensor arg_extreme(const char* name, const Tensor& x, std::optional<int> axis, bool keepdims,
                   Tensor (*extreme)(const Tensor&, const Axes&, bool)) {
  const Tensor flat = axis ? x : flatten(x);
  const int k = graph::normalize_axis(name, axis.value_or(0), flat.rank());
  const Dim extent = flat.dim(k);
  if (extent == Dim(0))
    throw UserError(name, "axis {} of {} is empty", k, graph::to_string(flat.shape()));
  Tensor hit = equal(flat, extreme(flat, k, true));
  if (graph::is_float(x.dtype())) hit = logical_or(hit, isnan(flat));
  const std::shared_ptr<GraphState>& state = x.state();
  graph::NodeId positions = state->graph.add_iota(i64, flat.shape(), Dim::axis(k, extent));
  Tensor position(state, state->graph.whole(positions));
  Tensor first = min(where(hit, position, extent), k, axis && keepdims);
  if (!axis && keepdims)
    for (int i = 0; i < x.rank(); ++i) first = unsqueeze(first, 0);
  return build::named(name, {flat}, {{"axis", static_cast<int64_t>(k)}, {"keepdims", keepdims}},
                      first);
}

}  // namespace

std::vector<int> Axes::resolve(std::string_view operation, int rank) const {
  std::vector<int> resolved;
  if (!axes_) {
    resolved.resize(static_cast<size_t>(rank));
    std::iota(resolved.begin(), resolved.end(), 0);
    return resolved;
  }
  for (int axis : *axes_) resolved.push_back(graph::normalize_axis(operation, axis, rank));
  std::sort(resolved.begin(), resolved.end());
  auto repeated = std::adjacent_find(resolved.begin(), resolved.end());
  if (repeated != resolved.end()) throw UserError(operation, "axis {} is named twice", *repeated);
  return resolved;
}

Tensor sum(const Tensor& x, const Axes& axes, bool keepdims) {
  return reduce(Op::kSum, widen_integers(x), axes.resolve("sum", x.rank()), keepdims);
}

Tensor prod(const Tensor& x, const Axes& axes, bool keepdims) {
  return reduce(Op::kProd, widen_integers(x), axes.resolve("prod", x.rank()), keepdims);
}

Tensor max(const Tensor& x, const Axes& axes, bool keepdims) {
  return reduce(Op::kReduceMax, x, axes.resolve("max", x.rank()), keepdims);
}

Tensor min(const Tensor& x, const Axes& axes, bool keepdims) {
  const std::vector<int> resolved = axes.resolve("min", x.rank());
  // ~ reverses the order of integers without overflow, - that of floats.
  if (graph::is_float(x.dtype())) return -reduce(Op::kReduceMax, -x, resolved, keepdims);
  return bit_not(reduce(Op::kReduceMax, bit_not(x), resolved, keepdims));
}

Tensor mean(const Tensor& x, const Axes& axes, bool keepdims) {
  const std::vector<int> resolved = axes.resolve("mean", x.rank());
  Tensor input = build::to_float(x);
  Tensor total = sum(build::widen(input), resolved, keepdims);
  return build::named("mean", {input}, {{"axes", as_parameter(resolved)}, {"keepdims", keepdims}},
                      cast(total / count(x, resolved), input.dtype()));
}

Tensor any(const Tensor& x, const Axes& axes, bool keepdims) {
  return max(to_bool(x), axes, keepdims);
}

Tensor all(const Tensor& x, const Axes& axes, bool keepdims) {
  return min(to_bool(x), axes, keepdims);
}

Tensor var(const Tensor& x, const Axes& axes, int64_t correction, bool keepdims) {
  const std::vector<int> resolved = axes.resolve("var", x.rank());
  Tensor input = build::to_float(x);
  Tensor wide = build::widen(input);
  Tensor squares = sum(square(wide - mean(wide, resolved, true)), resolved, keepdims);
  Tensor result = squares / symbolic::max(count(x, resolved) - correction, 0);
  return build::named(
      "var", {input},
      {{"axes", as_parameter(resolved)}, {"correction", correction}, {"keepdims", keepdims}},
      cast(result, input.dtype()));
}

Tensor std(const Tensor& x, const Axes& axes, int64_t correction, bool keepdims) {
  Tensor input = build::to_float(x);
  return cast(sqrt(var(build::widen(input), axes, correction, keepdims)), input.dtype());
}

Tensor norm(const Tensor& x, double p, const Axes& axes, bool keepdims) {
  const std::vector<int> resolved = axes.resolve("norm", x.rank());
  if (std::isnan(p)) throw UserError("norm", "p must not be NaN");
  Tensor input = build::to_float(x);
  Tensor wide = build::widen(input);
  Tensor result;
  if (p == 2.0) {
    result = sqrt(sum(square(wide), resolved, keepdims));
  } else if (p == 1.0) {
    result = sum(abs(wide), resolved, keepdims);
  } else if (p == 0.0) {
    result = sum(cast(not_equal(wide, 0), wide.dtype()), resolved, keepdims);
  } else if (std::isinf(p)) {
    // Magnitudes are at least 0, which so is the largest of none.
    result =
        p > 0 ? maximum(max(abs(wide), resolved, keepdims), 0) : min(abs(wide), resolved, keepdims);
  } else {
    result = pow(sum(pow(abs(wide), p), resolved, keepdims), 1.0 / p);
  }
  return build::named("norm", {input},
                      {{"axes", as_parameter(resolved)}, {"keepdims", keepdims}, {"p", p}},
                      cast(result, input.dtype()));
}

Tensor logsumexp(const Tensor& x, const Axes& axes, bool keepdims) {
  const std::vector<int> resolved = axes.resolve("logsumexp", x.rank());
  Tensor input = build::to_float(x);
  Tensor wide = build::widen(input);
  Tensor largest = max(wide, resolved, true);
  // Infinite maxima are not subtracted: inf - inf would make NaN of what is an infinity.
  Tensor shift = where(isfinite(largest), largest, build::full_like(largest, 0));
  Tensor result = log(sum(exp(wide - shift), resolved, true)) + shift;
  if (!keepdims) result = squeeze(result, resolved);
  return build::named("logsumexp", {input},
                      {{"axes", as_parameter(resolved)}, {"keepdims", keepdims}},
                      cast(result, input.dtype()));
}

Tensor argmax(const Tensor& x, std::optional<int> axis, bool keepdims) {
  return arg_extreme("argmax", x, axis, keepdims, &max);
}

Tensor argmin(const Tensor& x, std::optional<int> axis, bool keepdims) {
  return arg_extreme("argmin", x, axis, keepdims, &min);
}

}  // namespace luminal
