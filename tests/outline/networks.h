// Networks of many layers, written with tensors and brought through the default passes: what
// outlining is tried on. Sizes are small enough to run; the number of layers is a parameter.
#pragma once

#include <fmt/core.h>

#include "luminal/graph/pass.h"
#include "luminal/luminal.h"

namespace luminal::networks {

using IR = graph::Graph;
using Outputs = std::vector<std::pair<std::string, Tensor>>;

inline IR written(const Graph& graph, const Outputs& outputs) {
  IR ir = graph.ir();
  for (const auto& [name, tensor] : outputs) ir.add_output(name, tensor.edge());
  return ir;
}
inline IR finished(const Graph& graph, const Outputs& outputs) {
  return graph::default_passes().run(written(graph, outputs)).graph;
}

struct Sizes {
  Dim tokens = 3;
  int64_t heads = 2, kv_heads = 1, d = 4, hidden = 12, vocabulary = 11;
  Dim cache = 8;
  int64_t width() const { return heads * d; }
};

/// Sizes at which fusion is worth something.
inline Sizes large() {
  return {.tokens = 128,
          .heads = 4,
          .kv_heads = 2,
          .d = 32,
          .hidden = 512,
          .vocabulary = 1000,
          .cache = 512};
}

/// The same, one token at a time.
inline Sizes decoding() {
  Sizes sizes = large();
  sizes.tokens = 1;
  return sizes;
}

/// Inputs of one layer, named after it.
struct Layer {
  const Graph& g;
  std::string prefix;

