#include "luminal/codegen/llvm/nest_split.h"

#include <algorithm>
#include <map>
#include <set>

#include "luminal/codegen/llvm/nest_flatten.h"
#include "luminal/kernel/estimate.h"
#include "luminal/kernel/replacement.h"
#include "luminal/symbolic/node.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using graph::Op;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using kernel::NodeId;
using symbolic::Expr;

constexpr uint32_t kFirstTemporary = 1U << 31;
// Parts of sums down columns, whose accumulators are many.
constexpr int64_t kRowsOfPart = 256;
// Rows and columns that are work enough for many threads without parts.
constexpr double kManyRows = 64;
constexpr double kManyColumns = 32768;
// Axes of parts while a kernel is written; below the ids of merged axes.
constexpr int64_t kPartAxis = kernel::kFirstBoundAxis - 128;
constexpr int64_t kInPartAxis =
    kernel::kFirstBoundAxis + (kernel::kAxesPerHeight * int64_t{1} << 21);

Op combining_op(Op reduction) {
  switch (reduction) {
    case Op::kSum:
      return Op::kAdd;
    case Op::kReduceMax:
      return Op::kMax;
    default:
      return Op::kMul;
  }
}

class Splitter {
 public:
  Splitter(Arena& arena, const kernel::Kernel& kernel, const TypicalDims& typical, int64_t part)
      : arena_(arena),
        sizes_{.dims = typical.dims, .typical_dim = typical.typical_dim},
        part_(static_cast<double>(part)) {
    last_ = kernel;
  }

  SplitKernels run() {
    while (true) {
      const std::vector<BodyId> group = next_group();
      if (group.empty()) break;
      split(group);
    }
    result_.kernels.push_back(last_);
    return std::move(result_);
  }

 private:
  /// How the axes of a reduction are parted: those before `axis` become axes of the parts, `axis`
  /// is cut in runs of `run`, those after it stay whole.
  struct Parting {
    size_t axis;
    Expr run;
    Expr parts;
    Expr rest;     // what is left of the axis after the runs
    bool columns;  // results lie side by side
    bool operator==(const Parting&) const = default;
  };

  double size_of(std::span<const Expr> axes) const {
    double result = 1;
    for (const Expr& axis : axes) result *= kernel::typical_value(axis.axis_extent(), sizes_);
    return result;
  }

  std::optional<Parting> parting(BodyId id) const {
    const BodyNode& node = arena_[id];
    if (node.kind != BodyKind::kReduce || graph::bits(node.dtype) < 8) return std::nullopt;
    for (const Expr& axis : node.free)
      if (!kernel::is_output_axis(axis)) return std::nullopt;
    const double outputs = size_of(node.free);
    const double length = size_of(node.exprs);
    const auto along = column_axis(node);
    const bool columns = along.has_value();
    if (columns ? outputs >= kManyColumns && length < part_ : outputs >= kManyRows)
      return std::nullopt;
    // Many matrices whose columns are summed need no parts either.
    if (columns && length < part_ && outputs >= kManyRows * size_of(std::span(&*along, 1)))
      return std::nullopt;
    const double wanted = columns ? std::max<double>(kRowsOfPart, part_ / outputs) : part_;
    if (length < 2 * wanted) return std::nullopt;
    size_t axis = 0;
    while (axis + 1 < node.exprs.size() &&
           size_of(std::span(node.exprs).subspan(axis + 1)) > wanted)
      ++axis;
    const auto run = std::max<int64_t>(
        1, static_cast<int64_t>(wanted / size_of(std::span(node.exprs).subspan(axis + 1))));
    const Expr extent = node.exprs[axis].axis_extent();
    const Expr parts = floor_div(extent, run);
    return Parting{axis, run, parts, extent - parts * run, columns};
  }

  /// The output axis that the values run along in memory, if they do not along one that is reduced.
  std::optional<Expr> column_axis(const BodyNode& node) const {
    int best = contiguous_loads(arena_, node.children, node.exprs.back());
    std::optional<Expr> found;
    for (const Expr& axis : node.free) {
      if (kernel::typical_value(axis.axis_extent(), sizes_) < 8) continue;
      const int loads = contiguous_loads(arena_, node.children, axis);
      if (loads <= best) continue;
      best = loads;
      found = axis;
    }
    return found;
  }

