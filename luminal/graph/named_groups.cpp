#include "luminal/graph/named_groups.h"

#include <algorithm>
#include <numeric>

namespace luminal::graph {

namespace {

// The nodes of one definition, sorted.
std::vector<uint32_t> members(const Graph& graph, const NamedDefinition& definition,
                              std::vector<uint32_t>& visited_by, uint32_t mark) {
  for (const Edge& operand : definition.operands) visited_by[operand.node.value] = mark;
  std::vector<uint32_t> found, pending{definition.result.node.value};
  while (!pending.empty()) {
    const uint32_t id = pending.back();
    pending.pop_back();
    const Node& node = graph.node({id});
    if (visited_by[id] == mark || node.op == Op::kInput) continue;
    visited_by[id] = mark;
    found.push_back(id);
    for (const Edge& edge : node.operands) pending.push_back(edge.node.value);
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The innermost group around both; parents have smaller indices than what they hold.
int common_group(const NamedGroups& all, int a, int b) {
  while (a != b) {
    int& inner = a > b ? a : b;
    inner = all.groups[static_cast<size_t>(inner)].parent;
  }
  return a;
}

}  // namespace

NamedGroups named_groups(const Graph& graph) {
  std::vector<uint32_t> visited_by(graph.size(), UINT32_MAX);
  std::vector<std::vector<uint32_t>> nodes;
  for (size_t k = 0; k < graph.named().size(); ++k)
    nodes.push_back(members(graph, graph.named()[k], visited_by, static_cast<uint32_t>(k)));

  // From large to small, so that a group comes after all that may hold it. Of equal ones the
  // definition recorded last is the outer one: it was written in terms of the others.
  std::vector<size_t> order(nodes.size());
  std::iota(order.rbegin(), order.rend(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return nodes[a].size() > nodes[b].size(); });

  NamedGroups result;
  result.group_of_node.assign(graph.size(), NamedGroups::kNone);
  for (size_t definition : order) {
    const std::vector<uint32_t>& own = nodes[definition];
    if (own.empty()) continue;
    int around = result.group_of_node[own.front()];
    for (uint32_t id : own) around = common_group(result, around, result.group_of_node[id]);
    for (uint32_t id : own) result.group_of_node[id] = static_cast<int>(result.groups.size());
    result.groups.push_back({definition, around});
  }
  return result;
}

}  // namespace luminal::graph
