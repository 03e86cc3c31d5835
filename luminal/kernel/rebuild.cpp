#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "luminal/kernel/canonical.h"

namespace luminal::kernel {
namespace {

class Rebuilder {
 public:
  Rebuilder(const Arena& from, const CanonicalKernel& names, Arena& into)
      : from_(from), names_(names), into_(into) {
    for (size_t k = 0; k < names.dims.size(); ++k)
      dims_.push_back(
          {names.dims[k], Expr::variable(fmt::format("S{}", k), names.dims[k].bounds())});
    for (const NodeId tensor : names.tensors) {
      graph::TensorType type = from.tensor(tensor);
      for (Expr& extent : type.shape) extent = symbolic::substitute(extent, dims_);
      into.declare_tensor(renamed(tensor), type);
    }
  }

  Kernel run(const Kernel& kernel) {
    for (const BodyId id : names_.order) bodies_.emplace(id, copy(from_[id]));
    Kernel result;
    result.axes = renamed(kernel.axes);
    for (const Root& root : kernel.roots)
      result.roots.push_back({renamed(root.tensor), bodies_.at(root.value), renamed(root.store)});
    return result;
  }

 private:
  NodeId renamed(NodeId tensor) const {
    const auto found = std::find(names_.tensors.begin(), names_.tensors.end(), tensor);
    return NodeId{static_cast<uint32_t>(found - names_.tensors.begin())};
  }

  Expr renamed(const Expr& expr) const {
    std::vector<symbolic::Binding> values;
    for (const Expr& axis : expr.axes())
      if (is_value_axis(axis))
        values.push_back({axis, value_axis(bodies_.at(body_of_value(axis)), axis.axis_extent())});
    return symbolic::substitute(symbolic::substitute(expr, values), dims_);
  }

  std::vector<Expr> renamed(const std::vector<Expr>& exprs) const {
    std::vector<Expr> result;
    for (const Expr& expr : exprs) result.push_back(renamed(expr));
    return result;
  }

  BodyId copy(const BodyNode& node) {
    std::vector<BodyId> children;
    for (const BodyId child : node.children) children.push_back(bodies_.at(child));
    switch (node.kind) {
      case BodyKind::kLoad:
        return into_.load(renamed(node.tensor), renamed(node.exprs));
      case BodyKind::kConstant:
        return into_.constant(node.constant);
      case BodyKind::kIota:
        return into_.iota(renamed(node.exprs[0]), node.dtype);
      case BodyKind::kOp:
        return into_.op(node.op, node.dtype, std::move(children));
      case BodyKind::kWhere:
        return into_.where(renamed(node.exprs), children[0], children[1]);
      case BodyKind::kReduce:
        break;
    }
    return into_.reduce(node.op, renamed(node.exprs), children[0]);
  }

  const Arena& from_;
  const CanonicalKernel& names_;
  Arena& into_;
  std::vector<symbolic::Binding> dims_;
  std::map<BodyId, BodyId> bodies_;
};

}  // namespace

Kernel rebuild(const Arena& arena, const Kernel& kernel, const CanonicalKernel& names,
               Arena& into) {
  return Rebuilder(arena, names, into).run(kernel);
}

}  // namespace luminal::kernel