  Tensor weight(const std::string& name, const Shape& shape) const {
    return g.input(prefix + name, shape);
  }
  Tensor linear(const Tensor& x, const std::string& name, const Dim& out) const {
    return matmul(x, transpose(weight(name, {out, x.dim(-1)})));
  }
  Tensor biased(const Tensor& x, const std::string& name, const Dim& out) const {
    return linear(x, name, out) + weight(name + "_b", {out});
  }
};

inline Layer layer_of(const Graph& g, const std::string& kind, int k) {
  return {g, fmt::format("{}{}_", kind, k)};
}

/// [tokens, heads * d] as [heads, tokens, d].
inline Tensor split_heads(const Tensor& x, int64_t heads) {
  return transpose(split_dims(x, -1, {heads, -1}), 0, 1);
}
inline Tensor merge_heads(const Tensor& x) { return merge_dims(transpose(x, 0, 1), 1, 2); }

inline Tensor norm(const Layer& l, const Tensor& x, const std::string& name) {
  return layer_norm(x, l.weight(name + "_w", {x.dim(-1)}), l.weight(name + "_b", {x.dim(-1)}));
}

/// Attention of `x` to `memory` (to itself unless given).
inline Tensor attend(const Layer& l, const Tensor& x, const Tensor& memory, const Sizes& s,
                     const AttentionOptions& options, const std::string& name) {
  const Tensor q = split_heads(l.biased(x, name + "q", s.width()), s.heads);
  const Tensor k = split_heads(l.biased(memory, name + "k", s.width()), s.heads);
  const Tensor v = split_heads(l.biased(memory, name + "v", s.width()), s.heads);
  return l.biased(merge_heads(attention(q, k, v, options)), name + "o", s.width());
}

inline Tensor feed_forward(const Layer& l, const Tensor& x, const Sizes& s) {
  return l.biased(gelu(l.biased(x, "up", s.hidden)), "down", x.dim(-1));
}

inline Tensor gpt_layer(const Layer& l, const Tensor& x, const Sizes& s,
                        const AttentionOptions& options = {.causal = true}) {
  const Tensor h = norm(l, x, "norm1");
  const Tensor y = x + attend(l, h, h, s, options, "self_");
  return y + feed_forward(l, norm(l, y, "norm2"), s);
}

inline Tensor embedded(const Graph& g, const std::string& name, const Sizes& s) {
  return embedding(g.input(name + "_table", {s.vocabulary, s.width()}),
                   g.input(name, {s.tokens}, i64));
}

inline Tensor logits(const Graph& g, const Tensor& x, const Sizes& s) {
  const Layer l{g, "head_"};
  return l.linear(norm(l, x, "norm"), "out", s.vocabulary);
}

/// Before passes.
inline IR written_gpt(int layers, const Sizes& s = {}) {
  Graph g;
  Tensor x = embedded(g, "ids", s) + g.input("positions", {s.tokens, s.width()});
  for (int k = 0; k < layers; ++k) x = gpt_layer(layer_of(g, "l", k), x, s);
  return written(g, {{"logits", logits(g, x, s)}});
}
inline IR gpt(int layers, const Sizes& s = {}) {
  return graph::default_passes().run(written_gpt(layers, s)).graph;
}

/// Every other layer sees a window only.
inline IR alternating(int layers, const Sizes& s = {}) {
  Graph g;
  Tensor x = embedded(g, "ids", s);
  for (int k = 0; k < layers; ++k) {
    AttentionOptions options{.causal = true};
    if (k % 2 == 0) options.window = 2;
    x = gpt_layer(layer_of(g, "l", k), x, s, options);
  }
  return finished(g, {{"logits", logits(g, x, s)}});
}

/// The cache with `fresh` written at positions past, past + 1, ...
inline Tensor updated(const Tensor& cache, const Tensor& fresh, const Dim& past) {
  const Dim tokens = fresh.dim(1), length = cache.dim(1);
  const Tensor region = iota(
      cache.graph(), cache.shape(),
      [&](std::span<const Dim> i) {
        return symbolic::logical_and(symbolic::greater_equal(i[1], past),
                                     symbolic::less(i[1], past + tokens));
      },
      boolean);
  return where(region, pad(fresh, 1, {past, length - past - tokens}), cache);
}

struct LlamaState {
  Tensor x, keys, values;
};

inline LlamaState llama_layer(const Layer& l, const Tensor& x, const Sizes& s, const Dim& past) {
  const Dim kv = s.kv_heads * s.d;
  const Tensor h = rms_norm(x, l.weight("norm1", {s.width()}));
  const Tensor positions = arange(l.g, past, past + s.tokens);
  const Tensor q = rope(split_heads(l.linear(h, "q", s.width()), s.heads), positions);
  const Tensor k = rope(split_heads(l.linear(h, "k", kv), s.kv_heads), positions);
  const Tensor v = split_heads(l.linear(h, "v", kv), s.kv_heads);
  const Shape cache{s.kv_heads, s.cache, s.d};
  const Tensor keys = updated(l.weight("keys", cache), k, past);
  const Tensor values = updated(l.weight("values", cache), v, past);
  const Dim seen = past + s.tokens;
  const Tensor mixed = attention(q, slice(keys, 1, {.end = seen}), slice(values, 1, {.end = seen}),
                                 {.causal = true});
  const Tensor y = x + l.linear(merge_heads(mixed), "o", s.width());
  const Tensor n = rms_norm(y, l.weight("norm2", {s.width()}));
  const Tensor gated = silu(l.linear(n, "gate", s.hidden)) * l.linear(n, "up", s.hidden);
  return {y + l.linear(gated, "down", s.width()), keys, values};
}

/// With caches that are results too; one token is decoding. Before passes.
inline IR written_llama(int layers, const Sizes& s = {}) {
  Graph g;
  const int64_t room = s.cache.bounds().lo - s.tokens.bounds().hi;
  const Dim past = g.dim("past", 0, std::max<int64_t>(room, 1));
  LlamaState state{embedded(g, "ids", s), {}, {}};
  Outputs outputs;
  for (int k = 0; k < layers; ++k) {
    state = llama_layer(layer_of(g, "l", k), state.x, s, past);
    outputs.push_back({fmt::format("keys{}", k), state.keys});
    outputs.push_back({fmt::format("values{}", k), state.values});
  }
  const Layer head{g, "head_"};
  const Tensor n = rms_norm(state.x, head.weight("norm", {s.width()}));
  outputs.push_back({"logits", head.linear(n, "out", s.vocabulary)});
  return written(g, outputs);
}
inline IR llama(int layers, const Sizes& s = {}) {
  return graph::default_passes().run(written_llama(layers, s)).graph;
}

/// Decoder layers see what the encoder gives.
inline IR encoder_decoder(int encoder_layers, int decoder_layers, const Sizes& s = {}) {
  Graph g;
  Tensor memory = embedded(g, "source", s);
  for (int k = 0; k < encoder_layers; ++k)
    memory = gpt_layer(layer_of(g, "enc", k), memory, s, {.causal = false});
  memory = norm({g, "enc_"}, memory, "norm");
  Tensor x = embedded(g, "target", s);
  for (int k = 0; k < decoder_layers; ++k) {
    const Layer l = layer_of(g, "dec", k);
    const Tensor h = norm(l, x, "norm1");
    x = x + attend(l, h, h, s, {.causal = true}, "self_");
    x = x + attend(l, norm(l, x, "norm2"), memory, s, {}, "cross_");
    x = x + feed_forward(l, norm(l, x, "norm3"), s);
  }
  return finished(g, {{"logits", logits(g, x, s)}});
}

/// Every layer mixes experts by their scores, and gives its scores as a result on the side.
inline IR mixture(int layers, int experts, const Sizes& s = {}) {
  Graph g;
  Tensor x = embedded(g, "ids", s);
  Outputs outputs;
  for (int k = 0; k < layers; ++k) {
    const Layer l = layer_of(g, "l", k);
    const Tensor h = norm(l, x, "norm");
    const Tensor scores = softmax(l.linear(h, "router", experts), -1);
    Tensor mixed;
    for (int e = 0; e < experts; ++e) {
      const Layer expert{g, fmt::format("l{}_expert{}_", k, e)};
      const Tensor part = feed_forward(expert, h, s) * slice(scores, 1, {.begin = e, .end = e + 1});
      mixed = mixed ? mixed + part : part;
    }
    x = x + mixed;
    outputs.push_back({fmt::format("load{}", k), mean(scores, 0)});
  }
  outputs.push_back({"logits", logits(g, x, s)});
  return finished(g, outputs);
}

/// Stages of residual blocks; the first block of a stage halves the picture.
inline IR resnet(const std::vector<int>& stages, int64_t channels = 2, int64_t size = 8) {
  Graph g;
  const auto conv_norm = [&](const Layer& l, const Tensor& x, const std::string& name, int64_t out,
                             int64_t kernel, int64_t stride) {
    const int64_t border = kernel / 2;
    const Tensor y = conv2d(x, l.weight(name, {out, x.dim(1), kernel, kernel}), {},
                            {.stride = {stride}, .padding = {{border, border}}});
    return batch_norm(y, l.weight(name + "_mean", {out}), abs(l.weight(name + "_var", {out})),
                      l.weight(name + "_w", {out}), l.weight(name + "_b", {out}));
  };
  Tensor x =
      relu(conv_norm({g, "stem_"}, g.input("image", {1, 3, size, size}), "c", channels, 3, 1));
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    const int64_t out = channels << stage;
    for (int block = 0; block < stages[stage]; ++block) {
      const Layer l{g, fmt::format("s{}b{}_", stage, block)};
      const bool first = block == 0 && stage > 0;
      const Tensor shortcut = first ? conv_norm(l, x, "short", out, 1, 2) : x;
      const Tensor y = relu(conv_norm(l, x, "c1", out, 3, first ? 2 : 1));
      x = relu(conv_norm(l, y, "c2", out, 3, 1) + shortcut);
    }
  }
  const Layer head{g, "head_"};
  return finished(g, {{"logits", head.biased(mean(x, {2, 3}), "out", 5)}});
}

