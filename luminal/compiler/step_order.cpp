#include "luminal/compiler/step_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "luminal/support/check.h"

namespace luminal::compiler {
namespace {

using graph::Node;
using graph::NodeId;

class Orderer {
 public:
  /// `launches`: kernels that are one unit.
  Orderer(const kernel::Program& program, const kernel::CutPlan& cut,
          std::span<const std::vector<size_t>> launches)
      : program_(program) {
    const std::vector<NodeId> order = *kernel::topological_order(program);
    for (size_t k = 0; k < order.size(); ++k) position_[order[k]] = k;
    for (const std::vector<size_t>& launch : launches) {
      WorkUnit unit{WorkUnit::Kind::kKernel, launch, cut.kernels[launch[0]].nodes.back(), {}, {}};
      for (const size_t k : launch) {
        const kernel::PlannedKernel& kernel = cut.kernels[k];
        unit.writes.insert(unit.writes.end(), kernel.nodes.begin(), kernel.nodes.end());
        unit.reads.insert(unit.reads.end(), kernel.reads.begin(), kernel.reads.end());
      }
      add(std::move(unit));
    }
    for (const NodeId id : order) {
      const Node& node = program.node(id);
      // Graph breaks are kernels that nothing is fused across.
      if (!kernel::is_opaque(node) || kernel::is_source(node) || node.op == graph::Op::kGraphBreak)
        continue;
      WorkUnit unit{WorkUnit::Kind::kHost, {}, id, {id}, {}};
      for (const graph::Edge& edge : node.operands) unit.reads.push_back(edge.node);
      add(std::move(unit));
    }
  }

  void add_check(const PlacedCheck& check) {
    add({WorkUnit::Kind::kCheck, {}, check.gather, {}, {check.index}});
  }

  /// Nothing if units wait for each other.
  std::optional<std::vector<WorkUnit>> run(const kernel::CutPlan& cut) {
    find_edges();
    for (size_t k = 0; k < units_.size(); ++k)
      for (const size_t kernel : units_[k].kernels) {
        const auto& updated = cut.kernels[kernel].estimate.in_place_of;
        if (updated && !kernel::is_source(program_.node(*updated))) readers_first(*updated, k);
      }
    return sorted();
  }

 private:
  void add(WorkUnit unit) {
    const size_t number = units_.size();
    for (const NodeId id : unit.writes) writer_[id] = number;
    size_t key = 0;
    for (const NodeId id : unit.writes) key = std::max(key, position_.at(id));
    if (unit.kind == WorkUnit::Kind::kCheck)  // as soon as it can
      for (const NodeId id : unit.reads)
        if (const auto at = position_.find(id); at != position_.end()) key = at->second;
    keys_.push_back(key);
    units_.push_back(std::move(unit));
  }

  void find_edges() {
    after_.resize(units_.size());
    std::map<size_t, size_t> effects;  // by position
    for (size_t k = 0; k < units_.size(); ++k) {
      for (const NodeId read : units_[k].reads)
        if (const auto found = writer_.find(read); found != writer_.end())
          after_[found->second].insert(k);
      if (units_[k].kind == WorkUnit::Kind::kHost &&
          graph::has_effect(program_.node(units_[k].node).op))
        effects[units_[k].node.value] = k;
    }
    // The first check that fails is the one that the interpreter reports.
    for (size_t k = 1; k < units_.size(); ++k)
      if (units_[k - 1].kind == WorkUnit::Kind::kCheck && units_[k].kind == WorkUnit::Kind::kCheck)
        after_[k - 1].insert(k);
    const size_t* previous = nullptr;
    for (const auto& [node, unit] : effects) {
      if (previous != nullptr && !reaches(unit, *previous)) after_[*previous].insert(unit);
      previous = &unit;
    }
  }

  /// The other readers of a tensor run before the unit that writes over it, where they can.
  void readers_first(NodeId tensor, size_t writer) {
    for (size_t k = 0; k < units_.size(); ++k) {
      const auto& reads = units_[k].reads;
      if (k == writer || std::find(reads.begin(), reads.end(), tensor) == reads.end()) continue;
      if (!reaches(writer, k)) after_[k].insert(writer);
    }
  }

  bool reaches(size_t from, size_t to) const {
    std::vector<bool> seen(units_.size(), false);
    std::vector<size_t> pending{from};
    while (!pending.empty()) {
      const size_t unit = pending.back();
      pending.pop_back();
      if (unit == to) return true;
      if (seen[unit]) continue;
      seen[unit] = true;
      pending.insert(pending.end(), after_[unit].begin(), after_[unit].end());
    }
    return false;
  }

  std::optional<std::vector<WorkUnit>> sorted() {
    std::vector<size_t> waits(units_.size(), 0);
    for (const std::set<size_t>& next : after_)
      for (const size_t unit : next) ++waits[unit];
    std::set<std::pair<size_t, size_t>> ready;
    for (size_t k = 0; k < units_.size(); ++k)
      if (waits[k] == 0) ready.insert({keys_[k], k});
    std::vector<WorkUnit> result;
    while (!ready.empty()) {
      const size_t unit = ready.begin()->second;
      ready.erase(ready.begin());
      result.push_back(units_[unit]);
      for (const size_t next : after_[unit])
        if (--waits[next] == 0) ready.insert({keys_[next], next});
    }
    if (result.size() != units_.size()) return std::nullopt;
    return result;
  }

  const kernel::Program& program_;
  std::map<NodeId, size_t> position_;
  std::vector<WorkUnit> units_;
  std::vector<size_t> keys_;
  std::map<NodeId, size_t> writer_;
  std::vector<std::set<size_t>> after_;  // who waits for each unit
};

}  // namespace

std::vector<WorkUnit> ordered_units(const kernel::Program& program, const kernel::CutPlan& cut,
                                    std::span<const PlacedCheck> checks) {
  const auto order = [&](std::span<const std::vector<size_t>> launches) {
    Orderer orderer(program, cut, launches);
    for (const PlacedCheck& check : checks) orderer.add_check(check);
    return orderer.run(cut);
  };
  if (auto together = order(cut.launches)) return *together;
  std::vector<std::vector<size_t>> apart;
  for (size_t k = 0; k < cut.kernels.size(); ++k) apart.push_back({k});
  auto result = order(apart);
  LUMINAL_CHECK(result.has_value(), "steps wait for each other");
  return *result;
}

}  // namespace luminal::compiler
