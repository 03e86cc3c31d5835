#include "luminal/tensor/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "luminal/support/error.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/creation.h"
#include "luminal/tensor/linalg.h"
#include "luminal/tensor/math.h"
#include "luminal/tensor/movement.h"
#include "luminal/tensor/normalization.h"

namespace luminal {
namespace {

/// base^(-2i/d) for each pair, computed in f64 and rounded once.
Tensor frequencies(const Graph& graph, int64_t d, double base, DType dtype) {
  std::vector<double> values;
  for (int64_t i = 0; i < d / 2; ++i)
    values.push_back(std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(d)));
  return graph.constant(Array::from<double>(dtype, {d / 2}, values));
}

/// The two halves of the last axis, or its even and odd elements.
std::pair<Tensor, Tensor> pairs(const Tensor& x, int64_t d, bool interleaved) {
  if (interleaved)
    return {slice(x, -1, {.begin = 0, .step = 2}), slice(x, -1, {.begin = 1, .step = 2})};
  return {slice(x, -1, {.end = d / 2}), slice(x, -1, {.begin = d / 2})};
}

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v) {
  auto fail = [&](const std::string& why) {
    throw UserError("attention", "{}: query {}, key {}, value {}", why, graph::to_string(q.shape()),
                    graph::to_string(k.shape()), graph::to_string(v.shape()));
  };
  if (q.rank() < 3 || k.rank() != q.rank() || v.rank() != q.rank())
    fail("operands must be [..., heads, positions, d] of one rank");
  if (q.dim(-1) != k.dim(-1)) fail("query and key differ in their last axis");
  if (k.dim(-2) != v.dim(-2) || k.dim(-3) != v.dim(-3))
    fail("key and value differ in heads or positions");
  if (!symbolic::divisible_by(q.dim(-3), k.dim(-3)))
    fail("query heads are no multiple of key heads");
}

double default_scale(const Tensor& query) {
  const std::optional<int64_t> d = query.dim(-1).constant_value();
  if (!d)
    throw UserError("attention", "the last axis {} is symbolic; give the scale", query.dim(-1));
  return 1.0 / std::sqrt(static_cast<double>(*d));
}

/// True where the query of a score [..., queries, keys] may see the key by position; empty if all
/// may.
Tensor position_mask(const Tensor& scores, const AttentionOptions& options) {
  if (!options.causal && !options.window) return {};
  if (options.window && *options.window < 1)
    throw UserError("attention", "the window must be at least 1, got {}", *options.window);
  const Dim first = options.first_query.value_or(scores.dim(-1) - scores.dim(-2));
  return iota(
      scores.graph(), {scores.dim(-2), scores.dim(-1)},
      [&](std::span<const Dim> i) {
        const Dim distance = i[0] + first - i[1];
        Dim seen = 1;
        if (options.causal) seen = seen * symbolic::greater_equal(distance, 0);
        if (options.window) seen = seen * symbolic::less(distance, *options.window);
        return seen;
      },
      boolean);
}

/// A mask [..., heads, queries, keys] as it meets scores [..., kv_heads, group, queries, keys].
Tensor grouped_mask(const Tensor& mask, const Dim& kv_heads) {
  if (mask.rank() < 3) return mask;
  return mask.dim(-3) == Dim(1) ? unsqueeze(mask, -3) : split_dims(mask, -3, {kv_heads, -1});
}

/// The error of a mask names its own shape, not that of the scores in groups of heads.
void check_mask(const Tensor& mask, const Tensor& scores) {
  for (int axis = -1; axis >= -std::min(mask.rank(), 2); --axis)
    if (mask.dim(axis) != Dim(1) && mask.dim(axis) != scores.dim(axis))
      throw UserError(
          "attention",
          "the mask {} does not broadcast to [..., heads, queries, keys], which ends in "
          "{} and {}",
          graph::to_string(mask.shape()), scores.dim(-2), scores.dim(-1));
}