/// A recurrent cell, step by step: two values go from step to step, weights are shared.
inline IR lstm(int steps, int64_t width = 4) {
  Graph g;
  Tensor h = g.input("h", {1, width}), c = g.input("c", {1, width});
  const Tensor w = g.input("w", {4 * width, 2 * width}), b = g.input("b", {4 * width});
  for (int k = 0; k < steps; ++k) {
    const Tensor x = g.input(fmt::format("x{}", k), {1, width});
    const Tensor gates = matmul(concat({x, h}, 1), transpose(w)) + b;
    const auto gate = [&](int64_t n) {
      return slice(gates, 1, {.begin = n * width, .end = (n + 1) * width});
    };
    c = sigmoid(gate(0)) * c + sigmoid(gate(1)) * tanh(gate(2));
    h = sigmoid(gate(3)) * tanh(c);
  }
  return finished(g, {{"h", h}, {"c", c}});
}

/// Linear layers with relu.
inline IR mlp(int layers, int64_t width = 6) {
  Graph g;
  Tensor x = g.input("x", {3, width});
  for (int k = 0; k < layers; ++k) x = relu(layer_of(g, "l", k).biased(x, "w", width));
  return finished(g, {{"y", x}});
}

/// x * a + b again and again: everything may be one kernel, so nothing should be cut.
inline IR elementwise_chain(int steps) {
  Graph g;
  Tensor x = g.input("x", {64});
  for (int k = 0; k < steps; ++k) {
    const Layer l = layer_of(g, "s", k);
    x = tanh(x * l.weight("a", {64}) + l.weight("b", {64}));
  }
  return finished(g, {{"y", x}});
}

}  // namespace luminal::networks
