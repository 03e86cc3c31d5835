#include "luminal/compiler/outline_chain.h"

#include <algorithm>

#include "luminal/support/hash.h"

namespace luminal::compiler {
namespace {

using graph::Edge;
using graph::Node;
using support::hash_combine;

constexpr uint32_t kNone = UINT32_MAX;

/// What an operand from outside of its segment is hashed as.
enum class Outside : uint64_t { kBorder = 1, kCarried = 2, kData = 3, kElsewhere = 4 };

class Cutter {
 public:
  Cutter(const graph::Graph& graph, const NodeLabels& labels, const std::vector<bool>& taken,
         size_t most_carried)
      : graph_(graph), labels_(labels), taken_(taken), most_carried_(most_carried) {}

  Segments cut(std::vector<NodeId> borders) {
    result_.borders = std::move(borders);
    result_.of_node.assign(graph_.size(), 0);
    result_.hashes.assign(result_.borders.size(), 0);
    result_.sizes.assign(result_.borders.size(), 0);
    result_.carried.assign(result_.borders.size(), 0);
    broken_.assign(result_.borders.size(), false);
    border_at_.assign(graph_.size(), kNone);
    for (uint32_t k = 0; k < result_.borders.size(); ++k) border_at_[result_.borders[k].value] = k;
    place_by_operands();
    place_by_users();
    count_carried();
    hash();
    return std::move(result_);
  }

 private:
  size_t count() const { return result_.borders.size(); }
  uint32_t segment(NodeId id) const { return result_.of_node[id.value]; }

  /// A node that depends on border k - 1 but not on border k is in segment k.
  void place_by_operands() {
    std::vector<uint32_t> above(graph_.size(), kNone);  // the last border a node depends on
    for (uint32_t id = result_.borders.front().value; id < graph_.size(); ++id) {
      uint32_t last = kNone;
      for (const Edge& edge : graph_.nodes()[id].operands) {
        const uint32_t border = border_at_[edge.node.value];
        const uint32_t from = border != kNone ? border : above[edge.node.value];
        if (from != kNone && (last == kNone || from > last)) last = from;
      }
      above[id] = last;
      if (const uint32_t border = border_at_[id]; border != kNone) {
        if (border > 0 && last != border - 1) broken_[border] = true;
        result_.of_node[id] = border;
      } else if (last != kNone && last + 1 < count()) {
        result_.of_node[id] = last + 1;
      }
    }
  }

  /// What a single segment needs belongs there: weights made ready, what is computed from a value
  /// that all instances read.
  void place_by_users() {
    constexpr uint32_t kShared = UINT32_MAX - 1;
    std::vector<uint32_t> wanted(graph_.size(), kNone);  // by whom
    for (const graph::Output& output : graph_.outputs()) wanted[output.edge.node.value] = kShared;
    for (uint32_t id = static_cast<uint32_t>(graph_.size()); id-- > 0;) {
      const Node& node = graph_.nodes()[id];
      const bool placeable = border_at_[id] == kNone && !is_data(node) && !is_free(node) &&
                             !graph::has_effect(node.op);
      const bool alone = wanted[id] != kNone && wanted[id] != kShared;
      // What the next segment needs is carried there.
      const uint32_t here = result_.of_node[id];
      if (placeable && alone && (here == 0 || wanted[id] > here + 1))
        result_.of_node[id] = wanted[id];
      const uint32_t by = result_.of_node[id];
      for (const Edge& edge : node.operands) {
        uint32_t& who = wanted[edge.node.value];
        who = who == kNone || who == by ? by : kShared;
      }
    }
  }

