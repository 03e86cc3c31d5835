#include "luminal/kernel/rename.h"

#include <algorithm>
#include <unordered_map>

namespace luminal::kernel {
namespace {

class Renamer {
 public:
  Renamer(const Arena& from, std::span<const Renaming> names, Arena& into)
      : from_(from), into_(into) {
    for (const Renaming& name : names) names_.emplace(name.from.value, name.to);
  }
  Renamer(const Arena& from, const ChangeIndex& change, Arena& into)
      : from_(from), into_(into), change_(&change) {}

  Kernel run(const Kernel& kernel) {
    std::vector<BodyId> values;
    for (const Root& root : kernel.roots) values.push_back(root.value);
    for (BodyId id : from_.reachable(values)) bodies_.emplace(id.value, copied(id));
    Kernel result{kernel.axes, {}};
    for (const Root& root : kernel.roots)
      result.roots.push_back({tensor(root.tensor), bodies_.at(root.value.value), root.store});
    return result;
  }

 private:
  NodeId tensor(NodeId id) const {
    const auto found = names_.find(id.value);
    return found == names_.end() ? id : found->second;
  }

  /// Positions that are values of other bodies follow them.
  std::vector<Expr> exprs(const BodyNode& node) const {
    std::vector<symbolic::Binding> values;
    for (BodyId value : node.index_values)
      for (const Expr& expr : node.exprs)
        for (const Expr& axis : expr.axes())
          if (is_value_axis(axis) && body_of_value(axis) == value)
            values.push_back({axis, value_axis(bodies_.at(value.value), axis.axis_extent())});
    if (values.empty()) return node.exprs;
    std::vector<Expr> result;
    for (const Expr& expr : node.exprs) result.push_back(symbolic::substitute(expr, values));
    return result;
  }

  BodyId copied_load(BodyNode load) {
    if (change_ != nullptr) {
      into_.declare_tensor(load.tensor, from_.tensor(load.tensor));
      load.exprs = (*change_)(load);
    }
    return into_.load(tensor(load.tensor), exprs(load));
  }

  BodyId copied(BodyId id) {
    const BodyNode node = from_[id];  // a copy: both arenas may be one
    std::vector<BodyId> children;
    for (BodyId child : node.children) children.push_back(bodies_.at(child.value));
    switch (node.kind) {
      case BodyKind::kLoad:
        return copied_load(node);
      case BodyKind::kConstant:
        return into_.constant(node.constant);
      case BodyKind::kIota:
        return into_.iota(exprs(node)[0], node.dtype);
      case BodyKind::kWhere:
        return into_.where(exprs(node), children[0], children[1]);
      case BodyKind::kOp:
        return into_.op(node.op, node.dtype, std::move(children));
      case BodyKind::kReduce:
        break;
    }
    return into_.reduce(node.op, node.exprs, children[0]);
  }

  const Arena& from_;
  Arena& into_;
  const ChangeIndex* change_ = nullptr;
  std::unordered_map<uint32_t, NodeId> names_;
  std::unordered_map<uint32_t, BodyId> bodies_;
};

}  // namespace

Kernel renamed(const Arena& from, const Kernel& kernel, std::span<const Renaming> names,
               Arena& into) {
  return Renamer(from, names, into).run(kernel);
}

Kernel with_indices(const Arena& from, const Kernel& kernel, const ChangeIndex& change,
                    Arena& into) {
  for (const Root& root : kernel.roots) into.declare_tensor(root.tensor, from.tensor(root.tensor));
  return Renamer(from, change, into).run(kernel);
}

bool is_one_to_one(std::span<const Renaming> names) {
  std::vector<NodeId> targets;
  for (const Renaming& name : names) targets.push_back(name.to);
  std::sort(targets.begin(), targets.end());
  return std::adjacent_find(targets.begin(), targets.end()) == targets.end();
}

}  // namespace luminal::kernel
