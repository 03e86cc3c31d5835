#include "luminal/kernel/climb.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>

namespace luminal::kernel {
namespace {

using graph::Edge;
using graph::Node;

/// The axes of a view's domain that its index uses.
std::set<int> axes_used(const graph::View& view) {
  std::set<int> axes;
  for (const Expr& expr : view.index())
    for (const Expr& axis : expr.axes()) axes.insert(static_cast<int>(axis.axis_id()));
  return axes;
}

/// A sum of products of which each side has axes of its own.
bool is_contraction(const Program& program, const Node& node) {
  if (node.op != Op::kSum) return false;
  const Node& product = program.node(node.operands[0].node);
  if (product.op != Op::kMul) return false;
  const std::set<int> a = axes_used(product.operands[0].view);
  const std::set<int> b = axes_used(product.operands[1].view);
  return !std::includes(a.begin(), a.end(), b.begin(), b.end()) ||
         !std::includes(b.begin(), b.end(), a.begin(), a.end());
}

/// A cut that is improved move by move. Costs of kernels that a move leaves alone are not asked for
/// again.
class Climber {
 public:
  /// `near`: where moves are made, by node; everywhere if it is empty.
  Climber(CutCosts& costs, const Program& program, const std::vector<bool>& near)
      : costs_(costs), program_(program) {
    const std::vector<NodeId> optional = optional_nodes(program, costs.order());
    for (NodeId id : optional)
      if (near.empty() || near[id.value]) candidates_.push_back(id);
    for (const NamedRegion& region : program.named_regions())
      if (near.empty() || near[region.result.value]) regions_near_.push_back(&region);
    users_.resize(program.size());
    for (NodeId id : costs.order())
      for (const Edge& edge : program.node(id).operands) {
        std::vector<NodeId>& users = users_[edge.node.value];
        if (users.empty() || users.back() != id) users.push_back(id);
      }
    is_named_.resize(program.size(), false);
    for (const NamedRegion& region : program.named_regions()) is_named_[region.result.value] = true;
    is_optional_.resize(program.size(), false);
    for (NodeId id : optional) is_optional_[id.value] = true;
  }

  double climb(Cut& cut) {
    start(cut);
    bool improved = true;
    while (improved) {
      improved = false;
      for (NodeId id : candidates_)
        for (const std::vector<NodeId>& move : moves(cut, id))
          improved = attempt(cut, move) || improved;
      for (const NamedRegion* region : regions_near_)
        for (const std::vector<NodeId>& move : moves(cut, *region))
          improved = attempt(cut, move) || improved;
    }
    // Sums of many moves would drift, and infinities do not cancel.
    double total = 0.0;
    for (const auto& [kernel, costed] : kernels_) total += costed->microseconds;
    return total;
  }

 private:
  void start(const Cut& cut) {
    kernels_.clear();
    regions_.assign(program_.size(), {});
    for (NodeId id : costs_.order())
      if (cut.contains(id) && !is_source(program_.node(id))) add(id, costs_.kernel(cut, id));
  }

  void add(NodeId id, const CutCosts::Costed& costed) {
    kernels_[id] = &costed;
    for (NodeId inside : costed.region) regions_[inside.value].insert(id);
    for (NodeId read : costed.reads) regions_[read.value].insert(id);
  }

  void remove(NodeId id) {
    const CutCosts::Costed& costed = *kernels_.at(id);
    for (NodeId inside : costed.region) regions_[inside.value].erase(id);
    for (NodeId read : costed.reads) regions_[read.value].erase(id);
    kernels_.erase(id);
  }

  /// Nodes to toggle together.
  std::vector<std::vector<NodeId>> moves(const Cut& cut, NodeId id) const {
    std::vector<std::vector<NodeId>> result{{id}};
    if (!cut.contains(id)) return result;
    std::vector<NodeId> all{id};
    for (NodeId user : users_[id.value]) {
      if (!is_optional_[user.value] || cut.contains(user)) continue;
      result.push_back({id, user});  // slide to a consumer
      all.push_back(user);
    }
    if (all.size() > 2) result.push_back(all);
    for (const Edge& edge : program_.node(id).operands)  // slide to a producer
      if (is_optional_[edge.node.value] && !cut.contains(edge.node) && edge.node != id)
        result.push_back({id, edge.node});
    for (NodeId inside : kernels_.at(id)->region)  // or to a definition further up
      if (is_named_[inside.value] && is_optional_[inside.value] && inside != id)
        result.push_back({id, inside});
    return result;
  }

