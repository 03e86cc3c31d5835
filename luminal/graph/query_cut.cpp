#include <algorithm>
#include <set>

#include "luminal/graph/query.h"
#include "luminal/support/check.h"

namespace luminal::graph {
namespace {

bool is_source(const Node& node) { return info(node.op).op_class == OpClass::kSource; }

/// Names for values that cross a boundary: the node's own, where nobody else has it.
class BoundaryNames {
 public:
  explicit BoundaryNames(const Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes())
      if (const auto* input = std::get_if<InputAttribute>(&node.attributes))
        taken_.insert(input->name);
    for (const Output& output : graph.outputs()) taken_.insert(output.name);
  }

  /// An input keeps its name: the value is bound by it on both sides.
  std::string name_of(NodeId id) {
    const Node& node = graph_.node(id);
    if (const auto* input = std::get_if<InputAttribute>(&node.attributes)) return input->name;
    if (!node.name.empty() && taken_.insert(node.name).second) return node.name;
    std::string name = "value_" + std::to_string(id.value);
    while (!taken_.insert(name).second) name += "_";
    return name;
  }

 private:
  const Graph& graph_;
  std::set<std::string> taken_;
};

/// Builds a part of a graph: chosen nodes are copied, others become inputs.
class PartBuilder {
 public:
  explicit PartBuilder(const Graph& graph) : graph_(graph), part_{{}, NodeMap(graph.size())} {}

  void copy(NodeId id) {
    const Node& node = graph_.node(id);
    std::vector<Edge> operands;
    for (const Edge& edge : node.operands) operands.push_back(moved(edge));
    place(id, part_.graph.add_like(node, std::move(operands)));
  }
  void make_input(NodeId id, const std::string& name) {
    const Node& node = graph_.node(id);
    const NodeId input = part_.graph.add_input(name, node.dtype(), node.shape());
    if (!node.name.empty()) part_.graph.set_name(input, node.name);
    place(id, input);
  }
  void add_output(const std::string& name, const Edge& edge) {
    part_.graph.add_output(name, moved(edge));
  }
  /// Named definitions all of whose nodes are here.
  void add_named_definitions() {
    for (const NamedDefinition& definition : graph_.named()) {
      NamedDefinition copy = definition;
      bool complete = has(copy.result);
      for (const Edge& edge : copy.operands) complete &= has(edge);
      if (!complete) continue;
      copy.result = moved(copy.result);
      for (Edge& edge : copy.operands) edge = moved(edge);
      part_.graph.add_named(std::move(copy));
    }
  }
  Subgraph finish() && {
    add_named_definitions();
    return std::move(part_);
  }

 private:
  bool has(const Edge& edge) const { return part_.map[edge.node.value].has_value(); }
  Edge moved(const Edge& edge) const {
    LUMINAL_CHECK(has(edge), "%{} is not in this part of the graph", edge.node.value);
    return {edge.view, part_.map[edge.node.value]->node};
  }
  void place(NodeId id, NodeId placed) { part_.map[id.value] = part_.graph.whole(placed); }

  const Graph& graph_;
  Subgraph part_;
};

std::vector<bool> marks(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<bool> marked(graph.size(), false);
  for (NodeId id : nodes) marked[id.value] = true;
  return marked;
}

/// Nodes that `results` need when those of the boundary are given.
std::vector<bool> needed_nodes(const Graph& graph, std::span<const NodeId> results,
                               const std::vector<bool>& boundary) {
  std::vector<bool> needed = marks(graph, results);
  for (size_t i = graph.size(); i-- > 0;)
    if (needed[i] && !boundary[i])
      for (const Edge& edge : graph.nodes()[i].operands) needed[edge.node.value] = true;
  return needed;
}

/// The cut itself, and computed values of the first part that the second reads around it.
std::vector<NodeId> crossing_values(const Graph& graph, std::span<const NodeId> cut_nodes,
                                    const std::vector<bool>& in_first) {
  std::vector<bool> crosses = marks(graph, cut_nodes);
  auto read_by_second = [&](const Edge& edge) {
    const uint32_t source = edge.node.value;
    if (in_first[source] && !is_source(graph.nodes()[source])) crosses[source] = true;
  };
  for (size_t i = 0; i < graph.size(); ++i)
    if (!in_first[i])
      for (const Edge& edge : graph.nodes()[i].operands) read_by_second(edge);
  std::vector<NodeId> ids;
  for (NodeId id : graph.ids())
    if (crosses[id.value]) ids.push_back(id);
  return ids;
}

Subgraph first_part(const Graph& graph, const std::vector<bool>& in_first,
                    const std::vector<NodeId>& crossing, const std::vector<std::string>& names) {
  PartBuilder builder(graph);
  for (NodeId id : graph.ids())
    if (in_first[id.value]) builder.copy(id);
  for (const Output& output : graph.outputs())
    if (in_first[output.edge.node.value]) builder.add_output(output.name, output.edge);
  for (size_t k = 0; k < crossing.size(); ++k)
    builder.add_output(names[k], graph.whole(crossing[k]));
  return std::move(builder).finish();
}

Subgraph second_part(const Graph& graph, const std::vector<bool>& in_first,
                     const std::vector<NodeId>& crossing, const std::vector<std::string>& names) {
  const std::vector<bool> crosses = marks(graph, crossing);
  std::vector<bool> read(graph.size(), false);
  for (size_t i = 0; i < graph.size(); ++i)
    if (!in_first[i])
      for (const Edge& edge : graph.nodes()[i].operands) read[edge.node.value] = true;
  PartBuilder builder(graph);
  size_t next = 0;
  for (NodeId id : graph.ids()) {
    if (crosses[id.value])
      builder.make_input(id, names[next++]);
    else if (!in_first[id.value] || (read[id.value] && is_source(graph.node(id))))
      builder.copy(id);
  }
  for (const Output& output : graph.outputs())
    if (!in_first[output.edge.node.value]) builder.add_output(output.name, output.edge);
  return std::move(builder).finish();
}

}  // namespace

Subgraph extract(const Graph& graph, std::span<const NodeId> results,
                 std::span<const NodeId> boundary) {
  upstream(graph, results);  // both lists must name nodes of the graph
  upstream(graph, boundary);
  const std::vector<bool> at_boundary = marks(graph, boundary);
  const std::vector<bool> needed = needed_nodes(graph, results, at_boundary);
  BoundaryNames names(graph);
  PartBuilder builder(graph);
  for (NodeId id : graph.ids()) {
    if (!needed[id.value]) continue;
    if (at_boundary[id.value])
      builder.make_input(id, names.name_of(id));
    else
      builder.copy(id);
  }
  for (NodeId id : results) builder.add_output(names.name_of(id), graph.whole(id));
  return std::move(builder).finish();
}

CutGraph cut(const Graph& graph, std::span<const NodeId> nodes) {
  const std::vector<bool> in_first = marks(graph, upstream(graph, nodes));
  const std::vector<NodeId> crossing = crossing_values(graph, nodes, in_first);
  BoundaryNames names(graph);
  CutGraph result;
  for (NodeId id : crossing) result.crossing.push_back(names.name_of(id));
  result.first = first_part(graph, in_first, crossing, result.crossing);
  result.second = second_part(graph, in_first, crossing, result.crossing);
  return result;
}

}  // namespace luminal::graph