  /// Reductions to be parted that need no other such, all of the same form.
  std::vector<BodyId> next_group() const {
    std::vector<BodyId> values;
    for (const kernel::Root& root : last_.roots) values.push_back(root.value);
    std::vector<BodyId> group;
    std::set<BodyId> waiting;  // those above a reduction that will be parted
    for (const BodyId id : arena_.reachable(values)) {
      const BodyNode& node = arena_[id];
      const auto is_waiting = [&](BodyId below) { return waiting.contains(below); };
      const bool waits =
          std::any_of(node.children.begin(), node.children.end(), is_waiting) ||
          std::any_of(node.index_values.begin(), node.index_values.end(), is_waiting);
      const auto parts = waits ? std::nullopt : parting(id);
      if (waits || parts) waiting.insert(id);
      if (parts && (group.empty() || same_form(group[0], id))) group.push_back(id);
    }
    return group;
  }

  bool same_form(BodyId a, BodyId b) const {
    const BodyNode& left = arena_[a];
    const BodyNode& right = arena_[b];
    return left.free == right.free && left.exprs.size() == right.exprs.size() &&
           parting(a) == parting(b) &&
           std::equal(
               left.exprs.begin(), left.exprs.end(), right.exprs.begin(),
               [](const Expr& x, const Expr& y) { return x.axis_extent() == y.axis_extent(); });
  }

  NodeId temporary(DType dtype, const std::vector<Expr>& axes) {
    const NodeId id{kFirstTemporary + static_cast<uint32_t>(arena_.size())};
    graph::Shape shape;
    for (const Expr& axis : axes) shape.push_back(axis.axis_extent());
    arena_.declare_tensor(id, {dtype, shape});
    result_.temporaries.push_back(id);
    return id;
  }

  /// Narrow floats are summed in f32 and rounded at the end.
  static DType partial_dtype(const BodyNode& node) {
    return graph::is_float(node.dtype) && graph::bits(node.dtype) < 32 ? DType::kF32 : node.dtype;
  }

  /// One kernel finds the parts of all of the group; their users then reduce the parts.
  void split(const std::vector<BodyId>& group) {
    const BodyNode first = arena_[group[0]];
    const Parting parting = *this->parting(group[0]);
    std::vector<Expr> part_axes;
    for (size_t k = 0; k <= parting.axis; ++k) {
      const Expr extent = k < parting.axis ? first.exprs[k].axis_extent() : parting.parts;
      part_axes.push_back(Expr::axis(kPartAxis + static_cast<int64_t>(k), extent));
    }
    std::erase_if(part_axes, [](const Expr& axis) { return !axis.is_axis(); });
    kernel::Kernel partial;
    partial.axes = first.free;
    partial.axes.insert(parting.columns ? partial.axes.begin() : partial.axes.end(),
                        part_axes.begin(), part_axes.end());
    std::map<BodyId, BodyId> replaced;
    for (const BodyId id : group) {
      const BodyNode node = arena_[id];
      const NodeId parts = temporary(partial_dtype(node), partial.axes);
      partial.roots.push_back({parts, part_of(node, parting), partial.axes});
      replaced[id] = whole_of(node, parting, parts, partial.axes, part_axes);
    }
    result_.kernels.push_back(with_numbered_axes(arena_, partial));
    finish(first, replaced);
  }

  /// The values that a reduction reduces, as partial sums have them.
  BodyId widened_child(const BodyNode& node) {
    return arena_.op(Op::kCast, partial_dtype(node), {node.children[0]});
  }

