#include "luminal/kernel/cut_search.h"

#include "luminal/kernel/climb.h"
#include "luminal/kernel/compared_sums.h"
#include "luminal/kernel/launch_groups.h"
#include "luminal/kernel/store_through.h"
#include "luminal/support/check.h"

namespace luminal::kernel {

using graph::Node;

std::optional<CutPlan> plan_cut(Arena& arena, const Program& program, const Cut& given,
                                const CutSearchOptions& options) {
  CutCosts costs(arena, program, options);
  const Cut cut = with_compared_sums(program, given, costs);
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
    plan.launches = launches_by_rule(arena, program, plan);
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
