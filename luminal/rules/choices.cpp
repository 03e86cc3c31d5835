#include "luminal/rules/choices.h"

#include <chrono>

#include "luminal/rules/read_choices.h"
#include "luminal/support/trace.h"

namespace luminal::rules {
namespace {

using Clock = std::chrono::steady_clock;

/// Seconds since the last call.
double lap(Clock::time_point& since) {
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - since).count();
  since = now;
  return seconds;
}

}  // namespace

Choices choices(const graph::Graph& graph, const RuleOptions& options) {
  Clock::time_point since = Clock::now();
  support::TraceSpan building("compile", "e-graph");
  const kernel::GraphProgram source(graph);
  TensorEGraph egraph;
  egraph.add(source, graph.named());
  RuleStats stats;
  building.end();
  stats.build_seconds = lap(since);
  const egraph::RunReport report = egraph.saturate(options);
  stats.saturate_seconds = lap(since);
  support::TraceSpan reading("compile", "read definitions");
  ChoiceReader reader(egraph, source, graph.size());
  if (report.stop == egraph::StopReason::kFinished) reader.expect_complete();
  Choices result = reader.read();
  for (size_t k = 0; k < graph.outputs().size(); ++k) {
    const kernel::NodeId id = source.output(k);
    result.outputs.push_back(id.value < graph.size() ? result.place[id.value] : id);
  }
  reading.end();
  stats.read_seconds = lap(since);
  stats.graph_nodes = graph.size();
  stats.nodes = egraph.num_nodes();
  stats.classes = egraph.num_classes();
  for (uint32_t id = 0; id < result.program.size(); ++id)
    stats.alternatives += result.program.definitions(kernel::NodeId{id}) - 1;
  stats.iterations = report.iterations;
  stats.stop = report.stop;
  stats.matches = egraph.matches();
  result.stats = std::move(stats);
  return result;
}

Choices as_written(const graph::Graph& graph) {
  const kernel::GraphProgram source(graph);
  Choices result{kernel::ChoiceProgram(source), {}, {}, {}, {}};
  for (const kernel::NodeId id : graph.ids()) result.place.push_back(id);
  for (size_t k = 0; k < graph.outputs().size(); ++k) result.outputs.push_back(source.output(k));
  result.names.assign(graph.named().begin(), graph.named().end());
  result.stats.graph_nodes = graph.size();
  return result;
}

}  // namespace luminal::rules
