#include "models.h"

#include "luminal/graph/dim_binding.h"
#include "luminal/graph/pass.h"

namespace luminal::kernel::models {
namespace {

using luminal::Graph;

IR finished(const Graph& graph, const std::vector<std::pair<std::string, Tensor>>& outputs) {
  IR ir = graph.ir();
  for (const auto& [name, tensor] : outputs) ir.add_output(name, tensor.edge());
  return graph::default_passes().run(ir).graph;
}

Tensor linear(const Graph& g, const Tensor& x, const std::string& name, const Dim& out) {
  return matmul(x, transpose(g.input(name, {out, x.dim(-1)})));
}

Tensor with_bias(const Graph& g, const Tensor& x, const std::string& name) {
  return x + g.input(name, {x.dim(-1)});
}

/// [tokens, heads * d] as [heads, tokens, d].
Tensor split_heads(const Tensor& x, int64_t heads) {
  return transpose(split_dims(x, -1, {heads, -1}), 0, 1);
}
Tensor merge_heads(const Tensor& x) { return merge_dims(transpose(x, 0, 1), 1, 2); }

Tensor gpt_layer(const Graph& g, const Tensor& x, const BlockSizes& sizes, const std::string& p) {
  const Dim width = sizes.width();
  const auto norm = [&](const Tensor& y, const std::string& name) {
    return luminal::layer_norm(y, g.input(p + name + "_w", {width}),
                               g.input(p + name + "_b", {width}));
  };
  Tensor h = norm(x, "norm1");
  Tensor qkv = with_bias(g, linear(g, h, p + "qkv", width * 3), p + "qkv_b");
  const auto part = [&](int64_t k) {
    const Dim w = width;
    return split_heads(slice(qkv, 1, {.begin = w * k, .end = w * (k + 1)}), sizes.heads);
  };
  Tensor mixed = luminal::attention(part(0), part(1), part(2), {.causal = true});
  Tensor y = x + with_bias(g, linear(g, merge_heads(mixed), p + "out", width), p + "out_b");
  Tensor up = gelu(with_bias(g, linear(g, norm(y, "norm2"), p + "up", sizes.hidden), p + "up_b"));
  return y + with_bias(g, linear(g, up, p + "down", width), p + "down_b");
}

struct LlamaLayer {
  Tensor x, keys, values;
};

LlamaLayer llama_layer(const Graph& g, const Tensor& x, const BlockSizes& sizes, const Dim& past,
                       const std::string& p) {
  const Dim width = sizes.width();
  const Dim kv = sizes.kv_heads * sizes.d;
  Tensor h = luminal::rms_norm(x, g.input(p + "norm1", {width}));
  Tensor positions = arange(g, past, past + sizes.tokens);
  Tensor q = rope(split_heads(linear(g, h, p + "wq", width), sizes.heads), positions);
  Tensor k = rope(split_heads(linear(g, h, p + "wk", kv), sizes.kv_heads), positions);
  Tensor v = split_heads(linear(g, h, p + "wv", kv), sizes.kv_heads);
  const Shape cache{sizes.kv_heads, sizes.cache, sizes.d};
  Tensor keys = update_slice(g.input(p + "keys", cache), 1, past, k);
  Tensor values = update_slice(g.input(p + "values", cache), 1, past, v);
  const Dim seen = past + sizes.tokens;
  Tensor mixed = luminal::attention(q, slice(keys, 1, {.end = seen}),
                                    slice(values, 1, {.end = seen}), {.causal = true});
  Tensor y = x + linear(g, merge_heads(mixed), p + "wo", width);
  Tensor n = luminal::rms_norm(y, g.input(p + "norm2", {width}));
  Tensor gate = silu(linear(g, n, p + "gate", sizes.hidden));
  Tensor out = y + linear(g, gate * linear(g, n, p + "up", sizes.hidden), p + "down", width);
  return {out, keys, values};
}

}  // namespace

IR softmax(const Dim& rows, const Dim& columns) {
  Graph g;
  return finished(g, {{"y", luminal::softmax(g.input("x", {rows, columns}), -1)}});
}

IR log_softmax(const Dim& rows, const Dim& columns) {
  Graph g;
  return finished(g, {{"y", luminal::log_softmax(g.input("x", {rows, columns}), -1)}});
}

IR layer_norm(const Dim& rows, const Dim& columns) {
  Graph g;
  return finished(g,
                  {{"y", luminal::layer_norm(g.input("x", {rows, columns}), g.input("w", {columns}),
                                             g.input("b", {columns}))}});
}

IR rms_norm(const Dim& rows, const Dim& columns) {
  Graph g;
  return finished(
      g, {{"y", luminal::rms_norm(g.input("x", {rows, columns}), g.input("w", {columns}))}});
}

IR mlp(const Dim& rows, const Dim& in, const Dim& hidden, const Dim& out) {
  Graph g;
  Tensor x = g.input("x", {rows, in});
  Tensor a = gelu(with_bias(g, linear(g, x, "w1", hidden), "b1"));
  Tensor b = gelu(with_bias(g, linear(g, a, "w2", hidden), "b2"));
  return finished(g, {{"y", with_bias(g, linear(g, b, "w3", out), "b3")}});
}

IR mlp_layer(const Dim& rows, const Dim& in, const Dim& out) {
  Graph g;
  Tensor x = g.input("x", {rows, in});
  return finished(g, {{"y", gelu(with_bias(g, linear(g, x, "w", out), "b"))}});
}

IR conv_block(const Dim& images, const Dim& size, const Dim& in, const Dim& out) {
  Graph g;
  Tensor x = g.input("x", {images, in, size, size});
  Tensor y = conv2d(x, g.input("w", {out, in, 3, 3}), g.input("bias", {out}),
                    {.padding = {{1, 1}, {1, 1}}});
  return finished(g, {{"y", max_pool(relu(y), {2, 2})}});
}

IR cnn(const Dim& images, const Dim& size, const Dim& channels) {
  Graph g;
  Tensor x = g.input("x", {images, 1, size, size});
  const auto layer = [&](const Tensor& t, const std::string& name) {
    Tensor y = conv2d(t, g.input(name, {channels, t.dim(1), 3, 3}),
                      g.input(name + "_b", {channels}), {.padding = {{1, 1}, {1, 1}}});
    return max_pool(relu(y), {2, 2});
  };
  Tensor y = flatten(layer(layer(x, "c1"), "c2"), 1, -1);
  return finished(g, {{"y", with_bias(g, linear(g, y, "w", 10), "b")}});
}

IR attention(const Dim& kv_heads, const Dim& group, const Dim& queries, const Dim& keys,
             const Dim& d) {
  Graph g;
  Tensor q = g.input("q", {kv_heads * group, queries, d});
  Tensor k = g.input("k", {kv_heads, keys, d});
  Tensor v = g.input("v", {kv_heads, keys, d});
  return finished(g, {{"y", luminal::attention(q, k, v, {.causal = true, .scale = 0.5})}});
}

IR gated(const Dim& width, const Dim& hidden) {
  Graph g;
  Tensor n = luminal::rms_norm(g.input("x", {1, width}), g.input("n", {width}));
  Tensor gate = silu(linear(g, n, "wg", hidden));
  return finished(g, {{"y", gate * linear(g, n, "wu", hidden)}});
}

IR gpt_block(const BlockSizes& sizes, int layers) {
  Graph g;
  Tensor x = g.input("x", {sizes.tokens, sizes.width()});
  for (int k = 0; k < layers; ++k) x = gpt_layer(g, x, sizes, "l" + std::to_string(k) + "_");
  return finished(g, {{"y", x}});
}

IR llama_block(const BlockSizes& sizes, int layers) {
  Graph g;
  // past + tokens <= cache
  const int64_t room = sizes.cache.bounds().lo - sizes.tokens.bounds().hi;
  const Dim past = g.dim("past", 0, std::max<int64_t>(room, 1));
  LlamaLayer layer{g.input("x", {sizes.tokens, sizes.width()}), {}, {}};
  std::vector<std::pair<std::string, Tensor>> outputs;
  for (int k = 0; k < layers; ++k) {
    const std::string p = "l" + std::to_string(k) + "_";
    layer = llama_layer(g, layer.x, sizes, past, p);
    outputs.push_back({p + "keys_out", layer.keys});
    outputs.push_back({p + "values_out", layer.values});
  }
  outputs.push_back({"y", layer.x});
  return finished(g, outputs);
}

std::map<NodeId, std::string> input_names(const IR& graph) {
  std::map<NodeId, std::string> names;
  for (NodeId id : graph.ids()) {
    const graph::Node& node = graph.node(id);
    if (node.op == graph::Op::kInput) names[id] = node.attribute<graph::InputAttribute>().name;
  }
  for (const graph::Output& output : graph.outputs()) names[output.edge.node] = output.name;
  return names;
}

test::Sample sample_of(const IR& graph, uint64_t seed, graph::DimValues dims) {
  std::mt19937_64 random(seed);
  for (const auto& [dim, interval] : graph.dims())
    if (!dims.contains(dim)) dims[dim] = std::min<int64_t>(interval.lo + 2, interval.hi);
  test::Sample sample{graph, dims, {}};
  std::normal_distribution<> normal(0.0, 1.0);
  for (NodeId id : graph.ids()) {
    const graph::Node& node = graph.node(id);
    if (node.op != graph::Op::kInput) continue;
    graph::Array array(node.dtype(), graph::extents_of(node.shape(), dims));
    for (int64_t k = 0; k < array.size(); ++k)
      array.set(k, graph::Scalar::of(node.dtype(), normal(random)));
    sample.inputs.emplace(node.attribute<graph::InputAttribute>().name, std::move(array));
  }
  return sample;
}

}  // namespace luminal::kernel::models