  /// The reduction of one part.
  BodyId part_of(const BodyNode& node, const Parting& parting) {
    std::vector<symbolic::Binding> bindings;
    for (size_t k = 0; k < parting.axis; ++k)
      bindings.push_back({node.exprs[k], Expr::axis(kPartAxis + static_cast<int64_t>(k),
                                                    node.exprs[k].axis_extent())});
    const Expr inside = Expr::axis(kInPartAxis, parting.run);
    const Expr part = Expr::axis(kPartAxis + static_cast<int64_t>(parting.axis), parting.parts);
    bindings.push_back({node.exprs[parting.axis], part * parting.run + inside});
    std::vector<Expr> axes{inside};
    axes.insert(axes.end(), node.exprs.begin() + static_cast<std::ptrdiff_t>(parting.axis) + 1,
                node.exprs.end());
    return arena_.reduce(node.op, axes, arena_.substitute(widened_child(node), bindings));
  }

  /// The whole reduction from its parts and what comes after the last of them.
  BodyId whole_of(const BodyNode& node, const Parting& parting, NodeId parts,
                  const std::vector<Expr>& index, const std::vector<Expr>& part_axes) {
    std::vector<symbolic::Binding> bindings;
    std::vector<Expr> bound;
    for (size_t k = 0; k < part_axes.size(); ++k) {
      bound.push_back(
          Expr::axis(kInPartAxis + static_cast<int64_t>(k), part_axes[k].axis_extent()));
      bindings.push_back({part_axes[k], bound.back()});
    }
    std::vector<Expr> at = index;
    for (Expr& expr : at) expr = symbolic::substitute(expr, bindings);
    BodyId total = arena_.reduce(node.op, bound, arena_.load(parts, at));
    if (!parting.rest.is_constant(0)) {
      const Expr rest = Expr::axis(kInPartAxis, parting.rest);
      const symbolic::Binding binding{node.exprs[parting.axis], parting.parts * parting.run + rest};
      std::vector<Expr> axes = node.exprs;
      axes[parting.axis] = rest;
      const BodyId tail = arena_.reduce(
          node.op, axes, arena_.substitute(widened_child(node), std::span(&binding, 1)));
      total = arena_.op(combining_op(node.op), arena_[total].dtype, {total, tail});
    }
    return arena_.op(Op::kCast, node.dtype, {total});
  }

  /// Puts the sums of parts in the place of the reductions: in a kernel of their own if what is
  /// left has far more points than they have.
  void finish(const BodyNode& first, std::map<BodyId, BodyId>& replaced) {
    if (size_of(last_.axes) > 4 * size_of(first.free)) {
      kernel::Kernel finishing;
      finishing.axes = first.free;
      for (auto& [id, value] : replaced) {
        const NodeId whole = temporary(arena_[value].dtype, finishing.axes);
        finishing.roots.push_back({whole, value, finishing.axes});
        value = arena_.load(whole, finishing.axes);
      }
      result_.kernels.push_back(with_numbered_axes(arena_, finishing));
    }
    kernel::Replacement replacement(arena_);
    for (const auto& [id, value] : replaced) replacement.add(id, value);
    for (kernel::Root& root : last_.roots) root.value = replacement(root.value);
  }

  Arena& arena_;
  kernel::EstimateOptions sizes_;
  double part_;
  kernel::Kernel last_;
  SplitKernels result_;
};

}  // namespace

std::optional<Stride> stride_along(const Expr& position, const Expr& axis) {
  if (!position.depends_on(axis)) return Stride{0, position};
  const auto linear = symbolic::split_linear(position, axis.node());
  if (!linear || linear->coefficient.depends_on(axis) || linear->rest.depends_on(axis))
    return std::nullopt;
  return Stride{linear->coefficient, linear->rest};
}

int contiguous_loads(const Arena& arena, std::span<const BodyId> values, const Expr& axis) {
  int count = 0;
  for (const BodyId id : arena.reachable(values)) {
    const BodyNode& node = arena[id];
    if (node.kind != BodyKind::kLoad || !kernel::contains(node.free, axis)) continue;
    const auto stride =
        stride_along(position_of(node.exprs, arena.tensor(node.tensor).shape), axis);
    if (stride && (stride->stride.is_constant(1) || stride->stride.is_constant(-1))) ++count;
  }
  return count;
}

SplitKernels split_reductions(Arena& arena, const kernel::Kernel& kernel,
                              const TypicalDims& typical, int64_t part) {
  return Splitter(arena, kernel, typical, part).run();
}

}  // namespace luminal::codegen
