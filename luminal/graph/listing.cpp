#include "luminal/graph/listing.h"

#include <fmt/format.h>

#include "luminal/graph/named_groups.h"

namespace luminal::graph {
namespace {

std::string reference(const Graph& graph, const Edge& edge) {
  const Node& node = graph.node(edge.node);
  std::string text = node.name.empty() ? fmt::format("%{}", edge.node.value) : node.name;
  return edge.view.is_identity() ? text : text + "[view]";
}

std::string operands(const Graph& graph, const std::vector<Edge>& edges) {
  std::string text;
  for (const Edge& edge : edges) text += (text.empty() ? "" : ", ") + reference(graph, edge);
  return text;
}

std::string details(const Node& node) {
  if (node.op == Op::kConstant && node.shape().empty())
    return node.attribute<ConstantAttribute>().value.at(0).to_string();
  if (node.op == Op::kIota) return to_string(node.attribute<IotaAttribute>().value);
  return "";
}

std::string step_line(const Graph& graph, NodeId id, const std::string& part_of) {
  const Node& node = graph.node(id);
  const std::string call =
      fmt::format("{}({})", name(node.op),
                  node.operands.empty() ? details(node) : operands(graph, node.operands));
  std::string line =
      fmt::format("  %{:<4} {:<28} {:<22} {}", id.value, call, to_string(node.type), part_of);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// "| softmax(axis=1)" inside of a definition, "= softmax(axis=1)" where the node is its result.
std::string part_of(const Graph& graph, NodeId id, const NamedGroups& groups) {
  const int number = groups.group_of_node[id.value];
  if (number == NamedGroups::kNone) return "";
  const NamedGroups::Group& group = groups.groups[static_cast<size_t>(number)];
  return (graph.named()[group.definition].result.node == id ? "= " : "| ") + group.label;
}

}  // namespace

std::string list_steps(const Graph& graph) {
  const NamedGroups groups = named_groups(graph);
  std::string inputs, steps, outputs;
  for (NodeId id : graph.ids()) {
    const Node& node = graph.node(id);
    if (node.op == Op::kInput)
      inputs += fmt::format("  %{:<4} {:<28} {}\n", id.value, node.name, to_string(node.type));
    else
      steps += step_line(graph, id, part_of(graph, id, groups));
  }
  for (const Output& output : graph.outputs())
    outputs +=
        fmt::format("  {} = {}  {}{}\n", output.name, reference(graph, output.edge),
                    graph.node(output.edge.node).dtype(), to_string(output.edge.view.domain()));
  return "inputs\n" + inputs + "steps\n" + steps + "outputs\n" + outputs;
}

}  // namespace luminal::graph
