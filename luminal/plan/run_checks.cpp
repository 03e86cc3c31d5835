#include "luminal/plan/run_checks.h"

#include "luminal/graph/interpreter_steps.h"
#include "luminal/graph/query.h"

namespace luminal::plan {

RunChecks::RunChecks(const Plan& plan) : plan_(plan), view_checks_(view_checks(plan.graph)) {
  for (const IndexCheck& check : index_checks(plan_.graph)) {
    if (!check.from_dims) continue;
    const graph::Node& gather = plan_.graph.node(check.gather);
    graph::Subgraph part = graph::extract(plan_.graph, std::span(&gather.operands[0].node, 1));
    dims_checks_.push_back({gather, graph::make_interpreter(std::move(part.graph))});
  }
}

void RunChecks::bind(const graph::DimBindings& dims) {
  dims_ = dims;
  for (const ViewCheck& check : view_checks_) check_view(check, dims_);
  for (const DimsCheck& check : dims_checks_) {
    graph::RunRequest part;
    for (const auto& [name, interval] : check.positions->graph().dims())
      for (const symbolic::Binding& dim : dims_)
        if (dim.symbol.name() == name) part.dims[name] = *dim.value.constant_value();
    check_positions(check.gather, check.positions->run(part)[0], dims_);
  }
  find_quick_bounds();
}

/// The bound of positions that a look at each of them can compare with.
void RunChecks::find_quick_bounds() {
  quick_bounds_.assign(plan_.steps.size(), 0);
  for (size_t k = 0; k < plan_.steps.size(); ++k) {
    const auto* check = std::get_if<CheckStep>(&plan_.steps[k].action);
    if (check == nullptr || !check->gather.operands[0].view.conditions().empty() ||
        !stays_inside(check->gather.operands[1].view, dims_))
      continue;
    const Expr& extent = check->gather.operands[1].view.domain().back();
    quick_bounds_[k] = *symbolic::substitute(extent, dims_).constant_value();
  }
}

bool RunChecks::quickly_in_range(size_t step, const std::byte* positions,
                                 const graph::Extents& extents) const {
  const size_t buffer = std::get<CheckStep>(plan_.steps[step].action).index;
  return plan::quickly_in_range(plan_.buffers[buffer].type.dtype, positions,
                                graph::element_count(extents), quick_bounds_[step]);
}

void RunChecks::check(size_t step, const graph::Array& positions) const {
  check_positions(std::get<CheckStep>(plan_.steps[step].action).gather, positions, dims_);
}

}  // namespace luminal::plan