  /// The inside of a named definition fused, its result materialised or not, and what it is applied
  /// to as it is or materialised too: a template may take nothing but what lies in memory.
  std::vector<std::vector<NodeId>> moves(const Cut& cut, const NamedRegion& region) const {
    std::vector<NodeId> fused;
    for (NodeId id : region.inside)
      if (is_optional_[id.value] && cut.contains(id)) fused.push_back(id);
    if (fused.empty()) return {};
    std::vector<std::vector<NodeId>> result{fused};
    std::vector<NodeId> with_operands = fused;
    for (NodeId id : region.operands)
      if (is_optional_[id.value] && !cut.contains(id) &&
          std::find(with_operands.begin(), with_operands.end(), id) == with_operands.end())
        with_operands.push_back(id);
    if (with_operands.size() > fused.size()) result.push_back(std::move(with_operands));
    if (is_optional_[region.result.value]) {
      for (size_t k = result.size(); k-- > 0;) {
        result.push_back(result[k]);
        result.back().push_back(region.result);
      }
    }
    return result;
  }

  /// Whether these kernels are quicker together under the next cut. Those that were looked at
  /// before come first: mostly they show that it does not pay, and no other has to be derived.
  bool pays(const Cut& cut, const Cut& next, const std::set<NodeId>& affected) {
    double before = 0.0, after = 0.0;
    const auto falls = [&] {
      return after < before - 1e-9 ||
             (before == std::numeric_limits<double>::infinity() && after < before);
    };
    std::vector<NodeId> unknown;
    for (NodeId id : affected) {
      if (cut.contains(id)) before += kernels_.at(id)->microseconds;
      if (!next.contains(id)) continue;
      if (const CutCosts::Costed* costed = costs_.known(next, id))
        after += costed->microseconds;
      else
        unknown.push_back(id);
    }
    for (NodeId id : unknown) {
      if (!falls()) return false;
      const CutCosts::Costed* costed = costs_.affordable(next, id);
      if (costed == nullptr) return false;
      after += costed->microseconds;
    }
    return falls();
  }

  /// Keeps the move if the total falls.
  bool attempt(Cut& cut, const std::vector<NodeId>& toggled) {
    std::set<NodeId> affected;
    for (NodeId id : toggled) affected.insert(regions_[id.value].begin(), regions_[id.value].end());
    Cut next = cut;
    for (NodeId id : toggled) {
      if (cut.contains(id))
        next.erase(id);
      else
        next.insert(id);
      affected.insert(id);
    }
    if (!pays(cut, next, affected)) return false;
    for (NodeId id : affected)
      if (cut.contains(id)) remove(id);
    cut = next;
    for (NodeId id : affected)
      if (cut.contains(id)) add(id, costs_.kernel(cut, id));
    return true;
  }

  CutCosts& costs_;
  const Program& program_;
  std::vector<NodeId> candidates_;
  std::vector<const NamedRegion*> regions_near_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> is_optional_;
  std::vector<bool> is_named_;  // the result of a named definition
  std::map<NodeId, const CutCosts::Costed*> kernels_;
  std::vector<std::set<NodeId>> regions_;  // the kernels that compute or read a node
};

}  // namespace

Cut contraction_cut(const Program& program, std::span<const NodeId> order) {
  Cut cut = smallest_cut(program, order);
  for (NodeId id : order)
    if (is_contraction(program, program.node(id))) cut.insert(id);
  return cut;
}

double climb(CutCosts& costs, const Program& program, Cut& cut) {
  return Climber(costs, program, {}).climb(cut);
}

double climb_near(CutCosts& costs, const Program& program, Cut& cut,
                  const std::vector<bool>& near) {
  return Climber(costs, program, near).climb(cut);
}

BestCut best_cut(CutCosts& costs, const Program& program, const CutSearchOptions& options) {
  std::vector<Cut> seeds{contraction_cut(program, costs.order()),
                         largest_cut(program, costs.order())};
  std::mt19937_64 random(options.seed);
  for (int k = 0; k < options.restarts; ++k) {
    Cut cut = smallest_cut(program, costs.order());
    for (NodeId id : optional_nodes(program, costs.order()))
      if (random() % 2 == 0) cut.insert(id);
    seeds.push_back(std::move(cut));
  }
  BestCut best{seeds[0], std::numeric_limits<double>::infinity()};
  for (Cut& seed : seeds) {
    costs.allow(options.work_per_node * costs.order().size());
    const double time = climb(costs, program, seed);
    if (time < best.microseconds) best = {seed, time};
  }
  return best;
}

}  // namespace luminal::kernel
