#include "luminal/graph/rewriter.h"

#include "luminal/support/check.h"

namespace luminal::graph {

Rewriter::Rewriter(const Graph& from) : from_(from), map_(from.size()), old_uses_(from.size()) {
  for (const Node& node : from.nodes())
    for (const Edge& edge : node.operands) ++old_uses_[edge.node.value];
  for (const Output& output : from.outputs()) ++old_uses_[output.edge.node.value];
}

void Rewriter::place(NodeId old, Edge with) {
  if (uses_.size() <= with.node.value) uses_.resize(with.node.value + 1);
  uses_[with.node.value] += old_uses_[old.value];
  map_[old.value] = std::move(with);
}

Edge Rewriter::translated(const Edge& old) {
  const std::optional<Edge>& target = map_.at(old.node.value);
  LUMINAL_CHECK(target.has_value(), "%{} is still needed but was dropped", old.node.value);
  if (std::optional<Edge> edge = follow(map_, old)) return std::move(*edge);
  // Both views pad. The inner one becomes data, once for all later users.
  const Edge copy = to_.whole(to_.add(Op::kCopy, {*target}));
  map_[old.node.value] = copy;
  return {old.view, copy.node};
}

std::vector<Edge> Rewriter::translated_operands(const Node& old) {
  std::vector<Edge> operands;
  operands.reserve(old.operands.size());
  for (const Edge& edge : old.operands) operands.push_back(translated(edge));
  return operands;
}

NodeId Rewriter::keep(NodeId old) {
  const Node& node = from_.node(old);
  const NodeId id = to_.add_like(node, translated_operands(node));
  place(old, to_.whole(id));
  return id;
}

void Rewriter::replace(NodeId old, Edge with) {
  const Node& node = from_.node(old);
  const TensorType type{to_.node(with.node).dtype(), with.view.domain()};
  LUMINAL_CHECK(type == node.type, "%{} ({}) is {} but its replacement is {}", old.value,
                name(node.op), to_string(node.type), to_string(type));
  if (!node.name.empty() && to_.node(with.node).name.empty() && with.view.is_identity())
    to_.set_name(with.node, node.name);
  place(old, std::move(with));
}

PassResult Rewriter::finish() && {
  for (const Output& output : from_.outputs()) to_.add_output(output.name, translated(output.edge));
  for (const NamedDefinition& definition : from_.named()) {
    NamedDefinition moved{definition.name, definition.parameters, {}, {}};
    std::optional<Edge> result = follow(map_, definition.result);
    if (!result) continue;
    moved.result = std::move(*result);
    for (const Edge& edge : definition.operands)
      if (std::optional<Edge> operand = follow(map_, edge))
        moved.operands.push_back(std::move(*operand));
    if (moved.operands.size() == definition.operands.size()) to_.add_named(std::move(moved));
  }
  return {std::move(to_), std::move(map_)};
}

Pass node_pass(std::string name, Replacement replacement) {
  auto run = [replacement = std::move(replacement)](const Graph& graph) {
    Rewriter rewriter(graph);
    for (NodeId id : graph.ids()) {
      Node node = graph.node(id);
      node.operands = rewriter.translated_operands(node);
      if (std::optional<Edge> value = replacement(rewriter, node))
        rewriter.replace(id, std::move(*value));
      else
        rewriter.keep(id);
    }
    return std::move(rewriter).finish();
  };
  return {std::move(name), std::move(run)};
}

}  // namespace luminal::graph
