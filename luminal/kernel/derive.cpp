#include "luminal/kernel/derive.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "luminal/support/check.h"

namespace luminal::kernel {
namespace {

using graph::Edge;
using graph::Node;

/// Expansions of one kernel may share less than the finished body does.
constexpr size_t kExpansionsPerNode = 8;

struct TooBig {};

class Expander {
 public:
  Expander(Arena& arena, const Program& program, const Cut& cut, std::span<const NodeId> roots,
           size_t most_nodes)
      : arena_(arena),
        program_(program),
        cut_(cut),
        roots_(roots),
        most_expansions_(most_nodes * kExpansionsPerNode) {}

  /// The value of a node at an index; of a root as it is defined.
  BodyId expand(NodeId id, const std::vector<Expr>& index) {
    const Node& node = program_.node(id);
    const bool root = std::find(roots_.begin(), roots_.end(), id) != roots_.end();
    if (cut_.contains(id) && !root) return load(id, index);
    Key key{id, index};
    if (const auto found = memo_.find(key); found != memo_.end()) return found->second;
    if (memo_.size() > most_expansions_) throw TooBig{};
    const BodyId body = define(node, index);
    memo_.emplace(std::move(key), body);
    return body;
  }

  /// The value that an operand has at an index of its domain.
  BodyId operand(const Edge& edge, const std::vector<Expr>& index) {
    const graph::View& view = edge.view;
    std::vector<symbolic::Binding> bindings;
    for (int k = 0; k < view.rank(); ++k) {
      const Expr axis = view.axis(k);
      if (axis.is_axis()) bindings.push_back({axis, index[static_cast<size_t>(k)]});
    }
    std::vector<Expr> position;
    for (const Expr& expr : view.index()) position.push_back(substitute(expr, bindings));
    if (view.conditions().empty()) return expand(edge.node, position);
    std::vector<Expr> tests;
    for (const graph::Condition& condition : view.conditions()) {
      const Expr value = substitute(condition.value, bindings);
      const Expr extent = substitute(condition.extent, bindings);
      tests.push_back(symbolic::greater_equal(value, 0));
      tests.push_back(symbolic::less(value, extent));
    }
    const BodyId fill = arena_.constant(view.fill().cast(program_.node(edge.node).dtype()));
    if (std::any_of(tests.begin(), tests.end(),
                    [](const Expr& test) { return test.is_constant(0); }))
      return fill;
    return arena_.where(tests, expand(edge.node, position), fill);
  }

  BodyId load(NodeId id, const std::vector<Expr>& index) {
    arena_.declare_tensor(id, program_.node(id).type);
    return arena_.load(id, index);
  }

 private:
  struct Key {
    NodeId id;
    std::vector<Expr> index;
    bool operator==(const Key&) const = default;
  };
  struct HashKey {
    size_t operator()(const Key& key) const {
      uint64_t hash = key.id.value;
      for (const Expr& expr : key.index) hash = support::hash_combine(hash, expr.hash());
      return hash;
    }
  };

  BodyId define(const Node& node, const std::vector<Expr>& index) {
    switch (node.op) {
      case Op::kConstant:
        return arena_.constant(node.attribute<graph::ConstantAttribute>().value.at(0));
      case Op::kIota:
        return iota(node, index);
      case Op::kGather: {
        const BodyId position = operand(node.operands[0], index);
        std::vector<Expr> extended = index;
        extended.push_back(arena_.index_value(position, node.operands[1].view.domain().back()));
        return operand(node.operands[1], extended);
      }
      case Op::kGraphBreak:
        return operand(node.operands[0], index);
      default:
        break;
    }
    if (graph::is_reduction(node.op)) return reduction(node, index);
    LUMINAL_CHECK(graph::is_elementwise(node.op), "{} has no body", graph::name(node.op));
    std::vector<BodyId> children;
    for (const Edge& edge : node.operands) children.push_back(operand(edge, index));
    return arena_.op(node.op, node.dtype(), std::move(children));
  }

  BodyId iota(const Node& node, const std::vector<Expr>& index) {
    std::vector<symbolic::Binding> bindings;
    for (size_t k = 0; k < index.size(); ++k) {
      const Expr axis = Expr::axis(static_cast<int64_t>(k), node.shape()[k]);
      if (axis.is_axis()) bindings.push_back({axis, index[k]});
    }
    const Expr& value = node.attribute<graph::IotaAttribute>().value;
    return arena_.iota(symbolic::substitute(value, bindings), node.dtype());
  }

  BodyId reduction(const Node& node, const std::vector<Expr>& index) {
    const graph::Shape& domain = node.operands[0].view.domain();
    const int height = tallest(node.operands[0].node) + height_of_values(index) + 1;
    std::vector<Expr> extended = index;
    std::vector<Expr> axes;
    for (size_t k = index.size(); k < domain.size(); ++k) {
      axes.push_back(bound_axis(height, static_cast<int64_t>(k - index.size()), domain[k]));
      extended.push_back(axes.back());
    }
    return arena_.reduce(node.op, axes, operand(node.operands[0], extended));
  }

