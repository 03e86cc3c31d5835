#include "luminal/cli/cases.h"

#include <algorithm>
#include <array>

#include "luminal/cli/arguments.h"
#include "luminal/graph/text.h"
#include "luminal/plan/plan_file.h"
#include "luminal/support/error.h"
#include "luminal/support/file.h"
#include "luminal/tensor/activation.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/attention.h"
#include "luminal/tensor/convolution.h"
#include "luminal/tensor/graph.h"
#include "luminal/tensor/indexing.h"
#include "luminal/tensor/linalg.h"
#include "luminal/tensor/movement.h"
#include "luminal/tensor/normalization.h"
#include "luminal/tensor/sorting.h"

namespace luminal::cli {
namespace {

graph::Graph finished(const Tensor& y) {
  graph::Graph ir = y.graph().ir();
  ir.add_output("y", y.edge());
  return ir;
}

/// x times a weight of its own, plus a bias.
Tensor linear(const Graph& g, const std::string& name, const Tensor& x, int64_t outputs,
              bool bias = true) {
  const Tensor weight = g.weight(name + ".weight", {outputs, x.dim(-1)}, x.dtype());
  const Tensor product = matmul(x, transpose(weight));
  return bias ? product + g.weight(name + ".bias", {outputs}, x.dtype()) : product;
}

Tensor normalized(const Graph& g, const std::string& name, const Tensor& x) {
  const Tensor weight = g.weight(name + ".weight", {x.dim(-1)}, x.dtype());
  return layer_norm(x, weight, g.weight(name + ".bias", {x.dim(-1)}, x.dtype()));
}

/// [tokens, heads * d] -> [heads, tokens, d], and back.
Tensor split_heads(const Tensor& x, int64_t heads) {
  return transpose(split_dims(x, -1, {heads, -1}), 0, 1);
}
Tensor merge_heads(const Tensor& x) { return merge_dims(transpose(x, 0, 1), 1, 2); }

graph::Graph softmax_rows() {
  const Graph g;
  return finished(softmax(g.input("x", {1024, 1024})));
}

graph::Graph gelu_of_linear() {
  const Graph g;
  return finished(gelu_tanh(linear(g, "up", g.input("x", {32, 256}), 1024)));
}

graph::Graph mlp() {
  const Graph g;
  Tensor x = g.input("x", {32, 784});
  x = relu(linear(g, "first", x, 512));
  x = relu(linear(g, "second", x, 512));
  return finished(linear(g, "last", x, 10));
}

Tensor conv3x3(const Graph& g, const std::string& name, const Tensor& x, int64_t outputs) {
  const Tensor weight = g.weight(name + ".weight", {outputs, x.dim(1), 3, 3});
  return conv2d(x, weight, g.weight(name + ".bias", {outputs}), {.padding = {{1, 1}}});
}

graph::Graph cnn() {
  const Graph g;
  Tensor x = g.input("image", {1, 1, 28, 28});
  x = max_pool(relu(conv3x3(g, "first", x, 32)), {2, 2});
  x = max_pool(relu(conv3x3(g, "second", x, 64)), {2, 2});
  x = relu(linear(g, "hidden", merge_dims(x, 1, 3), 128));
  return finished(linear(g, "last", x, 10));
}

graph::Graph attention_heads() {
  const Graph g;
  const Dim tokens = g.dim("tokens", 1, 4096);
  const Shape shape{8, tokens, 64};
  return finished(
      attention(g.input("q", shape), g.input("k", shape), g.input("v", shape), {.causal = true}));
}

graph::Graph gpt_block() {
  constexpr int64_t kWidth = 768, kHeads = 12;
  const Graph g;
  const Tensor x = g.input("x", {16, kWidth});
  const Tensor h = normalized(g, "norm1", x);
  const Tensor q = split_heads(linear(g, "query", h, kWidth), kHeads);
  const Tensor k = split_heads(linear(g, "key", h, kWidth), kHeads);
  const Tensor v = split_heads(linear(g, "value", h, kWidth), kHeads);
  const Tensor mixed = merge_heads(attention(q, k, v, {.causal = true}));
  const Tensor after = x + linear(g, "mix", mixed, kWidth);
  const Tensor up = gelu_tanh(linear(g, "up", normalized(g, "norm2", after), 4 * kWidth));
  return finished(after + linear(g, "down", up, kWidth));
}

/// Sizes of a decoder of Llama's kind.
struct DecoderSizes {
  int64_t width, heads, kv_heads, hidden;
};

/// One token after `past` cached ones.
Tensor decoder_layer(const Graph& g, const std::string& name, const Tensor& x, const Dim& past,
                     const DecoderSizes& sizes) {
  const int64_t d = sizes.width / sizes.heads;
  const auto project = [&](const char* what, const Tensor& of, int64_t outputs) {
    return linear(g, name + what, of, outputs, false);
  };
  const auto norm = [&](const char* what, const Tensor& of) {
    return rms_norm(of, g.weight(name + what, {sizes.width}, of.dtype()));
  };
  const auto cached = [&](const char* what, const Tensor& fresh) {
    const Tensor cache = g.input(name + what, {sizes.kv_heads, past, d}, fresh.dtype());
    return concat({cache, fresh}, 1);
  };
  const Tensor position = g.input(name + "position", {1}, i64);
  const Tensor h = norm("norm1", x);
  const Tensor q = rope(split_heads(project("query", h, sizes.width), sizes.heads), position);
  const Tensor k =
      rope(split_heads(project("key", h, sizes.kv_heads * d), sizes.kv_heads), position);
  const Tensor v = split_heads(project("value", h, sizes.kv_heads * d), sizes.kv_heads);
  const Tensor mixed = attention(q, cached("keys", k), cached("values", v));
  const Tensor after = x + project("mix", merge_heads(mixed), sizes.width);
  const Tensor n = norm("norm2", after);
  const Tensor gated = silu(project("gate", n, sizes.hidden)) * project("up", n, sizes.hidden);
  return after + project("down", gated, sizes.width);
}

/// One token for a cache of 1024, of which `past` are in use.
graph::Graph kv_cache() {
  const Graph g;
  const Dim past = g.dim("past", 0, 1023);
  const Shape row{8, 1, 64}, cache{8, 1024, 64};
  const auto updated = [&](const std::string& name, const std::string& fresh) {
    return update_slice(g.input(name, cache), 1, past, g.input(fresh, row)).named("new_" + name);
  };
  const Tensor keys = updated("keys", "key"), values = updated("values", "value");
  const Tensor mixed = attention(g.input("query", row), slice(keys, 1, {.end = past + 1}),
                                 slice(values, 1, {.end = past + 1}));
  graph::Graph ir = finished(mixed);
  ir.add_output("new_keys", keys.edge());
  ir.add_output("new_values", values.edge());
  return ir;
}

graph::Graph llama_decode() {
  const Graph g;
  const Tensor x = g.input("x", {1, 1024});
  return finished(decoder_layer(g, "", x, g.dim("past", 1, 4096), {1024, 16, 4, 2816}));
}

graph::Graph llama_32() {
  const Graph g;
  const Dim past = g.dim("past", 1, 4096);
  const Tensor x = g.input("x", {1, 256});
  return finished(g.repeat("layer", 32, x, [&](int64_t k, const Tensor& h) {
    return decoder_layer(g, "layer" + std::to_string(k) + ".", h, past, {256, 8, 2, 704});
  }));
}

graph::Graph top_tokens() {
  const Graph g;
  const Tensor logits = g.input("logits", {4, 32000});
  return finished(softmax(topk(logits, 40).values));
}

constexpr std::array kCases{
    Case{"attention", "causal attention of 8 heads over a symbolic number of tokens",
         attention_heads},
    Case{"cnn", "two convolutions with pooling and two linear layers, for digits", cnn},
    Case{"gelu", "a linear layer with gelu", gelu_of_linear},
    Case{"gpt-block", "a transformer block as in GPT-2 small, 16 tokens", gpt_block},
    Case{"kv-cache", "attention of one token, whose key and value go into caches in their place",
         kv_cache},
    Case{"llama-32", "32 narrow decoder layers as in Llama, one token", llama_32},
    Case{"llama-decode", "a decoder layer as in Llama, one token after a symbolic number",
         llama_decode},
    Case{"mlp", "three linear layers with relu, a batch of 32", mlp},
    Case{"softmax", "softmax of 1024 rows", softmax_rows},
    Case{"top-tokens", "the 40 likeliest of 32000 tokens, with a sort on the host", top_tokens},
};

graph::Graph read_graph(const std::string& operation, const std::string& file) {
  const std::string text = support::read_file(file, operation);
  try {
    return graph::parse_text(text);
  } catch (const UserError& error) {
    std::string_view message = error.what();
    constexpr std::string_view kInternal = "parse_text: ";
    if (message.starts_with(kInternal)) message.remove_prefix(kInternal.size());
    throw UserError(operation, "{}: {}", file, message);
  }
}

/// Nothing can be said of a graph that computes nothing, which is surely not meant.
void check_computes(const std::string& operation, const std::string& file,
                    const graph::Graph& graph) {
  if (graph.nodes().empty())
    throw UserError(operation,
                    "{}: the file holds no graph: no line defines a node, as '%0: f32[3] = input "
                    "\"x\"' does",
                    file);
  const auto is_effect = [](const graph::Node& node) { return graph::has_effect(node.op); };
  if (graph.outputs().empty() &&
      std::none_of(graph.nodes().begin(), graph.nodes().end(), is_effect))
    throw UserError(operation,
                    "{}: the graph has no output, so there is nothing to compute; a line such as "
                    "'output \"y\" = %{}' makes one",
                    file, graph.nodes().size() - 1);
}

}  // namespace

std::span<const Case> cases() { return kCases; }

bool is_case(const std::string& name) {
  return std::any_of(kCases.begin(), kCases.end(),
                     [&](const Case& each) { return name == each.name; });
}

graph::Graph graph_of(const std::string& operation, const std::string& case_or_file) {
  for (const Case& each : kCases)
    if (case_or_file == each.name) return each.graph();
  if (!may_exist(case_or_file)) {
    std::string names;
    for (const Case& each : kCases) names += std::string(names.empty() ? "" : ", ") + each.name;
    throw UserError(operation, "there is no file '{}' and no case of that name; cases are {}",
                    case_or_file, names);
  }
  graph::Graph graph = plan::is_plan_file(case_or_file) ? plan::load_plan_file(case_or_file).graph
                                                        : read_graph(operation, case_or_file);
  check_computes(operation, case_or_file, graph);
  return graph;
}

}  // namespace luminal::cli