  /// Segments must hand on few values.
  void count_carried() {
    std::vector<bool> counted(graph_.size(), false);
    for (uint32_t id = 0; id < graph_.size(); ++id) {
      const uint32_t here = result_.of_node[id];
      if (here == 0) continue;
      if (taken_[id]) broken_[here] = true;
      ++result_.sizes[here];
      for (const Edge& edge : graph_.nodes()[id].operands) {
        const bool border = border_at_[edge.node.value] + 1 == here;
        const bool before = segment(edge.node) != 0 && segment(edge.node) + 1 == here;
        if ((!border && !before) || counted[edge.node.value]) continue;
        counted[edge.node.value] = true;
        ++result_.carried[here];
      }
    }
    for (size_t k = 0; k < count(); ++k)
      if (result_.carried[k] > most_carried_) broken_[k] = true;
  }

  /// The sum of hashes of the nodes: their order does not matter.
  void hash() {
    std::vector<uint64_t> relative(graph_.size(), 0);
    for (uint32_t id = 0; id < graph_.size(); ++id) {
      const uint32_t here = result_.of_node[id];
      if (here == 0) continue;
      uint64_t value = labels_.label(NodeId{id});
      for (const Edge& edge : graph_.nodes()[id].operands)
        value = hash_combine(value, operand_hash(edge.node, here, relative));
      relative[id] = value;
      result_.hashes[here] += support::mix64(value);
    }
    for (size_t k = 0; k < count(); ++k)
      if (broken_[k] || k == 0) result_.hashes[k] = 0;
  }

  uint64_t operand_hash(NodeId id, uint32_t here, const std::vector<uint64_t>& relative) const {
    const auto tagged = [&](Outside kind, uint64_t what) {
      return hash_combine(static_cast<uint64_t>(kind), what);
    };
    if (border_at_[id.value] + 1 == here) return tagged(Outside::kBorder, 0);
    const Node& node = graph_.node(id);
    if (is_data(node)) return tagged(Outside::kData, labels_.label(id));
    const uint32_t there = segment(id);
    if (there == here) return relative[id.value];
    if (there != 0 && there + 1 == here) return tagged(Outside::kCarried, labels_.label(id));
    return tagged(Outside::kElsewhere, labels_.history(id));
  }

  const graph::Graph& graph_;
  const NodeLabels& labels_;
  const std::vector<bool>& taken_;
  size_t most_carried_;
  Segments result_;
  std::vector<bool> broken_;
  std::vector<uint32_t> border_at_;  // by node: which border it is
};

}  // namespace

Segments cut_at(const graph::Graph& graph, const NodeLabels& labels, std::vector<NodeId> borders,
                const std::vector<bool>& taken, size_t most_carried) {
  return Cutter(graph, labels, taken, most_carried).cut(std::move(borders));
}

std::vector<Run> find_runs(const Segments& segments, size_t longest_period) {
  std::vector<Run> runs;
  const std::vector<uint64_t>& hashes = segments.hashes;
  for (size_t period = 1; period <= longest_period && 2 * period < hashes.size(); ++period) {
    size_t first = 1;
    for (size_t k = 1; k < hashes.size(); ++k) {
      const bool repeats =
          k + period < hashes.size() && hashes[k] != 0 && hashes[k] == hashes[k + period];
      if (repeats) continue;
      // Segments first .. k - 1 equal those a period later.
      const size_t equal = k - first;
      if (equal >= period) {
        Run run{first, period, (equal + period) / period, 0,
                std::max<size_t>(1, segments.carried[first + period])};
        for (size_t s = first + period; s < first + period * run.instances; ++s)
          run.saved += segments.sizes[s];
        runs.push_back(run);
      }
      first = k + 1;
    }
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](const Run& a, const Run& b) { return a.saved > b.saved; });
  const size_t several = runs.size();
  for (size_t k = 1; k < hashes.size(); ++k)
    if (hashes[k] != 0)
      runs.push_back({k, 1, 1, segments.sizes[k], std::max<size_t>(1, segments.carried[k])});
  std::stable_sort(runs.begin() + static_cast<std::ptrdiff_t>(several), runs.end(),
                   [](const Run& a, const Run& b) { return a.saved > b.saved; });
  return runs;
}

}  // namespace luminal::compiler