  /// How high the values used as positions are.
  int height_of_values(const std::vector<Expr>& index) const {
    int height = 0;
    for (const Expr& expr : index)
      for (const Expr& axis : expr.axes())
        if (is_value_axis(axis)) height = std::max(height, arena_[body_of_value(axis)].height);
    return height;
  }

  /// No body of this node is higher, but for what values in its index add. Names of bound axes are
  /// taken from above it, so that they cannot be captured inside; the arena renames them to what
  /// the height turns out to be.
  int tallest(NodeId id) {
    const bool root = std::find(roots_.begin(), roots_.end(), id) != roots_.end();
    if (cut_.contains(id) && !root) return 0;
    if (const auto found = heights_.find(id.value); found != heights_.end()) return found->second;
    const Node& node = program_.node(id);
    int height = 0;
    for (const Edge& edge : node.operands) height = std::max(height, tallest(edge.node));
    // What is gathered is computed above the position it is gathered from.
    if (node.op == Op::kGather)
      height = tallest(node.operands[0].node) + tallest(node.operands[1].node);
    if (graph::is_reduction(node.op)) ++height;
    heights_.emplace(id.value, height);
    return height;
  }

  Arena& arena_;
  const Program& program_;
  const Cut& cut_;
  std::span<const NodeId> roots_;
  size_t most_expansions_;
  std::unordered_map<Key, BodyId, HashKey> memo_;
  std::unordered_map<uint32_t, int> heights_;
};

/// Splits output axes where indices want it and renumbers them.
void split_outputs(Arena& arena, Kernel& kernel) {
  constexpr size_t kMostAxes = 12;
  while (kernel.axes.size() < kMostAxes) {
    std::optional<WantedSplit> split;
    for (const Root& root : kernel.roots)
      for (const WantedSplit& wanted : arena[root.value].splits)
        if (!split && is_output_axis(wanted.axis)) split = wanted;
    if (!split) return;
    std::vector<Expr> axes;
    std::vector<symbolic::Binding> bindings;
    for (const Expr& axis : kernel.axes) {
      const auto next = static_cast<int64_t>(axes.size());
      Expr value;
      if (axis == split->axis) {
        axes.push_back(Expr::axis(next, *exact_div(axis.axis_extent(), split->divisor)));
        axes.push_back(Expr::axis(next + 1, split->divisor));
        value = axes[axes.size() - 2] * split->divisor + axes.back();
      } else {
        axes.push_back(Expr::axis(next, axis.axis_extent()));
        value = axes.back();
      }
      if (value != axis) bindings.push_back({axis, value});
    }
    for (Root& root : kernel.roots) {
      root.value = arena.substitute(root.value, bindings);
      for (Expr& position : root.store) position = symbolic::substitute(position, bindings);
    }
    kernel.axes = std::move(axes);
  }
}

std::variant<Kernel, Rejected> derive_roots(Arena& arena, const Program& program, const Cut& cut,
                                            std::span<const NodeId> roots,
                                            const DeriveOptions& options) {
  const graph::Shape& shape = program.node(roots[0]).shape();
  Kernel kernel;
  std::vector<Expr> index;
  for (const Expr& extent : shape) {
    // Axes of extent 1 vanish, and the others are numbered without gaps.
    const Expr axis = Expr::axis(static_cast<int64_t>(kernel.axes.size()), extent);
    index.push_back(axis);
    if (axis.is_axis()) kernel.axes.push_back(axis);
  }
  Expander expander(arena, program, cut, roots, options.most_nodes);
  std::vector<BodyId> values;
  for (NodeId root : roots) {
    arena.declare_tensor(root, program.node(root).type);
    if (program.node(root).shape() != shape)
      return Rejected{fmt::format("shapes {} and {} of one kernel differ", graph::to_string(shape),
                                  graph::to_string(program.node(root).shape()))};
    try {
      kernel.roots.push_back({root, expander.expand(root, index), index});
    } catch (const TooBig&) {
      return Rejected{fmt::format("more than {} nodes", options.most_nodes)};
    }
    values.push_back(kernel.roots.back().value);
  }
  split_outputs(arena, kernel);
  values.clear();
  for (const Root& root : kernel.roots) values.push_back(root.value);
  const size_t nodes = arena.reachable(values).size();
  if (nodes > options.most_nodes)
    return Rejected{fmt::format("{} nodes, more than {}", nodes, options.most_nodes)};
  return kernel;
}

}  // namespace

std::variant<Kernel, Rejected> derive(Arena& arena, const Program& program, const Cut& cut,
                                      NodeId root, const DeriveOptions& options) {
  return derive_roots(arena, program, cut, std::span(&root, 1), options);
}

std::variant<Kernel, Rejected> derive_together(Arena& arena, const Program& program, const Cut& cut,
                                               std::span<const NodeId> roots,
                                               const DeriveOptions& options) {
  return derive_roots(arena, program, cut, roots, options);
}

}  // namespace luminal::kernel
