// What the tensor rules take: building, saturating and reading the e-graph of decoder layers, per
// layer, and how many nodes it has beside the graph's.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include "luminal/graph/pass.h"
#include "luminal/luminal.h"
#include "luminal/rules/choices.h"

namespace luminal::rules {
namespace {

constexpr int64_t kWidth = 512, kHeads = 8, kHidden = 2048;

Tensor linear(const luminal::Graph& g, const Tensor& x, const std::string& name, int64_t out) {
  return matmul(x, transpose(g.input(name, {out, x.dim(-1)})));
}

Tensor heads(const Tensor& x) { return transpose(split_dims(x, -1, {kHeads, -1}), 0, 1); }

Tensor layer(const luminal::Graph& g, const Tensor& x, const Tensor& positions,
             const std::string& p) {
  Tensor h = rms_norm(x, g.input(p + "norm1", {kWidth}));
  Tensor q = rope(heads(linear(g, h, p + "wq", kWidth)), positions);
  Tensor k = rope(heads(linear(g, h, p + "wk", kWidth)), positions);
  Tensor v = heads(linear(g, h, p + "wv", kWidth));
  Tensor mixed = merge_dims(transpose(attention(q, k, v, {.causal = true}), 0, 1), 1, 2);
  Tensor y = x + linear(g, mixed, p + "wo", kWidth);
  Tensor n = rms_norm(y, g.input(p + "norm2", {kWidth}));
  Tensor gated = silu(linear(g, n, p + "gate", kHidden)) * linear(g, n, p + "up", kHidden);
  return y + linear(g, gated, p + "down", kWidth);
}

graph::Graph decoder(int64_t layers) {
  luminal::Graph g;
  const Dim tokens = g.dim("tokens", 1, 2048);
  Tensor x = g.input("x", {tokens, kWidth}), positions = arange(g, tokens);
  for (int64_t k = 0; k < layers; ++k) x = layer(g, x, positions, fmt::format("l{}_", k));
  graph::Graph ir = g.ir();
  ir.add_output("y", x.edge());
  return graph::default_passes().run(ir).graph;
}

void decoder_choices(benchmark::State& state) {
  const graph::Graph graph = decoder(state.range(0));
  RuleStats stats;
  double build = 0, saturate = 0, read = 0;
  for (auto _ : state) {
    stats = choices(graph).stats;
    build += stats.build_seconds;
    saturate += stats.saturate_seconds;
    read += stats.read_seconds;
  }
  const auto milliseconds = [](double seconds) {
    return benchmark::Counter(1e3 * seconds, benchmark::Counter::kAvgIterations);
  };
  state.counters["build_ms"] = milliseconds(build);
  state.counters["saturate_ms"] = milliseconds(saturate);
  state.counters["saturate_ms_per_layer"] =
      milliseconds(saturate / static_cast<double>(state.range(0)));
  state.counters["read_ms"] = milliseconds(read);
  state.counters["nodes_per_graph_node"] =
      static_cast<double>(stats.nodes) / static_cast<double>(stats.graph_nodes);
  state.counters["alternatives"] = static_cast<double>(stats.alternatives);
}
BENCHMARK(decoder_choices)->Arg(1)->Arg(2)->Arg(8)->Arg(32)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace luminal::rules
