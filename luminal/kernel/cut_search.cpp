#include "luminal/kernel/cut_search.h"

#include <algorithm>
#include <map>

#include "luminal/kernel/climb.h"
#include "luminal/kernel/contraction.h"
#include "luminal/kernel/store_through.h"
#include "luminal/support/check.h"

namespace luminal::kernel {
namespace {

using graph::Edge;
using graph::Node;

/// What may share a launch must be alike in kind, so that one schedule suits both.
bool has_contraction(Arena& arena, const Kernel& kernel) {
  for (const Root& root : kernel.roots)
    for (BodyId id : arena.reachable(std::span(&root.value, 1)))
      if (match_contraction(arena, id)) return true;
  return false;
}

/// How many kernels and opaque nodes stand one after the other before each kernel.
class Depths {
 public:
  Depths(const Program& program, const CutPlan& plan) : program_(program) {
    for (const PlannedKernel& kernel : plan.kernels) {  // in an order in which they can run
      size_t deepest = 0;
      for (NodeId read : kernel.reads) deepest = std::max(deepest, of(read) + 1);
      for (NodeId id : kernel.nodes) depths_[id] = deepest;
      levels_.push_back(deepest);
    }
  }
  size_t level(size_t kernel) const { return levels_[kernel]; }

 private:
  size_t of(NodeId id) {
    if (const auto found = depths_.find(id); found != depths_.end()) return found->second;
    size_t deepest = 0;
    for (const Edge& edge : program_.node(id).operands)
      deepest = std::max(deepest, of(edge.node) + 1);
    for (NodeId awaited : program_.awaited(id)) deepest = std::max(deepest, of(awaited) + 1);
    depths_[id] = deepest;
    return deepest;
  }

  const Program& program_;
  std::map<NodeId, size_t> depths_;
  std::vector<size_t> levels_;
};

void group_launches(Arena& arena, const Program& program, CutPlan& plan) {
  const Depths depths(program, plan);
  std::vector<bool> contraction;
  for (const PlannedKernel& kernel : plan.kernels)
    contraction.push_back(has_contraction(arena, kernel.kernel));
  const auto common = [&](size_t a, size_t b) {
    for (NodeId read : plan.kernels[a].reads)
      if (std::binary_search(plan.kernels[b].reads.begin(), plan.kernels[b].reads.end(), read))
        return true;
    return false;
  };
  const auto part = [&](size_t k) {
    const NodeId id = plan.kernels[k].nodes[0];
    return std::pair(program.part(id), program.repeats(id));
  };
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    bool placed = false;
    for (std::vector<size_t>& launch : plan.launches) {
      const size_t first = launch.front();
      // Equal depth means that there is no path between them.
      if (depths.level(first) != depths.level(k) || contraction[first] != contraction[k]) continue;
      if (part(first) != part(k) || !common(first, k)) continue;
      launch.push_back(k);
      placed = true;
      break;
    }
    if (!placed) plan.launches.push_back({k});
  }
}

}  // namespace

std::optional<CutPlan> plan_cut(Arena& arena, const Program& program, const Cut& cut,
                                const CutSearchOptions& options) {
  CutCosts costs(arena, program, options);
  CutPlan plan{cut, {}, {}, 0.0, 0, 0};
  for (NodeId id : costs.order()) {
    const Node& node = program.node(id);
    if (!cut.contains(id) || is_source(node)) continue;
    const CutCosts::Costed& costed = costs.kernel(cut, id);
    plan.microseconds += costed.microseconds;
    if (is_opaque(node) && node.op != Op::kGraphBreak) continue;
    auto derived = derive(arena, program, cut, id, {.most_nodes = options.most_nodes});
    if (std::holds_alternative<Rejected>(derived)) return std::nullopt;
    PlannedKernel planned{{id}, std::get<Kernel>(std::move(derived)), {}, costed.reads};
    planned.estimate = estimate(arena, planned.kernel, options.machine, options.estimate);
    plan.kernels.push_back(std::move(planned));
  }
  if (options.store_through) store_through(arena, program, plan, options);
  if (options.group_launches)
    group_launches(arena, program, plan);
  else
    for (size_t k = 0; k < plan.kernels.size(); ++k) plan.launches.push_back({k});
  for (const std::vector<size_t>& launch : plan.launches)
    plan.microseconds -= options.machine.launch_us * static_cast<double>(launch.size() - 1) *
                         program.repeats(plan.kernels[launch[0]].nodes[0]);
  return plan;
}

PlannedKernel written_out(Arena& arena, const Program& program, const CutPlan& plan, size_t k) {
  PlannedKernel result = plan.kernels[k];
  if (!result.copy) return result;
  const PlannedKernel& original = plan.kernels[result.copy->of];
  for (const Renaming& name : result.copy->tensors)
    arena.declare_tensor(name.to, program.node(name.to).type);
  result.kernel = renamed(arena, original.kernel, result.copy->tensors, arena);
  result.estimate.kernel = renamed(arena, original.estimate.kernel, result.copy->tensors, arena);
  result.copy.reset();
  return result;
}

CutPlan search_cut(Arena& arena, const Program& program, const CutSearchOptions& options) {
  CutCosts costs(arena, program, options);
  const BestCut best = best_cut(costs, program, options);
  std::optional<CutPlan> plan = plan_cut(arena, program, best.cut, options);
  LUMINAL_CHECK(plan.has_value(), "even one kernel per node is rejected");
  plan->estimated = costs.estimated();
  plan->work = costs.work();
  return *plan;
}

}  // namespace luminal::kernel
