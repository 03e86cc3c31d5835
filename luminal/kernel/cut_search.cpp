#include "luminal/kernel/cut_search.h"

#include <algorithm>
#include <map>

#include "luminal/kernel/climb.h"
#include "luminal/kernel/contraction.h"
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

void group_launches(Arena& arena, const Program& program, CutPlan& plan) {
  std::map<NodeId, size_t> depth;  // longest chain of kernels before it
  std::map<NodeId, size_t> kernel_of;
  std::vector<size_t> level(plan.kernels.size());
  std::vector<bool> contraction(plan.kernels.size());
  for (size_t k = 0; k < plan.kernels.size(); ++k) kernel_of[plan.kernels[k].node] = k;
  const std::vector<NodeId> order = *topological_order(program);
  for (NodeId id : order) {
    if (!plan.cut.contains(id)) continue;
    const auto found = kernel_of.find(id);
    size_t deepest = 0;
    if (found != kernel_of.end()) {
      for (NodeId read : plan.kernels[found->second].reads)
        deepest = std::max(deepest, depth[read] + 1);
      level[found->second] = deepest;
      contraction[found->second] = has_contraction(arena, plan.kernels[found->second].kernel);
    } else {
      for (const Edge& edge : program.node(id).operands)
        deepest = std::max(deepest, depth[edge.node] + 1);
    }
    depth[id] = deepest;
  }
  const auto common = [&](size_t a, size_t b) {
    for (NodeId read : plan.kernels[a].reads)
      if (std::binary_search(plan.kernels[b].reads.begin(), plan.kernels[b].reads.end(), read))
        return true;
    return false;
  };
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    bool placed = false;
    for (std::vector<size_t>& launch : plan.launches) {
      const size_t first = launch.front();
      // Equal depth means that there is no path between them.
      if (level[first] != level[k] || contraction[first] != contraction[k]) continue;
      if (!common(first, k)) continue;
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
  CutPlan plan{cut, {}, {}, 0.0, 0};
  for (NodeId id : costs.order()) {
    const Node& node = program.node(id);
    if (!cut.contains(id) || is_source(node)) continue;
    const CutCosts::Costed& costed = costs.kernel(cut, id);
    plan.microseconds += costed.microseconds;
    if (is_opaque(node) && node.op != Op::kGraphBreak) continue;
    auto derived = derive(arena, program, cut, id, {.most_nodes = options.most_nodes});
    if (std::holds_alternative<Rejected>(derived)) return std::nullopt;
    PlannedKernel planned{id, std::get<Kernel>(std::move(derived)), {}, costed.reads};
    planned.estimate = estimate(arena, planned.kernel, options.machine, options.estimate);
    plan.kernels.push_back(std::move(planned));
  }
  group_launches(arena, program, plan);
  plan.microseconds -=
      options.machine.launch_us * static_cast<double>(plan.kernels.size() - plan.launches.size());
  return plan;
}

CutPlan search_cut(Arena& arena, const Program& program, const CutSearchOptions& options) {
  CutCosts costs(arena, program, options);
  const BestCut best = best_cut(costs, program, options);
  std::optional<CutPlan> plan = plan_cut(arena, program, best.cut, options);
  LUMINAL_CHECK(plan.has_value(), "even one kernel per node is rejected");
  plan->estimated = costs.estimated();
  return *plan;
}

}  // namespace luminal::kernel
