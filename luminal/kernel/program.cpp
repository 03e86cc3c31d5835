#include "luminal/kernel/program.h"

#include <algorithm>

namespace luminal::kernel {
namespace {

using graph::Node;
using graph::Op;

bool is_scalar_constant(const Node& node) {
  return node.op == Op::kConstant && node.attribute<graph::ConstantAttribute>().value.size() == 1;
}

/// Walks from the result up to the operands.
NamedRegion region_of(const graph::Graph& graph, const graph::NamedDefinition& definition) {
  NamedRegion region{definition.result.node, {}};
  std::vector<bool> seen(graph.size(), false);
  for (const graph::Edge& operand : definition.operands) seen[operand.node.value] = true;
  std::vector<NodeId> pending{region.result};
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (seen[id.value]) continue;
    seen[id.value] = true;
    if (id != region.result) region.inside.push_back(id);
    for (const graph::Edge& edge : graph.node(id).operands) pending.push_back(edge.node);
  }
  std::sort(region.inside.begin(), region.inside.end());
  return region;
}

}  // namespace

GraphProgram::GraphProgram(const graph::Graph& graph) : graph_(graph) {
  for (const graph::Output& output : graph.outputs()) {
    NodeId id = output.edge.node;
    // A constant or iota asked for has to be written by some kernel.
    if (!output.edge.view.is_identity() || is_free_to_compute(graph.node(id))) {
      id = NodeId{static_cast<uint32_t>(size())};
      Node copy;
      copy.op = Op::kCopy;
      copy.type = {graph.node(output.edge.node).dtype(), output.edge.view.domain()};
      copy.operands = {output.edge};
      copies_.push_back(std::move(copy));
    }
    outputs_.push_back(id);
    if (std::find(roots_.begin(), roots_.end(), id) == roots_.end()) roots_.push_back(id);
  }
  for (NodeId id : graph.ids())
    if (graph::has_effect(graph.node(id).op) &&
        std::find(roots_.begin(), roots_.end(), id) == roots_.end())
      roots_.push_back(id);
  for (const graph::NamedDefinition& definition : graph.named())
    regions_.push_back(region_of(graph, definition));
}

const graph::Node& GraphProgram::node(NodeId id) const {
  return id.value < graph_.size() ? graph_.node(id) : copies_[id.value - graph_.size()];
}

bool is_opaque(const Node& node) {
  switch (node.op) {
    case Op::kInput:
    case Op::kScatter:
    case Op::kArgSort:
    case Op::kCustom:
    case Op::kPrint:
    case Op::kDiff:
    case Op::kGraphBreak:
      return true;
    case Op::kConstant:
      return !is_scalar_constant(node);
    default:
      return false;
  }
}

bool is_source(const Node& node) {
  return is_opaque(node) && node.operands.empty() && node.op != Op::kCustom;
}

bool reads_memory(const Node& node) { return is_opaque(node) && !node.operands.empty(); }

bool is_free_to_compute(const Node& node) {
  return node.op == Op::kIota || is_scalar_constant(node);
}

std::optional<std::vector<NodeId>> topological_order(const Program& program) {
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(program.size(), Mark::kNew);
  std::vector<NodeId> order;
  std::vector<std::pair<NodeId, size_t>> path;  // a node and its next operand
  for (NodeId root : program.roots()) {
    if (marks[root.value] == Mark::kDone) continue;
    path.push_back({root, 0});
    marks[root.value] = Mark::kOpen;
    while (!path.empty()) {
      auto& [id, next] = path.back();
      const Node& node = program.node(id);
      if (next == node.operands.size()) {
        marks[id.value] = Mark::kDone;
        order.push_back(id);
        path.pop_back();
        continue;
      }
      const NodeId operand = node.operands[next++].node;
      if (marks[operand.value] == Mark::kOpen) return std::nullopt;
      if (marks[operand.value] == Mark::kDone) continue;
      marks[operand.value] = Mark::kOpen;
      path.push_back({operand, 0});
    }
  }
  return order;
}

Cut smallest_cut(const Program& program, std::span<const NodeId> order) {
  Cut cut(program.size());
  for (NodeId id : program.roots()) cut.insert(id);
  for (NodeId id : order) {
    const Node& node = program.node(id);
    if (is_opaque(node)) cut.insert(id);
    if (reads_memory(node))
      for (const graph::Edge& edge : node.operands) cut.insert(edge.node);
  }
  return cut;
}

Cut largest_cut(const Program& program, std::span<const NodeId> order) {
  Cut cut = smallest_cut(program, order);
  for (NodeId id : order)
    if (!is_free_to_compute(program.node(id))) cut.insert(id);
  return cut;
}

std::vector<NodeId> optional_nodes(const Program& program, std::span<const NodeId> order) {
  const Cut smallest = smallest_cut(program, order);
  std::vector<NodeId> result;
  for (NodeId id : order)
    if (!smallest.contains(id) && !is_free_to_compute(program.node(id))) result.push_back(id);
  return result;
}

}  // namespace luminal::kernel
