// Programs in which a node has several equal definitions, as an e-graph has: the search chooses one
// per node together with the cut. Definitions may refer to each other in circles; a choice that
// does is refused.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "luminal/kernel/cut_search.h"

namespace luminal::kernel {

/// A definition chosen for a node.
struct Pick {
  NodeId node;
  size_t definition = 0;
  bool operator==(const Pick&) const = default;
};

/// Nodes with alternatives. Ids are those of e-classes; each has at least one definition before the
/// program is used.
class ChoiceProgram : public Program {
 public:
  ChoiceProgram(size_t size, std::vector<NodeId> roots)
      : definitions_(size), choice_(size, 0), parts_(size, 0), roots_(std::move(roots)) {}
  /// Every node of another program with its definition there.
  explicit ChoiceProgram(const Program& program);

  /// One more definition; operands refer to ids of this program. All definitions of a node have one
  /// type.
  void add(NodeId id, graph::Node node);
  /// One more id, without a definition yet: a value that only some definitions need.
  NodeId add_node();
  /// One more node that must be computed.
  void add_root(NodeId id) {
    if (std::find(roots_.begin(), roots_.end(), id) == roots_.end()) roots_.push_back(id);
  }
  /// Takes definitions away, never the first of a node; joint choices lose those picks.
  void remove_definitions(const std::function<bool(NodeId, const graph::Node&)>& unwanted);
  void add_region(NamedRegion region) { regions_.push_back(std::move(region)); }

  /// Definitions that pay only if they are chosen together: a hint for the search, which tries them
  /// as one move.
  void add_joint_choice(std::vector<Pick> picks) { joint_choices_.push_back(std::move(picks)); }
  std::span<const std::vector<Pick>> joint_choices() const { return joint_choices_; }

  const graph::Node& definition(NodeId id, size_t k) const { return definitions_[id.value][k]; }
  size_t definitions(NodeId id) const { return definitions_[id.value].size(); }
  size_t choice(NodeId id) const { return choice_[id.value]; }
  void choose(NodeId id, size_t definition) { choice_[id.value] = definition; }
  /// All choices, by node.
  const std::vector<size_t>& choice() const { return choice_; }
  void choose(std::vector<size_t> choice) { choice_ = std::move(choice); }

  size_t size() const override { return definitions_.size(); }
  const graph::Node& node(NodeId id) const override;
  std::span<const NodeId> roots() const override { return roots_; }
  std::span<const NamedRegion> named_regions() const override { return regions_; }
  size_t variant(NodeId id) const override { return choice_[id.value]; }
  uint32_t part(NodeId id) const override { return parts_[id.value]; }
  double repeats(NodeId id) const override {
    const double often = repeats_[parts_[id.value]];
    return is_kept_.empty() || !is_kept_[id.value] ? often : often * kKeptCost;
  }
  /// Marks values that are computed once for many runs, by node: they cost next to nothing.
  void set_kept(std::vector<bool> kept) { is_kept_ = std::move(kept); }
  /// Puts a node into a part that runs so often.
  void set_part(NodeId id, uint32_t part, double repeats);
  std::span<const NodeId> awaited(NodeId id) const override;
  /// Says what is computed before a node although it does not read it.
  void set_awaited(NodeId id, std::vector<NodeId> nodes) { awaited_[id] = std::move(nodes); }

 private:
  /// Weights are set once in so many runs, or seldomer.
  static constexpr double kKeptCost = 1e-3;

  std::vector<std::vector<graph::Node>> definitions_;
  std::vector<size_t> choice_;
  std::vector<uint32_t> parts_;          // by node
  std::vector<bool> is_kept_;            // by node, or empty
  std::vector<double> repeats_ = {1.0};  // by part
  std::map<NodeId, std::vector<NodeId>> awaited_;
  std::vector<NodeId> roots_;
  std::vector<NamedRegion> regions_;
  std::vector<std::vector<Pick>> joint_choices_;
};

/// The best choice and cut found; `program` is left with that choice. It is never estimated worse
/// than the choice that `program` comes with, which must not be cyclic.
CutPlan search_choice(Arena& arena, ChoiceProgram& program, const CutSearchOptions& options = {});

}  // namespace luminal::kernel
