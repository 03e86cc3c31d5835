#include "luminal/graph/dead_nodes.h"

#include "luminal/graph/rewriter.h"

namespace luminal::graph {
namespace {

std::vector<bool> live_nodes(const Graph& graph, const DeadNodeOptions& options) {
  std::vector<bool> live(graph.size(), false);
  for (const Output& output : graph.outputs()) live[output.edge.node.value] = true;
  // Users have larger ids than what they read, so one walk from the end sees them all first.
  for (size_t i = graph.size(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    if (has_effect(node.op) || (options.keep_inputs && node.op == Op::kInput)) live[i] = true;
    if (!live[i]) continue;
    for (const Edge& edge : node.operands) live[edge.node.value] = true;
  }
  return live;
}

}  // namespace

Pass dead_nodes(const DeadNodeOptions& options) {
  return {"dead_nodes", [options](const Graph& graph) {
            const std::vector<bool> live = live_nodes(graph, options);
            Rewriter rewriter(graph);
            for (NodeId id : graph.ids())
              if (live[id.value]) rewriter.keep(id);
            return std::move(rewriter).finish();
          }};
}

}  // namespace luminal::graph
