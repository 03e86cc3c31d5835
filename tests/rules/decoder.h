// Layers of a decoder as large models have them, for what rules take and give: rotary positions,
// gated units, a named number of tokens.
#pragma once

#include <fmt/core.h>

#include "luminal/graph/pass.h"
#include "luminal/luminal.h"

namespace luminal::rules::test {

inline constexpr int64_t kWidth = 512, kHeads = 8, kHidden = 2048;

inline Tensor linear(const luminal::Graph& g, const Tensor& x, const std::string& name,
                     int64_t out) {
  return matmul(x, transpose(g.weight(name, {out, x.dim(-1)})));
}

inline Tensor heads(const Tensor& x) { return transpose(split_dims(x, -1, {kHeads, -1}), 0, 1); }

inline Tensor layer(const luminal::Graph& g, const Tensor& x, const Tensor& positions,
                    const std::string& p) {
  Tensor h = rms_norm(x, g.weight(p + "norm1", {kWidth}));
  Tensor q = rope(heads(linear(g, h, p + "wq", kWidth)), positions);
  Tensor k = rope(heads(linear(g, h, p + "wk", kWidth)), positions);
  Tensor v = heads(linear(g, h, p + "wv", kWidth));
  Tensor mixed = merge_dims(transpose(attention(q, k, v, {.causal = true}), 0, 1), 1, 2);
  Tensor y = x + linear(g, mixed, p + "wo", kWidth);
  Tensor n = rms_norm(y, g.weight(p + "norm2", {kWidth}));
  Tensor gated = silu(linear(g, n, p + "gate", kHidden)) * linear(g, n, p + "up", kHidden);
  return y + linear(g, gated, p + "down", kWidth);
}

inline graph::Graph decoder(int64_t layers) {
  luminal::Graph g;
  const Dim tokens = g.dim("tokens", 1, 2048);
  Tensor x = g.input("x", {tokens, kWidth}), positions = arange(g, tokens);
  for (int64_t k = 0; k < layers; ++k) x = layer(g, x, positions, fmt::format("l{}_", k));
  graph::Graph ir = g.ir();
  ir.add_output("y", x.edge());
  return graph::default_passes().run(ir).graph;
}

}  // namespace luminal::rules::test
