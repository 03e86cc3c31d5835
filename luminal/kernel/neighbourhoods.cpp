#include "luminal/kernel/neighbourhoods.h"

#include "luminal/support/hash.h"

namespace luminal::kernel {
namespace {

using support::hash_combine;

/// As far as moves are made around a change.
constexpr int kRadius = 3;

/// Like definition_hash, but which part of a tensor is read does not count: steps of a recurrence
/// look alike.
uint64_t likeness(const graph::Node& node) {
  support::Hasher hasher;
  hasher.add(node.op).add(node.dtype());
  for (const Expr& extent : node.shape()) hasher.add(extent.hash());
  for (const graph::Edge& edge : node.operands) {
    for (const Expr& extent : edge.view.domain()) hasher.add(extent.hash());
    for (const Expr& position : edge.view.index()) {
      hasher.add(-1);
      for (const Expr& axis : position.axes()) hasher.add(axis.axis_id());
    }
    hasher.add(edge.view.conditions().empty());
  }
  return hasher.finish64();
}

uint64_t label_alone(const ChoiceProgram& program, const Cut& cut, NodeId id) {
  support::Hasher hasher;
  hasher.add(likeness(program.node(id))).add(cut.contains(id)).add(program.part(id));
  return hasher.add(program.repeats(id)).finish64();
}

}  // namespace

void FailedChanges::look(const ChoiceProgram& program, const Cut& cut) {
  const auto size = static_cast<uint32_t>(program.size());
  labels_.clear();
  for (uint32_t k = 0; k < size; ++k) labels_.push_back(label_alone(program, cut, NodeId{k}));
  for (int step = 0; step < kRadius; ++step) {
    // Users are added up, since their order means nothing.
    std::vector<uint64_t> used(size, 0), next(size, 0);
    for (uint32_t k = 0; k < size; ++k) {
      next[k] = labels_[k];
      for (const graph::Edge& edge : program.node(NodeId{k}).operands) {
        next[k] = hash_combine(next[k], labels_[edge.node.value]);
        used[edge.node.value] += support::mix64(labels_[k]);
      }
    }
    for (uint32_t k = 0; k < size; ++k) labels_[k] = hash_combine(next[k], used[k]);
  }
}

bool FailedChanges::contains_or_insert(const ChoiceProgram& program, std::span<const Pick> picks) {
  support::Hasher hasher;
  for (const Pick& pick : picks) {
    if (program.choice(pick.node) == pick.definition) continue;
    const graph::Node& definition = program.definition(pick.node, pick.definition);
    hasher.add(labels_[pick.node.value]).add(likeness(definition));
    for (const graph::Edge& edge : definition.operands) hasher.add(labels_[edge.node.value]);
  }
  return !failed_.insert(hasher.finish64()).second;
}

}  // namespace luminal::kernel
