#include "luminal/graph/query.h"

#include <fmt/format.h>

#include <algorithm>

namespace luminal::graph {
namespace {

bool identical_nodes(const Node& a, const Node& b) {
  return a.op == b.op && a.name == b.name && a.type == b.type && a.attributes == b.attributes &&
         a.operands == b.operands;
}

/// Values of parameters, with NaN equal to itself.
bool identical_values(const NamedValue& a, const NamedValue& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  return a == b || (x && y && *x != *x && *y != *y);
}

bool identical_definitions(const NamedDefinition& a, const NamedDefinition& b) {
  return a.name == b.name && a.result == b.result && a.operands == b.operands &&
         std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(),
                    b.parameters.end(), [](const auto& x, const auto& y) {
                      return x.first == y.first && identical_values(x.second, y.second);
                    });
}

std::vector<NodeId> marked_ids(const std::vector<bool>& marked) {
  std::vector<NodeId> ids;
  for (uint32_t i = 0; i < marked.size(); ++i)
    if (marked[i]) ids.push_back(NodeId{i});
  return ids;
}

std::vector<bool> mark(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<bool> marked(graph.size(), false);
  for (NodeId id : nodes) {
    if (id.value >= graph.size())
      throw UserError("query", "there is no node %{} in a graph of {} nodes", id.value,
                      graph.size());
    marked[id.value] = true;
  }
  return marked;
}

bool is_arithmetic(Op op) {
  if (!is_elementwise(op)) return false;
  const DTypeRule rule = info(op).dtype_rule;
  return rule == DTypeRule::kFloat || rule == DTypeRule::kNumber || op == Op::kMax;
}

}  // namespace

bool identical(const Graph& a, const Graph& b) {
  return std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin(), b.nodes().end(),
                    identical_nodes) &&
         std::equal(a.outputs().begin(), a.outputs().end(), b.outputs().begin(), b.outputs().end(),
                    [](const Output& x, const Output& y) {
                      return x.name == y.name && x.edge == y.edge;
                    }) &&
         std::equal(a.named().begin(), a.named().end(), b.named().begin(), b.named().end(),
                    identical_definitions);
}

std::vector<std::vector<NodeId>> users(const Graph& graph) {
  std::vector<std::vector<NodeId>> result(graph.size());
  for (NodeId id : graph.ids())
    for (const Edge& edge : graph.node(id).operands) {
      std::vector<NodeId>& readers = result[edge.node.value];
      if (readers.empty() || readers.back() != id) readers.push_back(id);
    }
  return result;
}

std::vector<NodeId> users_of(const Graph& graph, NodeId id) {
  mark(graph, {&id, 1});
  return std::move(users(graph)[id.value]);
}

std::vector<NodeId> upstream(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<bool> marked = mark(graph, nodes);
  for (size_t i = graph.size(); i-- > 0;)
    if (marked[i])
      for (const Edge& edge : graph.nodes()[i].operands) marked[edge.node.value] = true;
  return marked_ids(marked);
}

std::vector<NodeId> downstream(const Graph& graph, std::span<const NodeId> nodes) {
  std::vector<bool> marked = mark(graph, nodes);
  for (size_t i = 0; i < graph.size(); ++i)
    for (const Edge& edge : graph.nodes()[i].operands)
      if (marked[edge.node.value]) marked[i] = true;
  return marked_ids(marked);
}

Expr bytes_of(const TensorType& type) {
  const Expr count = element_count(type.shape);
  const int size = bits(type.dtype);
  return size % 8 == 0 ? count * Expr(size / 8) : symbolic::ceil_div(count * Expr(size), Expr(8));
}

GraphStatistics statistics(const Graph& graph) {
  GraphStatistics result;
  result.nodes = graph.size();
  for (const Node& node : graph.nodes()) {
    ++result.ops[node.op];
    const Expr bytes = bytes_of(node.type);
    if (node.op == Op::kInput)
      result.input_bytes += bytes;
    else if (node.op == Op::kConstant)
      result.constant_bytes += bytes;
    else
      result.computed_bytes += bytes;
    if (is_arithmetic(node.op)) result.flops += element_count(node.shape());
    if (is_reduction(node.op)) result.flops += element_count(node.operands[0].view.domain());
  }
  for (const Output& output : graph.outputs())
    result.output_bytes +=
        bytes_of({graph.node(output.edge.node).dtype(), output.edge.view.domain()});
  return result;
}

std::string to_string(const GraphStatistics& statistics) {
  std::string text = fmt::format("{} nodes:", statistics.nodes);
  const char* separator = " ";
  for (const auto& [op, count] : statistics.ops) {
    text += fmt::format("{}{} {}", separator, count, name(op));
    separator = ", ";
  }
  return text +
         fmt::format("\nbytes: {} inputs, {} constants, {} computed, {} outputs\nflops: {}\n",
                     statistics.input_bytes, statistics.constant_bytes, statistics.computed_bytes,
                     statistics.output_bytes, statistics.flops);
}

}  // namespace luminal::graph
