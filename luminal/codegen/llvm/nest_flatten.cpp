#include "luminal/codegen/llvm/nest_flatten.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "luminal/kernel/estimate.h"
#include "luminal/symbolic/quotients.h"

namespace luminal::codegen {
namespace {

using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using kernel::NodeId;
using symbolic::Expr;

constexpr uint32_t kFirstAlias = 1U << 30;
constexpr uint32_t kPastAliases = 1U << 31;
// Names that no axis of a finished kernel has.
constexpr int64_t kMergedOutputAxis = kernel::kFirstBoundAxis - 64;
constexpr int64_t kMergedBoundAxis =
    kernel::kFirstBoundAxis + (kernel::kAxesPerHeight * int64_t{1} << 20);

bool is_in_range(std::span<const Expr> index, const graph::Shape& shape) {
  for (size_t d = 0; d < index.size(); ++d)
    if (!stays_in_range(index[d], shape[d])) return false;
  return true;
}

/// outer = quotient, inner = merged - extent * quotient: what moves by both as by one axis loses
/// the quotient.
struct Merge {
  Expr outer, inner;
  Expr merged;
  Expr quotient;

  std::array<symbolic::Binding, 2> bindings() const {
    return {{{outer, quotient}, {inner, merged - inner.axis_extent() * quotient}}};
  }
  bool allows(const Expr& expr) const {
    if (!expr.depends_on(outer) && !expr.depends_on(inner)) return true;
    return !symbolic::substitute(expr, bindings()).depends_on(quotient);
  }
};

class Flattener {
 public:
  explicit Flattener(Arena& arena) : arena_(arena) {}

  FlatKernel run(const kernel::Kernel& kernel, const FlatOptions& options) {
    kernel::Kernel flat = kernel;
    for (kernel::Root& root : flat.roots) {
      root.value = rewritten(root.value);
      const graph::Shape shape = arena_.tensor(root.tensor).shape;
      if (shape.size() < 2) continue;
      root.store = {position_of(root.store, shape)};
      root.tensor = alias(root.tensor);
    }
    merge_outputs(flat);
    if (!options.keep_order) order_axes(flat);
    return {with_numbered_axes(arena_, flat), std::move(originals_)};
  }

 private:
  NodeId alias(NodeId tensor) {
    const NodeId result{tensor.value + kFirstAlias};
    const graph::TensorType type = arena_.tensor(tensor);
    Expr count = 1;
    for (const Expr& extent : type.shape) count = count * extent;
    arena_.declare_tensor(result, {type.dtype, {count}});
    originals_[result] = tensor;
    return result;
  }

  /// The index expressions of a node over rewritten index values.
  std::vector<Expr> rewritten_exprs(const BodyNode& node) {
    std::vector<Expr> exprs = node.exprs;
    if (node.index_values.empty()) return exprs;
    for (Expr& expr : exprs) {
      std::vector<symbolic::Binding> bindings;
      for (const Expr& axis : std::vector<Expr>(expr.axes()))
        if (kernel::is_value_axis(axis))
          bindings.push_back({axis, arena_.index_value(rewritten(kernel::body_of_value(axis)),
                                                       axis.axis_extent())});
      expr = symbolic::substitute(expr, bindings);
    }
    return exprs;
  }

  BodyId rewritten(BodyId id) {
    if (const auto found = memo_.find(id.value); found != memo_.end()) return found->second;
    const BodyNode node = arena_[id];
    BodyId result = id;
    std::vector<BodyId> children;
    for (const BodyId child : node.children) children.push_back(rewritten(child));
    switch (node.kind) {
      case BodyKind::kLoad:
        result = load(node);
        break;
      case BodyKind::kIota:
        result = arena_.iota(rewritten_exprs(node)[0], node.dtype);
        break;
      case BodyKind::kWhere:
        result = arena_.where(rewritten_exprs(node), children[0], children[1]);
        break;
      case BodyKind::kReduce:
        result = reduction(node, children[0]);
        break;
      case BodyKind::kOp:
      case BodyKind::kConstant:
        result = arena_.with_children(id, children);
        break;
    }
    memo_.emplace(id.value, result);
    return result;
  }

  BodyId load(const BodyNode& node) {
    const graph::Shape shape = arena_.tensor(node.tensor).shape;
    std::vector<Expr> index = rewritten_exprs(node);
    // The values of a gather are data: each must be held inside of its own dim.
    if (shape.size() < 2 || !node.index_values.empty() || !is_in_range(index, shape))
      return arena_.load(node.tensor, std::move(index));
    return arena_.load(alias(node.tensor), {position_of(index, shape)});
  }

  bool allowed(const Merge& merge, std::span<const BodyId> values) const {
    for (const BodyId id : arena_.reachable(values)) {
      const BodyNode& node = arena_[id];
      if (node.kind == BodyKind::kReduce) continue;
      for (const Expr& expr : node.exprs)
        if (!merge.allows(expr)) return false;
    }
    return true;
  }