Tensor apply_masks(const Tensor& scores, const Dim& kv_heads, const AttentionOptions& options) {
  Tensor result = scores;
  const double hidden = -std::numeric_limits<double>::infinity();
  if (options.mask) {
    if (!graph::is_bool(options.mask.dtype()) && !graph::is_float(options.mask.dtype()))
      throw UserError("attention", "the mask must be bool or a float, got {}; compare it with 0",
                      options.mask.dtype());
    check_mask(options.mask, scores);
    Tensor mask = grouped_mask(options.mask, kv_heads);
    result = graph::is_bool(mask.dtype()) ? where(mask, result, hidden)
                                          : result + cast(mask, result.dtype());
  }
  if (Tensor seen = position_mask(scores, options)) result = where(seen, result, hidden);
  return result;
}

build::Parameters parameters(const AttentionOptions& options, double scale) {
  build::Parameters result{
      {"causal", options.causal}, {"mask", static_cast<bool>(options.mask)}, {"scale", scale}};
  if (options.first_query) result["first_query"] = *options.first_query;
  if (options.window) result["window"] = *options.window;
  if (options.soft_cap) result["soft_cap"] = *options.soft_cap;
  return result;
}

}  // namespace

Tensor rope(const Tensor& x, const Tensor& positions, const RopeOptions& options) {
  build::check_same_graph("rope", std::vector{x, positions});
  const std::optional<int64_t> d = x.rank() < 2 ? std::nullopt : x.dim(-1).constant_value();
  if (!d || *d % 2 != 0)
    throw UserError("rope", "needs x [..., seq, d] with an even, known d, got {}",
                    graph::to_string(x.shape()));
  if (positions.rank() < 1 || positions.dim(-1) != x.dim(-2))
    throw UserError("rope", "positions {} do not match axis {} of {}",
                    graph::to_string(positions.shape()), x.rank() - 2, graph::to_string(x.shape()));
  Tensor input = build::to_float(x);
  Tensor wide = build::widen(input);
  Tensor angle = unsqueeze(cast(positions, wide.dtype()) * options.scale, -1) *
                 frequencies(x.graph(), *d, options.base, wide.dtype());
  Tensor c = cos(angle), s = sin(angle);
  auto [a, b] = pairs(wide, *d, options.interleaved);
  Tensor first = a * c - b * s, second = b * c + a * s;
  Tensor result = options.interleaved ? merge_dims(stack({first, second}, -1), -2, 2)
                                      : concat({first, second}, -1);
  return build::named(
      "rope", {input, positions},
      {{"base", options.base}, {"interleaved", options.interleaved}, {"scale", options.scale}},
      cast(result, input.dtype()));
}

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const AttentionOptions& options) {
  check_attention(query, key, value);
  if (options.soft_cap && !(*options.soft_cap > 0))
    throw UserError("attention", "the soft cap must be positive, got {}", *options.soft_cap);
  const double scale = options.scale ? *options.scale : default_scale(query);
  Tensor q = build::widen(build::to_float(query));
  Tensor k = build::widen(build::to_float(key));
  Tensor v = build::widen(build::to_float(value));
  // Query heads that share a key head become an axis of their own.
  Tensor grouped = split_dims(q, -3, {key.dim(-3), -1});
  Tensor scores = matmul(grouped, unsqueeze(transpose(k), -3)) * scale;
  if (options.soft_cap) scores = tanh(scores / *options.soft_cap) * *options.soft_cap;
  Tensor weights = softmax(apply_masks(scores, key.dim(-3), options), -1);
  Tensor mixed = matmul(weights, unsqueeze(v, -3));
  Tensor result = cast(merge_dims(mixed, mixed.rank() - 4, 2), build::to_float(query).dtype());
  std::vector<Tensor> operands{query, key, value};
  if (options.mask) operands.push_back(options.mask);
  return build::named("attention", operands, parameters(options, scale), result);
}

}  // namespace luminal
