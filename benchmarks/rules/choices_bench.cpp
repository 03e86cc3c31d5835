// What the tensor rules take: building, saturating and reading the e-graph of decoder layers, per
// layer, and how many nodes it has beside the graph's.
#include <benchmark/benchmark.h>

#include "luminal/rules/choices.h"
#include "tests/rules/decoder.h"

namespace luminal::rules {
namespace {

void decoder_choices(benchmark::State& state) {
  const graph::Graph graph = test::decoder(state.range(0));
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