  /// The reduction with neighbouring axes merged where that is possible.
  BodyId reduction(const BodyNode& node, BodyId child) {
    std::vector<Expr> axes = node.exprs;
    for (size_t k = axes.size() - 1; k-- > 0;) {
      const Expr extent = axes[k].axis_extent() * axes[k + 1].axis_extent();
      const Merge merge{axes[k], axes[k + 1], Expr::axis(kMergedBoundAxis + next_++, extent),
                        Expr::axis(kMergedBoundAxis + next_++, axes[k].axis_extent())};
      if (!merge.merged.is_axis() || !allowed(merge, std::span(&child, 1))) continue;
      child = arena_.substitute(child, merge.bindings());
      axes[k] = merge.merged;
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    }
    return arena_.reduce(node.op, axes, child);
  }

  void merge_outputs(kernel::Kernel& kernel) {
    if (kernel.axes.empty()) return;
    for (size_t k = kernel.axes.size() - 1; k-- > 0;) {
      const Expr& outer = kernel.axes[k];
      const Expr& inner = kernel.axes[k + 1];
      const Merge merge{
          outer, inner,
          Expr::axis(kMergedOutputAxis + next_++ % 32, outer.axis_extent() * inner.axis_extent()),
          Expr::axis(kMergedOutputAxis + 32 + next_++ % 32, outer.axis_extent())};
      std::vector<BodyId> values;
      bool possible = merge.merged.is_axis();
      for (const kernel::Root& root : kernel.roots) {
        values.push_back(root.value);
        for (const Expr& expr : root.store) possible = possible && merge.allows(expr);
      }
      if (!possible || !allowed(merge, values)) continue;
      for (kernel::Root& root : kernel.roots) {
        root.value = arena_.substitute(root.value, merge.bindings());
        for (Expr& expr : root.store) expr = symbolic::substitute(expr, merge.bindings());
      }
      kernel.axes[k] = merge.merged;
      kernel.axes.erase(kernel.axes.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    }
  }

  /// How far loads move along an axis: the largest stride; negative if one is not linear.
  double reach(const kernel::Kernel& kernel, const Expr& axis) const {
    std::vector<BodyId> values;
    for (const kernel::Root& root : kernel.roots) values.push_back(root.value);
    double result = 0;
    for (const BodyId id : arena_.reachable(values)) {
      const BodyNode& node = arena_[id];
      if (node.kind != BodyKind::kLoad || !kernel::contains(node.free, axis)) continue;
      const auto affine =
          symbolic::as_affine(position_of(node.exprs, arena_.tensor(node.tensor).shape));
      if (!affine) return -1;
      result = std::max(result, std::abs(kernel::typical_value(affine->coefficient(axis), {})));
    }
    return result;
  }

  /// Memory is read in the order it lies: axes along which loads move far go outside. The last axis
  /// stays, since results are written along it; and so do all where a load is not linear.
  void order_axes(kernel::Kernel& kernel) const {
    if (kernel.axes.size() < 3) return;
    std::vector<std::pair<double, Expr>> outer;
    for (size_t k = 0; k + 1 < kernel.axes.size(); ++k) {
      outer.emplace_back(reach(kernel, kernel.axes[k]), kernel.axes[k]);
      if (outer.back().first < 0) return;
    }
    std::stable_sort(outer.begin(), outer.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (size_t k = 0; k < outer.size(); ++k) kernel.axes[k] = outer[k].second;
  }

  Arena& arena_;
  std::unordered_map<uint32_t, BodyId> memo_;
  std::map<NodeId, NodeId> originals_;
  int64_t next_ = 0;
};

}  // namespace

bool bounds_hold(const Expr& index) {
  for (const symbolic::Quotient& quotient : symbolic::quotients(index))
    if (quotient.divisor.bounds().lo <= 0) return false;
  const std::vector<Expr>& axes = index.axes();
  return std::none_of(axes.begin(), axes.end(), [](const Expr& axis) {
    return kernel::is_value_axis(axis) && axis.axis_extent().bounds().lo <= 0;
  });
}

bool stays_in_range(const Expr& index, const Expr& extent) {
  return provably_ge(index, 0) && provably_less(index, extent) && bounds_hold(index);
}

Expr position_of(std::span<const Expr> index, const graph::Shape& shape) {
  Expr position = 0;
  for (size_t d = 0; d < index.size(); ++d) position = position * shape[d] + index[d];
  return position;
}

bool is_alias(NodeId tensor) { return tensor.value >= kFirstAlias && tensor.value < kPastAliases; }

FlatKernel flattened(Arena& arena, const kernel::Kernel& kernel, const FlatOptions& options) {
  return Flattener(arena).run(kernel, options);
}

kernel::Kernel with_numbered_axes(Arena& arena, const kernel::Kernel& kernel) {
  kernel::Kernel result = kernel;
  std::vector<symbolic::Binding> bindings;
  for (size_t k = 0; k < result.axes.size(); ++k) {
    const Expr axis = Expr::axis(static_cast<int64_t>(k), result.axes[k].axis_extent());
    if (axis != result.axes[k]) bindings.push_back({result.axes[k], axis});
    result.axes[k] = axis;
  }
  if (bindings.empty()) return result;
  for (kernel::Root& root : result.roots) {
    root.value = arena.substitute(root.value, bindings);
    for (Expr& expr : root.store) expr = symbolic::substitute(expr, bindings);
  }
  return result;
}

}  // namespace luminal::codegen
