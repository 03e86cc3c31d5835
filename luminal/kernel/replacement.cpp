#include "luminal/kernel/replacement.h"

#include "luminal/support/check.h"

namespace luminal::kernel {

BodyId Replacement::operator()(BodyId id) {
  if (const auto found = memo_.find(id.value); found != memo_.end()) return found->second;
  const BodyNode node = arena_[id];
  BodyId result = id;
  if (node.index_values.empty()) {
    std::vector<BodyId> children;
    for (const BodyId child : node.children) children.push_back((*this)(child));
    result = arena_.with_children(id, std::move(children));
  } else {
    result = with_index_values(node);
  }
  memo_.emplace(id.value, result);
  return result;
}

BodyId Replacement::with_index_values(const BodyNode& node) {
  std::vector<Expr> exprs = node.exprs;
  for (Expr& expr : exprs) {
    std::vector<symbolic::Binding> bindings;
    for (const Expr& axis : std::vector<Expr>(expr.axes()))
      if (is_value_axis(axis))
        bindings.push_back(
            {axis, arena_.index_value((*this)(body_of_value(axis)), axis.axis_extent())});
    expr = symbolic::substitute(expr, bindings);
  }
  if (node.kind == BodyKind::kLoad) return arena_.load(node.tensor, exprs);
  if (node.kind == BodyKind::kIota) return arena_.iota(exprs[0], node.dtype);
  LUMINAL_CHECK(node.kind == BodyKind::kWhere, "a node with index values");
  return arena_.where(exprs, (*this)(node.children[0]), (*this)(node.children[1]));
}

}  // namespace luminal::kernel
