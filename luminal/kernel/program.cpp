#include "luminal/kernel/program.h"

#include <algorithm>
#include <set>

#include "luminal/graph/repeat.h"

namespace luminal::kernel {
namespace {

using graph::Node;
using graph::Op;

bool is_scalar_constant(const Node& node) {
  return node.op == Op::kConstant && node.attribute<graph::ConstantAttribute>().value.size() == 1;
}

/// Walks from the result up to the operands. `seen_by` says which definition saw a node last.
NamedRegion region_of(const graph::Graph& graph, const graph::NamedDefinition& definition,
                      std::vector<size_t>& seen_by, size_t number) {
  NamedRegion region{definition.result.node, {}, 0, {}};
  for (const graph::Edge& operand : definition.operands) {
    seen_by[operand.node.value] = number;
    region.operands.push_back(operand.node);
  }
  std::vector<NodeId> pending{region.result};
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (seen_by[id.value] == number) continue;
    seen_by[id.value] = number;
    if (id != region.result) region.inside.push_back(id);
    for (const graph::Edge& edge : graph.node(id).operands) pending.push_back(edge.node);
  }
  std::sort(region.inside.begin(), region.inside.end());
  return region;
}

}  // namespace

GraphProgram::GraphProgram(const graph::Graph& graph) : graph_(graph) {
  std::set<NodeId> known;
  const auto add_root = [&](NodeId id) {
    if (known.insert(id).second) roots_.push_back(id);
  };
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
    add_root(id);
  }
  for (NodeId id : graph.ids())
    if (graph::has_effect(graph.node(id).op)) add_root(id);
  std::vector<size_t> seen_by(graph.size(), 0);
  for (size_t k = 0; k < graph.named().size(); ++k) {
    if (graph::is_repeat(graph.named()[k])) continue;  // a layer is no kernel
    regions_.push_back(region_of(graph, graph.named()[k], seen_by, k + 1));
    regions_.back().definition = k;
  }
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

support::Hash128 definition_hash(const Node& node) {
  support::Hasher hasher;
  hasher.add(node.op).add(node.dtype());
  for (const graph::Expr& extent : node.shape()) hasher.add(extent.hash());
  for (const graph::Edge& edge : node.operands) edge.view.add_to(hasher);
  if (is_scalar_constant(node))
    node.attribute<graph::ConstantAttribute>().value.at(0).add_to(hasher);
  if (const auto* iota = std::get_if<graph::IotaAttribute>(&node.attributes))
    hasher.add(iota->value.hash());
  if (const auto* reduce = std::get_if<graph::ReduceAttribute>(&node.attributes))
    hasher.add(reduce->axes);
  return hasher.finish128();
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
      const std::span<const NodeId> awaited = program.awaited(id);
      if (next == node.operands.size() + awaited.size()) {
        marks[id.value] = Mark::kDone;
        order.push_back(id);
        path.pop_back();
        continue;
      }
      const size_t k = next++;
      const NodeId operand =
          k < node.operands.size() ? node.operands[k].node : awaited[k - node.operands.size()];
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
