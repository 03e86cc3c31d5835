#include "luminal/graph/named_groups.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "luminal/graph/repeat.h"

namespace luminal::graph {

namespace {

// What becomes a group: a definition, or the marks of one instance of a repeat.
struct Part {
  size_t definition;
  std::string label;
  std::vector<NodeId> operands, results;
  std::vector<uint32_t> nodes;
};

std::string label_of(const RepeatMark& mark, int64_t instances) {
  // A number at the end of the name is not that of the instance.
  const bool ends_in_number =
      !mark.repeat.empty() && std::isdigit(static_cast<unsigned char>(mark.repeat.back())) != 0;
  return fmt::format("{}{} {} of {}", mark.repeat, ends_in_number ? "," : "", mark.instance + 1,
                     instances);
}

std::vector<Part> parts_of(const Graph& graph) {
  std::map<std::string, int64_t> instances;
  for (const NamedDefinition& definition : graph.named())
    if (const auto mark = repeat_mark(definition)) {
      int64_t& count = instances[mark->repeat];
      count = std::max(count, mark->instance + 1);
    }
  std::vector<Part> parts;
  std::map<std::pair<std::string, int64_t>, size_t> begun;
  for (size_t k = 0; k < graph.named().size(); ++k) {
    const NamedDefinition& definition = graph.named()[k];
    size_t place = parts.size();
    if (const auto mark = repeat_mark(definition)) {
      place = begun.try_emplace({mark->repeat, mark->instance}, place).first->second;
      if (place == parts.size())
        parts.push_back({k, label_of(*mark, instances[mark->repeat]), {}, {}, {}});
    } else {
      parts.push_back({k, to_string(definition), {}, {}, {}});
    }
    for (const Edge& operand : definition.operands) parts[place].operands.push_back(operand.node);
    parts[place].results.push_back(definition.result.node);
  }
  return parts;
}

// The nodes of one part, sorted.
std::vector<uint32_t> members(const Graph& graph, const Part& part,
                              std::vector<uint32_t>& visited_by, uint32_t mark) {
  for (const NodeId operand : part.operands) visited_by[operand.value] = mark;
  std::vector<uint32_t> found, pending;
  for (const NodeId result : part.results) pending.push_back(result.value);
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

// The users of every node.
std::vector<std::vector<uint32_t>> users_of(const Graph& graph) {
  std::vector<std::vector<uint32_t>> users(graph.size());
  for (const NodeId id : graph.ids())
    for (const Edge& edge : graph.node(id).operands) users[edge.node.value].push_back(id.value);
  return users;
}

// Constants and tables that a part is not alone to read are no more its own than those of others.
// With them, the same small number in two layers would make both overlap.
void leave_out_shared(const Graph& graph, const std::vector<std::vector<uint32_t>>& users,
                      Part& part) {
  const std::set<uint32_t> own(part.nodes.begin(), part.nodes.end());
  std::set<uint32_t> kept = own, follows;
  for (const NodeId id : part.operands) follows.insert(id.value);
  for (const uint32_t id : own)
    for (const Edge& edge : graph.node({id}).operands)
      if (follows.contains(edge.node.value)) follows.insert(id);
  for (const NodeId id : part.results) follows.insert(id.value);
  // Users come after what they use, so whether they are kept is known.
  for (auto id = own.rbegin(); id != own.rend(); ++id)
    if (!follows.contains(*id) && !std::all_of(users[*id].begin(), users[*id].end(),
                                               [&](uint32_t user) { return kept.contains(user); }))
      kept.erase(*id);
  part.nodes.assign(kept.begin(), kept.end());
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
  std::vector<Part> parts = parts_of(graph);
  const std::vector<std::vector<uint32_t>> users = users_of(graph);
  for (size_t k = 0; k < parts.size(); ++k) {
    parts[k].nodes = members(graph, parts[k], visited_by, static_cast<uint32_t>(k));
    leave_out_shared(graph, users, parts[k]);
  }

  // From large to small, so that a group comes after all that may hold it. Of equal ones the
  // definition recorded last is the outer one: it was written in terms of the others.
  std::vector<size_t> order(parts.size());
  std::iota(order.rbegin(), order.rend(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return parts[a].nodes.size() > parts[b].nodes.size();
  });

  NamedGroups result;
  result.group_of_node.assign(graph.size(), NamedGroups::kNone);
  for (const size_t number : order) {
    const std::vector<uint32_t>& own = parts[number].nodes;
    if (own.empty()) continue;
    int around = result.group_of_node[own.front()];
    for (uint32_t id : own) around = common_group(result, around, result.group_of_node[id]);
    for (uint32_t id : own) result.group_of_node[id] = static_cast<int>(result.groups.size());
    result.groups.push_back({parts[number].definition, around, std::move(parts[number].label)});
  }
  return result;
}

}  // namespace luminal::graph
