#include "luminal/graph/depth_first_order.h"

#include "luminal/graph/rewriter.h"

namespace luminal::graph {
namespace {

/// Depth-first walk without recursion: graphs are deeper than stacks.
class Walk {
 public:
  explicit Walk(const Graph& graph) : graph_(graph), seen_(graph.size(), false) {}

  void visit(NodeId root) {
    enter(root);
    while (!stack_.empty()) {
      auto& [id, next] = stack_.back();
      const std::vector<Edge>& operands = graph_.node(id).operands;
      if (next < operands.size()) {
        enter(operands[next++].node);
      } else {
        order_.push_back(id);
        stack_.pop_back();
      }
    }
  }

  const std::vector<NodeId>& order() const { return order_; }

 private:
  void enter(NodeId id) {
    if (seen_[id.value]) return;
    seen_[id.value] = true;
    stack_.emplace_back(id, 0);
  }

  const Graph& graph_;
  std::vector<bool> seen_;
  std::vector<std::pair<NodeId, size_t>> stack_;
  std::vector<NodeId> order_;
};

std::vector<NodeId> new_order(const Graph& graph) {
  Walk walk(graph);
  for (NodeId id : graph.ids())
    if (graph.node(id).op == Op::kInput) walk.visit(id);
  // An effect that another one depends on has a smaller id, so going by ids keeps their order.
  for (NodeId id : graph.ids())
    if (has_effect(graph.node(id).op)) walk.visit(id);
  for (const Output& output : graph.outputs()) walk.visit(output.edge.node);
  for (NodeId id : graph.ids()) walk.visit(id);
  return walk.order();
}

}  // namespace

Pass depth_first_order() {
  return {"depth_first_order", [](const Graph& graph) {
            Rewriter rewriter(graph);
            for (NodeId id : new_order(graph)) rewriter.keep(id);
            return std::move(rewriter).finish();
          }};
}

}  // namespace luminal::graph
