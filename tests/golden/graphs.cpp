#include "graphs.h"

#include "luminal/graph/pass.h"
#include "luminal/luminal.h"
#include "luminal/support/error.h"
#include "models.h"

namespace luminal::golden {
namespace {

namespace models = kernel::models;

graph::Graph finished(const Tensor& y) {
  graph::Graph ir = y.graph().ir();
  ir.add_output("y", y.edge());
  return graph::default_passes().run(ir).graph;
}

graph::Graph column_sum() {
  const Graph g;
  return finished(sum(g.input("x", {4096, 1024}), 0));
}

graph::Graph transposed_copy() {
  const Graph g;
  return finished(contiguous(transpose(g.input("x", {2048, 2048}))));
}

graph::Graph rows_of_a_table() {
  const Graph g;
  return finished(embedding(g.input("table", {32000, 512}), g.input("ids", {64}, i64)));
}

graph::Graph int8_matmul() {
  const Graph g;
  const Tensor a = g.input("a", {512, 512}, i8), b = g.input("b", {512, 512}, i8);
  return finished(matmul(a, transpose(b), i32));
}

/// Four-bit weights with a scale per group of 32, times one token.
graph::Graph four_bit_matvec() {
  const Graph g;
  constexpr int64_t kIn = 2048, kOut = 2048, kGroup = 32;
  const Tensor packed = g.input("w", {kOut, kIn / kGroup, kGroup}, i4);
  const Tensor scales = g.input("scales", {kOut, kIn / kGroup, 1});
  const Tensor weights = merge_dims(cast(packed, f32) * scales, 1);
  return finished(matmul(g.input("x", {1, kIn}), transpose(weights)));
}

graph::Graph running_sum() {
  const Graph g;
  return finished(cumsum(g.input("x", {64, 512}), 1));
}

/// GPT-2 small.
constexpr int64_t kGptTokens = 512;
models::BlockSizes gpt_sizes() {
  return {.tokens = kGptTokens, .heads = 12, .kv_heads = 12, .d = 64, .hidden = 3072};
}

/// Llama 3 8B.
models::BlockSizes llama_sizes() {
  return {.tokens = 1, .heads = 32, .kv_heads = 8, .d = 128, .hidden = 14336, .cache = 2048};
}

/// The inputs that are no data of the run.
std::vector<std::string> weights_of(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const auto& [id, name] : models::input_names(graph)) {
    const bool data = name == "x" || name.ends_with("keys") || name.ends_with("values");
    if (graph.find_input(name) && !data) names.push_back(name);
  }
  return names;
}

FixedGraph with_weights(std::string name, graph::Graph graph) {
  std::vector<std::string> weights = weights_of(graph);
  return {std::move(name), std::move(graph), std::move(weights)};
}

}  // namespace

std::vector<FixedGraph> all_graphs() {
  return {{"softmax", models::softmax(4096, 1024)},
          {"log_softmax", models::log_softmax(4096, 1024)},
          {"layer_norm", models::layer_norm(4096, 1024)},
          {"rms_norm", models::rms_norm(4096, 1024)},
          with_weights("mlp_layer", models::mlp_layer(128, 1024, 4096)),
          with_weights("gpt_block_prefill", models::gpt_block(gpt_sizes())),
          with_weights("llama_block_decode", models::llama_block(llama_sizes())),
          with_weights("conv_bias_relu_pool", models::conv_block(16, 28, 1, 32)),
          {"attention", models::attention(4, 2, 512, 512, 64)},
          {"column_sum", column_sum()},
          {"transpose", transposed_copy()},
          {"gather", rows_of_a_table()},
          {"int8_matmul", int8_matmul()},
          with_weights("four_bit_matvec", four_bit_matvec()),
          {"cumsum", running_sum()}};
}

FixedGraph graph_named(const std::string& name) {
  for (FixedGraph& each : all_graphs())
    if (each.name == name) return std::move(each);
  throw UserError("golden", "there is no graph '{}'", name);
}

compiler::Options fixed_options(const FixedGraph& graph) {
  return {.target = codegen::cpu_target("znver4"),
          .machine = kernel::Machine::cpu(2),
          .threads = 2,
          .weights = graph.weights,
          .keep_text = true};
}

}  // namespace luminal::golden
