#include "luminal/graph/constant_folding.h"

#include <algorithm>

#include "luminal/graph/program.h"
#include "luminal/graph/rewriter.h"
#include "luminal/graph/uniform.h"

namespace luminal::graph {
namespace {

/// Number of elements if all extents are known and the product is at most `limit`.
std::optional<int64_t> count_up_to(const Shape& shape, int64_t limit) {
  int64_t count = 1;
  for (const Expr& extent : shape) {
    const std::optional<int64_t> value = extent.constant_value();
    if (!value || *value < 0) return std::nullopt;
    if (*value == 0) return 0;
    if (count > limit / *value) return std::nullopt;
    count *= *value;
  }
  return count;
}

/// True if reading through the view needs no values of dims.
bool is_static(const View& view) {
  auto free_of_dims = [](const Expr& expr) { return expr.variables().empty(); };
  return std::all_of(view.index().begin(), view.index().end(), free_of_dims) &&
         std::all_of(view.conditions().begin(), view.conditions().end(), [&](const Condition& c) {
           return free_of_dims(c.value) && free_of_dims(c.extent);
         });
}

/// The value of a graph without inputs, if computing it does not fail.
std::optional<Array> evaluate(Graph graph, NodeId result) {
  graph.add_output("value", graph.whole(result));
  try {
    return make_interpreter(std::move(graph))->run({}).at(0);
  } catch (const UserError&) {
    return std::nullopt;
  }
}

/// An elementwise op of values that are the same everywhere is computed once.
std::optional<Edge> fold_uniform(Graph& to, const Node& node) {
  if (!is_elementwise(node.op) || node.operands.empty()) return std::nullopt;
  Graph scalars;
  std::vector<Edge> operands;
  for (const Edge& edge : node.operands) {
    const std::optional<Scalar> value = uniform_value(to, edge);
    if (!value) return std::nullopt;
    operands.push_back(scalars.whole(scalars.add_constant(*value)));
  }
  const NodeId result = scalars.add_like(node, std::move(operands));
  const std::optional<Array> value = evaluate(std::move(scalars), result);
  if (!value) return std::nullopt;
  return add_uniform(to, value->at(0), node.shape());
}

bool is_small_enough(const Node& node, const ConstantFoldingOptions& options) {
  if (!count_up_to(node.shape(), options.max_elements)) return false;
  int64_t work = 0;
  for (const Edge& edge : node.operands) {
    const std::optional<int64_t> count = count_up_to(edge.view.domain(), options.max_work);
    if (!count) return false;
    work += *count;
  }
  return work <= options.max_work;
}

Edge add_value(Graph& to, const Array& value, const Shape& shape) {
  if (std::optional<Scalar> uniform = uniform_value(value)) return add_uniform(to, *uniform, shape);
  return to.whole(to.add_constant(value));
}

std::optional<Edge> fold_constants(Graph& to, const Node& node,
                                   const ConstantFoldingOptions& options) {
  if (node.operands.empty() || !is_small_enough(node, options)) return std::nullopt;
  Graph small;
  std::vector<Edge> operands;
  for (const Edge& edge : node.operands) {
    const Node& source = to.node(edge.node);
    if (source.op != Op::kConstant || !is_static(edge.view)) return std::nullopt;
    operands.push_back(
        {edge.view, small.add_constant(source.attribute<ConstantAttribute>().value)});
  }
  const NodeId result = small.add_like(node, std::move(operands));
  const std::optional<Array> value = evaluate(std::move(small), result);
  if (!value) return std::nullopt;
  return add_value(to, *value, node.shape());
}

/// Sources that are one value in all elements.
std::optional<Edge> fold_source(Graph& to, const Node& node) {
  if (node.op == Op::kConstant && !node.shape().empty()) {
    if (std::optional<Scalar> value = uniform_value(node.attribute<ConstantAttribute>().value))
      return add_uniform(to, *value, node.shape());
  } else if (node.op == Op::kIota) {
    if (std::optional<int64_t> value = node.attribute<IotaAttribute>().value.constant_value())
      return add_uniform(to, Scalar::of(node.dtype(), *value), node.shape());
  }
  return std::nullopt;
}

std::optional<Edge> fold(Graph& to, const Node& node, const ConstantFoldingOptions& options) {
  switch (info(node.op).op_class) {
    case OpClass::kBarrier:
      return std::nullopt;
    case OpClass::kSource:
      return fold_source(to, node);
    default:
      if (std::optional<Edge> value = fold_uniform(to, node)) return value;
      return fold_constants(to, node, options);
  }
}

}  // namespace

Pass constant_folding(const ConstantFoldingOptions& options) {
  return node_pass("constant_folding", [options](Rewriter& rewriter, const Node& node) {
    return fold(rewriter.to(), node, options);
  });
}

}  // namespace luminal::graph
