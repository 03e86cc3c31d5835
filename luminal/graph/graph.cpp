#include "luminal/graph/graph.h"

#include "luminal/graph/inference.h"
#include "luminal/support/check.h"

namespace luminal::graph {
namespace {

/// Attributes that an op has even if the caller gave none.
Attributes with_defaults(Op op, Attributes attributes) {
  if (!std::holds_alternative<std::monostate>(attributes)) return attributes;
  if (is_reduction(op)) return ReduceAttribute{};
  switch (op) {
    case Op::kScatter:
      return ScatterAttribute{};
    case Op::kArgSort:
      return ArgSortAttribute{};
    case Op::kPrint:
      return PrintAttribute{};
    case Op::kDiff:
      return DiffAttribute{};
    default:
      return attributes;
  }
}

}  // namespace

NodeId Graph::append(Node node) {
  for (const Edge& edge : node.operands) {
    LUMINAL_CHECK(edge.node.value < nodes_.size(), "operand %{} of {} is not in the graph",
                  edge.node.value, graph::name(node.op));
    LUMINAL_CHECK(edge.view.source() == nodes_[edge.node.value].shape(),
                  "{} sees %{} of shape {} through a view of {}", graph::name(node.op),
                  edge.node.value, to_string(nodes_[edge.node.value].shape()),
                  to_string(edge.view.source()));
  }
  note_dims(node.type.shape);
  for (const Edge& edge : node.operands) note_dims(edge.view);
  nodes_.push_back(std::move(node));
  return NodeId{static_cast<uint32_t>(nodes_.size() - 1)};
}

void Graph::note_dims(const Shape& shape) {
  for (const Expr& dim : shape) note_dims(dim);
}

void Graph::note_dims(const View& view) {
  note_dims(view.domain());
  for (const Expr& index : view.index()) note_dims(index);
  for (const Condition& condition : view.conditions()) {
    note_dims(condition.value);
    note_dims(condition.extent);
  }
}

void Graph::note_dims(const Expr& expr) {
  if (expr.is_constant()) return;
  for (const Expr& variable : expr.variables()) {
    const symbolic::Interval interval = variable.bounds();
    auto [entry, added] = dims_.try_emplace(variable.name(), interval);
    if (!added && entry->second != interval)
      throw UserError("dim",
                      "'{}' is in [{}, {}] here but in [{}, {}] elsewhere in the graph; declare it "
                      "once and reuse it",
                      variable.name(), interval.lo, interval.hi, entry->second.lo,
                      entry->second.hi);
  }
}

NodeId Graph::add_input(std::string name, DType dtype, Shape shape, bool weight) {
  if (name.empty()) throw UserError("input", "an input needs a name");
  if (inputs_.contains(name))
    throw UserError("input", "there is an input named '{}' already; choose another name", name);
  for (const Expr& dim : shape)
    if (dim.bounds().hi < 0)
      throw UserError("input", "'{}' has a negative extent in {}", name, to_string(shape));
  NodeId id =
      append({Op::kInput, {}, {dtype, std::move(shape)}, InputAttribute{name, weight}, name});
  inputs_.emplace(std::move(name), id);
  return id;
}

NodeId Graph::add_constant(const Scalar& value) {
  Array array(value.dtype(), {});
  array.set(0, value);
  return add_constant(std::move(array));
}

NodeId Graph::add_constant(Array value) {
  Shape shape(value.extents().begin(), value.extents().end());
  DType dtype = value.dtype();
  return append(
      {Op::kConstant, {}, {dtype, std::move(shape)}, ConstantAttribute{std::move(value)}, {}});
}

NodeId Graph::add_iota(DType dtype, Shape shape, Expr value) {
  note_dims(value);
  return append({Op::kIota, {}, {dtype, std::move(shape)}, IotaAttribute{value}, {}});
}

NodeId Graph::add_custom(std::shared_ptr<const CustomFunction> function, std::vector<Edge> operands,
                         TensorType type) {
  LUMINAL_CHECK(function != nullptr);
  return append({Op::kCustom,
                 std::move(operands),
                 std::move(type),
                 CustomAttribute{std::move(function)},
                 {}});
}

NodeId Graph::add_cast(Op op, Edge operand, DType dtype) {
  LUMINAL_CHECK(op == Op::kCast || op == Op::kBitcast);
  check_cast(op, node(operand.node).dtype(), dtype);
  TensorType type{dtype, operand.view.domain()};
  return append({op, {std::move(operand)}, std::move(type), {}, {}});
}

NodeId Graph::add(Op op, std::vector<Edge> operands, Attributes attributes) {
  std::vector<OperandType> types;
  for (const Edge& edge : operands) types.push_back({edge.view.domain(), node(edge.node).dtype()});
  attributes = with_defaults(op, std::move(attributes));
  TensorType type = infer_type(op, types, attributes);
  return append({op, std::move(operands), std::move(type), std::move(attributes), {}});
}

NodeId Graph::add_like(const Node& node, std::vector<Edge> operands) {
  NodeId id = [&] {
    switch (node.op) {
      case Op::kInput:
        return add_input(node.attribute<InputAttribute>().name, node.dtype(), node.shape(),
                         node.attribute<InputAttribute>().weight);
      case Op::kConstant:
        return add_constant(node.attribute<ConstantAttribute>().value);
      case Op::kIota:
        return add_iota(node.dtype(), node.shape(), node.attribute<IotaAttribute>().value);
      case Op::kCustom:
        return add_custom(node.attribute<CustomAttribute>().function, std::move(operands),
                          node.type);
      case Op::kCast:
      case Op::kBitcast:
        return add_cast(node.op, std::move(operands.at(0)), node.dtype());
      default:
        return add(node.op, std::move(operands), node.attributes);
    }
  }();
  nodes_.back().name = node.name;
  return id;
}

const Node& Graph::node(NodeId id) const {
  LUMINAL_CHECK(id.value < nodes_.size(), "no node %{} in a graph of {} nodes", id.value,
                nodes_.size());
  return nodes_[id.value];
}

std::vector<NodeId> Graph::ids() const {
  std::vector<NodeId> all(nodes_.size());
  for (uint32_t i = 0; i < all.size(); ++i) all[i] = NodeId{i};
  return all;
}

void Graph::set_name(NodeId id, std::string name) {
  LUMINAL_CHECK(id.value < nodes_.size());
  nodes_[id.value].name = std::move(name);
}

void Graph::add_output(std::string name, Edge edge) {
  LUMINAL_CHECK(edge.view.source() == node(edge.node).shape(),
                "output '{}' sees %{} through an unfit view", name, edge.node.value);
  for (const Output& output : outputs_)
    if (output.name == name)
      throw UserError("output", "there is an output named '{}' already; choose another name", name);
  note_dims(edge.view);
  outputs_.push_back({std::move(name), std::move(edge)});
}

void Graph::add_named(NamedDefinition definition) {
  for (const Edge& edge : definition.operands)
    LUMINAL_CHECK(edge.view.source() == node(edge.node).shape());
  LUMINAL_CHECK(definition.result.view.source() == node(definition.result.node).shape());
  note_dims(definition.result.view);
  for (const Edge& edge : definition.operands) note_dims(edge.view);
  for (const auto& [key, value] : definition.parameters)
    if (const auto* expr = std::get_if<Expr>(&value)) note_dims(*expr);
  named_.push_back(std::move(definition));
}

std::optional<NodeId> Graph::find_input(std::string_view name) const {
  auto found = inputs_.find(name);
  if (found == inputs_.end()) return std::nullopt;
  return found->second;
}

}  // namespace luminal::graph
