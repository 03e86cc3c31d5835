#include "luminal/codegen/llvm/scan_plan.h"

#include <algorithm>

namespace luminal::codegen {
namespace {

using graph::Op;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using symbolic::Expr;

/// The one reduction below the roots; nothing if there are others.
std::optional<BodyId> only_reduction(const Arena& arena, const kernel::Kernel& kernel) {
  std::vector<BodyId> roots;
  for (const kernel::Root& root : kernel.roots) {
    if (arena[root.value].height > 1) return std::nullopt;
    roots.push_back(root.value);
  }
  std::optional<BodyId> result;
  for (const BodyId id : arena.reachable(roots)) {
    if (arena[id].kind != BodyKind::kReduce) continue;
    if (result) return std::nullopt;
    result = id;
  }
  return result;
}

graph::Scalar identity_of(Op op, graph::DType dtype) {
  if (op == Op::kReduceMax) return graph::Scalar::lowest(dtype);
  return graph::Scalar::of(dtype, op == Op::kProd ? 1 : 0);
}

/// Whether a test says that an element counts for a result; fills in which do.
bool is_order(const Expr& test, const Expr& result, const Expr& element, ScanPlan& plan) {
  const auto holds_if = [&](const Expr& distance, bool backward, bool exclusive) {
    if (test != symbolic::greater_equal(distance, exclusive ? 1 : 0)) return false;
    plan.backward = backward;
    plan.exclusive = exclusive;
    return true;
  };
  return holds_if(result - element, false, false) || holds_if(result - element, false, true) ||
         holds_if(element - result, true, false) || holds_if(element - result, true, true);
}

}  // namespace

Recognised<ScanPlan> match_scan(Arena& arena, const kernel::Kernel& kernel) {
  const auto found = only_reduction(arena, kernel);
  if (!found) return Refusal{"it has not exactly one reduction"};
  const BodyNode reduction = arena[*found];
  const BodyNode choice = arena[reduction.children[0]];
  if (reduction.exprs.size() != 1 || choice.kind != BodyKind::kWhere)
    return Refusal{"what is reduced is not chosen by position"};
  const BodyNode& otherwise = arena[choice.children[1]];
  if (otherwise.kind != BodyKind::kConstant ||
      otherwise.constant != identity_of(reduction.op, reduction.dtype))
    return Refusal{"elements that are not chosen count too"};
  const Expr element = reduction.exprs[0];
  ScanPlan plan{*found, reduction.op, reduction.dtype, {}, 0, false, false, {}};
  std::vector<Expr> other_tests;
  for (const Expr& test : choice.exprs) {
    const bool taken = plan.axis.is_axis();
    for (const Expr& axis : kernel.axes)
      if (!taken && axis.is_axis() && axis.axis_extent() == element.axis_extent() &&
          is_order(test, axis, element, plan))
        plan.axis = axis;
    if (taken || !plan.axis.is_axis()) other_tests.push_back(test);
  }
  if (!plan.axis.is_axis())
    return Refusal{"elements are not chosen by whether they stand before the result"};
  BodyId value = choice.children[0];
  if (!other_tests.empty()) value = arena.where(other_tests, value, choice.children[1]);
  if (kernel::contains(arena[value].free, plan.axis))
    return Refusal{"the elements are others for every result"};
  const symbolic::Binding here{element, plan.axis};
  plan.value = arena.substitute(value, std::span(&here, 1));
  for (const Expr& axis : kernel.axes)
    if (axis.is_axis() && axis != plan.axis) plan.outer.push_back(axis);
  return plan;
}

}  // namespace luminal::codegen
