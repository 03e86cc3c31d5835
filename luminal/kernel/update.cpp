#include "luminal/kernel/update.h"

#include "luminal/symbolic/node.h"

namespace luminal::kernel {
namespace {

/// low <= axis < high.
struct Region {
  Expr axis;
  std::optional<Expr> low, high;
};

/// Adds what a test says, if it bounds one axis by something that has none.
bool add_test(const Expr& test, Region& region) {
  // 1 - (e >= 0) is how e < 0 may be written.
  const bool negated = !symbolic::is_test(test.node());
  const Expr atom = negated ? symbolic::logical_not(test) : test;
  const symbolic::Node* node = atom.node();
  if (!symbolic::is_test(node) || (negated && node->kind == symbolic::Kind::kZero)) return false;
  const Expr inner = negated ? -node->operands[0] - 1 : node->operands[0];
  const std::optional<symbolic::Affine> affine = as_affine(inner);
  if (!affine || affine->terms.size() != 1) return false;
  const Expr& axis = affine->terms[0].axis;
  if (is_value_axis(axis) || (region.axis.is_axis() && region.axis != axis)) return false;
  region.axis = axis;
  const bool up = affine->terms[0].coefficient.is_constant(1);
  const bool down = affine->terms[0].coefficient.is_constant(-1);
  if (!up && !down) return false;
  const Expr border = up ? -affine->constant : affine->constant;  // where the inner part is 0
  const bool equality = node->kind == symbolic::Kind::kZero;
  if ((equality || up) && region.low) return false;
  if ((equality || down) && region.high) return false;
  if (equality || up) region.low = border;
  if (equality || down) region.high = border + 1;
  return true;
}

}  // namespace

std::optional<RegionUpdate> match_region_update(Arena& arena, const Kernel& kernel) {
  if (kernel.roots.size() != 1) return std::nullopt;
  const Root& root = kernel.roots[0];
  const BodyNode value = arena[root.value];
  if (value.kind != BodyKind::kWhere) return std::nullopt;
  const BodyNode old = arena[value.children[1]];
  const bool same_place = old.kind == BodyKind::kLoad && old.exprs == root.store &&
                          arena.tensor(old.tensor) == arena.tensor(root.tensor);
  if (!same_place) return std::nullopt;
  Region region;
  for (const Expr& test : value.exprs)
    if (!add_test(test, region)) return std::nullopt;
  // What would lie outside of the axis is left out; dims decide whether anything is left.
  const Expr end = region.axis.axis_extent();
  const Expr low = symbolic::max(region.low.value_or(0), 0);
  const Expr high = symbolic::min(region.high.value_or(end), end);
  const Expr extent = symbolic::max(high - low, 0);
  RegionUpdate update{old.tensor, {}};
  std::vector<symbolic::Binding> bindings;
  for (const Expr& axis : kernel.axes) {
    const auto next = static_cast<int64_t>(update.kernel.axes.size());
    const bool restricted = axis == region.axis;
    const Expr fresh = Expr::axis(next, restricted ? extent : axis.axis_extent());
    if (fresh.is_axis()) update.kernel.axes.push_back(fresh);
    const Expr replacement = restricted ? low + fresh : fresh;
    if (replacement != axis) bindings.push_back({axis, replacement});
  }
  Root inside{root.tensor, arena.substitute(value.children[0], bindings), root.store};
  for (Expr& position : inside.store) position = symbolic::substitute(position, bindings);
  update.kernel.roots = {std::move(inside)};
  return update;
}

}  // namespace luminal::kernel
