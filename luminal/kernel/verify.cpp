#include "luminal/kernel/verify.h"

#include <fmt/core.h>

#include <algorithm>

#include "luminal/support/error.h"

namespace luminal::kernel {
namespace {

class BodyChecker {
 public:
  explicit BodyChecker(const Arena& arena) : arena_(arena) {}

  std::vector<std::string> check(const Kernel& kernel) {
    for (size_t k = 0; k < kernel.axes.size(); ++k)
      if (!kernel.axes[k].is_axis() || kernel.axes[k].axis_id() != static_cast<int64_t>(k))
        report("output axis {} is {}", k, symbolic::to_string(kernel.axes[k]));
    std::vector<BodyId> values;
    const AxisSet axes = make_axis_set(kernel.axes);
    for (const Root& root : kernel.roots) {
      values.push_back(root.value);
      check_root(root, axes);
    }
    for (BodyId id : arena_.reachable(values)) check_node(id);
    return std::move(problems_);
  }

 private:
  template <typename... Args>
  void report(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  void check_root(const Root& root, const AxisSet& axes) {
    if (root.store.size() != arena_.tensor(root.tensor).shape.size())
      report("root t{} is stored at {} positions", root.tensor.value, root.store.size());
    if (arena_[root.value].dtype != arena_.tensor(root.tensor).dtype)
      report("root t{} has dtype {}", root.tensor.value, arena_[root.value].dtype);
    if (!is_subset(arena_[root.value].free, axes))
      report("root t{} uses axes that are no outputs", root.tensor.value);
    for (const Expr& position : root.store)
      if (!is_subset(make_axis_set(position.axes()), axes))
        report("root t{} is stored by axes that are no outputs", root.tensor.value);
  }

  void check_node(BodyId id) {
    const BodyNode& node = arena_[id];
    for (BodyId child : node.children)
      if (child >= id) report("%{} comes before its operand %{}", id.value, child.value);
    check_facts(id);
    switch (node.kind) {
      case BodyKind::kLoad:
        if (node.exprs.size() != arena_.tensor(node.tensor).shape.size())
          report("%{} loads t{} by {} indices", id.value, node.tensor.value, node.exprs.size());
        if (node.dtype != arena_.tensor(node.tensor).dtype)
          report("%{} loads t{} as {}", id.value, node.tensor.value, node.dtype);
        return;
      case BodyKind::kConstant:
        if (node.constant.dtype() != node.dtype)
          report("%{} is a constant of another dtype", id.value);
        return;
      case BodyKind::kIota:
        if (node.exprs.size() != 1)
          report("%{} is an iota of {} values", id.value, node.exprs.size());
        return;
      case BodyKind::kOp:
        return check_op(id, node);
      case BodyKind::kWhere:
        for (const Expr& test : node.exprs)
          if (test.bounds().lo < 0 || test.bounds().hi > 1)
            report("%{} tests {}, which is not 0 or 1", id.value, test);
        if (node.children.size() != 2 || arena_[node.children[0]].dtype != node.dtype ||
            arena_[node.children[1]].dtype != node.dtype)
          report("%{} chooses between unlike values", id.value);
        return;
      case BodyKind::kReduce:
        return check_reduction(id, node);
    }
  }

  void check_op(BodyId id, const BodyNode& node) {
    const graph::OpInfo& info = graph::info(node.op);
    if (!graph::is_elementwise(node.op)) report("%{} is a {}", id.value, info.name);
    if (static_cast<int>(node.children.size()) != info.arity)
      report("%{} is a {} of {} operands", id.value, info.name, node.children.size());
    const DType last = arena_[node.children.back()].dtype;
    if (info.dtype_rule == graph::DTypeRule::kCompare && !is_bool(node.dtype))
      report("%{} compares but gives {}", id.value, node.dtype);
    const bool same = info.dtype_rule != graph::DTypeRule::kCompare &&
                      info.dtype_rule != graph::DTypeRule::kAttribute;
    if (same && last != node.dtype)
      report("%{} is a {} of {} that gives {}", id.value, info.name, last, node.dtype);
  }

  void check_reduction(BodyId id, const BodyNode& node) {
    if (!graph::is_reduction(node.op)) report("%{} reduces by {}", id.value, graph::name(node.op));
    if (node.exprs.empty()) report("%{} reduces no axis", id.value);
    for (size_t k = 0; k < node.exprs.size(); ++k) {
      const Expr& axis = node.exprs[k];
      if (!axis.is_axis() ||
          axis != bound_axis(node.height, static_cast<int64_t>(k), axis.axis_extent()))
        report("%{} binds {} at height {}", id.value, axis, node.height);
    }
    for (BodyId below : arena_.reachable(node.children))
      if (arena_[below].kind == BodyKind::kReduce && arena_[below].height >= node.height)
        report("%{} may capture axes of %{}", below.value, id.value);
  }

  /// Free axes and height again, from the operands.
  void check_facts(BodyId id) {
    const BodyNode& node = arena_[id];
    AxisSet free;
    int height = 0;
    const auto add = [&](BodyId part) {
      free = union_of(free, arena_[part].free);
      height = std::max(height, arena_[part].height);
    };
    for (const Expr& expr : node.exprs)
      for (const Expr& axis : expr.axes()) {
        if (is_value_axis(axis))
          add(body_of_value(axis));
        else
          free = union_of(free, {axis});
      }
    for (BodyId child : node.children) add(child);
    if (node.kind == BodyKind::kReduce) {
      free = difference(free, make_axis_set(node.exprs));
      ++height;
    }
    if (free != node.free) report("%{} has other free axes than it says", id.value);
    if (height != node.height) report("%{} has another height than it says", id.value);
  }

  const Arena& arena_;
  std::vector<std::string> problems_;
};

void throw_if_any(const std::vector<std::string>& problems, std::string_view what) {
  if (problems.empty()) return;
  std::string text = fmt::format("a {} is broken:", what);
  for (const std::string& problem : problems) text += "\n  " + problem;
  throw InternalError(text);
}

}  // namespace

std::vector<std::string> problems(const Arena& arena, const Kernel& kernel) {
  return BodyChecker(arena).check(kernel);
}

void verify(const Arena& arena, const Kernel& kernel) {
  throw_if_any(problems(arena, kernel), "body");
}

void verify(const Arena& arena, const Nest& nest) {
  throw_if_any(problems(arena, nest), "loop nest");
}

}  // namespace luminal::kernel
