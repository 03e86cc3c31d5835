// What transformers are made of: rotary positions and scaled dot-product attention.
#pragma once

#include <optional>

#include "luminal/tensor/tensor.h"

namespace luminal {
/// How positions turn pairs.
struct RopeOptions {
  /// Frequency of pair i of d/2 is base^(-2i/d).
  double base = 10000.0;
  /// Positions are multiplied by this first.
  double scale = 1.0;
  /// Pairs are neighbours (x0, x1), (x2, x3), ... instead of one element from each half.
  bool interleaved = false;
};
/// Rotates pairs of x [..., seq, d] by angles that grow with `positions` [seq] (or [..., seq],
/// broadcast). d is even and known.
Tensor rope(const Tensor& x, const Tensor& positions, const RopeOptions& options = {});
/// What attention() sees, and how scores are scaled.
struct AttentionOptions {
  /// bool: true where a key may be seen. Float: added to the scores. Broadcasts to [..., heads,
  /// queries, keys].
  Tensor mask = {};
  /// Queries see only keys at or before their own position.
  bool causal = false;
  /// Position of the first query among the keys; unless said, queries are the last keys (keys -
  /// queries).
  std::optional<Dim> first_query = std::nullopt;
  /// What scores are multiplied by; 1 / sqrt(d) unless said.
  std::optional<double> scale = std::nullopt;
  /// Keys more than window - 1 positions before the query are not seen.
  std::optional<int64_t> window = std::nullopt;
  /// Scores become cap * tanh(score / cap).
  std::optional<double> soft_cap = std::nullopt;
};
/// softmax(q k^T * scale) v for q [..., heads, queries, d], k [..., kv_heads, keys, d], v [...,
/// kv_heads, keys, dv]. heads is a multiple of kv_heads: consecutive query heads share one
/// (grouped-query attention). Narrow floats compute in f32. A query that sees none of the keys
/// gives NaN; without any keys the result is 0. Values of keys that a query does not see need not
/// be read: whether those that are infinite or NaN show in its result is not said.
Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                 const AttentionOptions& options = {});

}  // namespace luminal
