#include "luminal/graph/verify.h"

#include <fmt/format.h>

#include <set>

#include "luminal/graph/inference.h"
#include "luminal/support/error.h"

namespace luminal::graph {
namespace {

/// Does this op carry this kind of attribute?
bool fits(Op op, const Attributes& attributes) {
  if (is_reduction(op)) return std::holds_alternative<ReduceAttribute>(attributes);
  switch (op) {
    case Op::kInput:
      return std::holds_alternative<InputAttribute>(attributes);
    case Op::kConstant:
      return std::holds_alternative<ConstantAttribute>(attributes);
    case Op::kIota:
      return std::holds_alternative<IotaAttribute>(attributes);
    case Op::kScatter:
      return std::holds_alternative<ScatterAttribute>(attributes);
    case Op::kArgSort:
      return std::holds_alternative<ArgSortAttribute>(attributes);
    case Op::kPrint:
      return std::holds_alternative<PrintAttribute>(attributes);
    case Op::kDiff:
      return std::holds_alternative<DiffAttribute>(attributes);
    case Op::kCustom:
      return std::holds_alternative<CustomAttribute>(attributes);
    default:
      return std::holds_alternative<std::monostate>(attributes);
  }
}

/// True if some element of the domain surely exists, so that a bad index is surely reached.
bool surely_not_empty(const Shape& domain) {
  for (const Expr& extent : domain)
    if (extent.bounds().lo < 1) return false;
  return true;
}

/// The smallest or largest value of an index, which some element of the domain reads. Nothing if
/// the index is not affine, or the sign of a coefficient or the value itself is not known.
std::optional<Expr> extreme(const Expr& index, bool largest) {
  const std::optional<symbolic::Affine> affine = symbolic::as_affine(index);
  if (!affine) return std::nullopt;
  try {
    Expr value = affine->constant;
    for (const symbolic::AffineTerm& term : affine->terms) {
      const symbolic::Interval range = term.coefficient.bounds();
      if (range.lo < 0 && range.hi > 0) return std::nullopt;
      if ((range.lo >= 0) == largest) value += term.coefficient * (term.axis.axis_extent() - 1);
    }
    return value;
  } catch (const UserError&) {
    return std::nullopt;  // it does not fit into 64 bits
  }
}

/// Collects the problems of one graph.
class Verifier {
 public:
  explicit Verifier(const GraphParts& parts) : parts_(parts) {}

  std::vector<std::string> run() {
    for (size_t i = 0; i < parts_.nodes.size(); ++i) check_node(i);
    check_outputs();
    for (const NamedDefinition& definition : parts_.named) check_named(definition);
    return std::move(found_);
  }

 private:
  template <typename... Args>
  void report(fmt::format_string<Args...> format, Args&&... args) {
    found_.push_back(place_ + ": " + fmt::format(format, std::forward<Args>(args)...));
  }

  void check_node(size_t position) {
    const Node& node = parts_.nodes[position];
    place_ = fmt::format("%{} ({})", position, name(node.op));
    check_shape("shape", node.shape());
    const int arity = info(node.op).arity;
    if (arity >= 0 && arity != static_cast<int>(node.operands.size())) {
      report("takes {} operands, has {}", arity, node.operands.size());
      return;
    }
    bool operands_fit = true;
    for (size_t k = 0; k < node.operands.size(); ++k)
      operands_fit &= check_edge(fmt::format("operand {}", k), node.operands[k], position);
    if (!fits(node.op, node.attributes)) {
      report("has attributes of another op");
      return;
    }
    check_attributes(node);
    if (operands_fit) check_type(node);
  }

  /// `end` is the number of nodes that the edge may refer to. False if the node is out of range or
  /// the view is not one of it, so that nothing more can be said.
  bool check_edge(const std::string& what, const Edge& edge, size_t end) {
    if (edge.node.value >= end) {
      report("{} refers to %{}, which is not computed before", what, edge.node.value);
      return false;
    }
    const Node& source = parts_.nodes[edge.node.value];
    const View& view = edge.view;
    if (view.source() != source.shape()) {
      report("{} sees %{} of shape {} through a view of {}", what, edge.node.value,
             to_string(source.shape()), to_string(view.source()));
      return false;
    }
    check_shape(what + "'s domain", view.domain());
    for (const Expr& index : view.index()) check_expr(what, index, view.domain());
    for (const Condition& condition : view.conditions()) {
      check_expr(what, condition.value, view.domain());
      check_expr(what, condition.extent, {});
    }
    if (!view.conditions().empty() && view.fill().dtype() != source.dtype())
      report("{} is filled with {} but %{} holds {}", what, view.fill().dtype(), edge.node.value,
             source.dtype());
    check_range(what, view);
    return true;
  }

  /// An index that some element provably takes outside of the source, without a condition that
  /// guards it.
  void check_range(const std::string& what, const View& view) {
    if (!view.conditions().empty() || !surely_not_empty(view.domain())) return;
    for (size_t k = 0; k < view.index().size(); ++k) {
      const Expr& index = view.index()[k];
      const Expr lowest = extreme(index, false).value_or(index);
      const Expr highest = extreme(index, true).value_or(index);
      if (symbolic::provably_less(lowest, 0) || symbolic::provably_ge(highest, view.source()[k]))
        report("{} reads position {} of axis {}, which has extent {}", what, index, k,
               view.source()[k]);
    }
  }

  void check_shape(const std::string& what, const Shape& shape) {
    for (const Expr& extent : shape) {
      check_expr(what, extent, {});
      if (extent.bounds().hi < 0) report("{} {} has a negative extent", what, to_string(shape));
    }
  }

  /// Only axes of `domain`, and dims with the one interval that the graph knows.
  void check_expr(const std::string& what, const Expr& expr, const Shape& domain) {
    for (const Expr& axis : expr.axes()) {
      const auto id = static_cast<size_t>(axis.axis_id());
      if (axis.axis_id() < 0 || id >= domain.size())
        report("{} uses axis {}, which does not exist, in {}", what, axis, expr);
      else if (axis.axis_extent() != domain[id])
        report("{} uses axis {} with extent {} instead of {}", what, axis, axis.axis_extent(),
               domain[id]);
    }
    for (const Expr& variable : expr.variables()) {
      auto known = parts_.dims.find(variable.name());
      if (known == parts_.dims.end())
        report("{} uses the dim {}, which the graph does not know", what, variable);
      else if (known->second != variable.bounds())
        report("{} uses the dim {} in [{}, {}], which is in [{}, {}] in the graph", what, variable,
               variable.bounds().lo, variable.bounds().hi, known->second.lo, known->second.hi);
    }
  }

  void check_attributes(const Node& node) {
    if (const auto* input = std::get_if<InputAttribute>(&node.attributes)) {
      if (input->name.empty()) report("has no name to bind data to");
      if (!input_names_.insert(input->name).second)
        report("another input is named '{}'", input->name);
    } else if (const auto* constant = std::get_if<ConstantAttribute>(&node.attributes)) {
      const Array& value = constant->value;
      TensorType type{value.dtype(), Shape(value.extents().begin(), value.extents().end())};
      if (type != node.type)
        report("is {} but its value is {}", to_string(node.type), to_string(type));
    } else if (const auto* iota = std::get_if<IotaAttribute>(&node.attributes)) {
      check_expr("its value", iota->value, node.shape());
    } else if (const auto* custom = std::get_if<CustomAttribute>(&node.attributes)) {
      if (!custom->function || !custom->function->call) report("has no function");
    }
  }

  /// The type follows from the operands, and that also proves the domains.
  void check_type(const Node& node) {
    if (info(node.op).op_class == OpClass::kSource || node.op == Op::kCustom) return;
    try {
      const TensorType inferred = infer(node);
      if (inferred != node.type)
        report("is {} but its operands give {}", to_string(node.type), to_string(inferred));
    } catch (const UserError& error) {
      report("operands do not fit: {}", error.what());
    }
  }

  TensorType infer(const Node& node) const {
    std::vector<OperandType> types;
    for (const Edge& edge : node.operands)
      types.push_back({edge.view.domain(), parts_.nodes[edge.node.value].dtype()});
    if (node.op == Op::kCast || node.op == Op::kBitcast) {
      check_cast(node.op, types[0].dtype, node.dtype());
      return {node.dtype(), types[0].domain};
    }
    return infer_type(node.op, types, node.attributes);
  }

  void check_outputs() {
    std::set<std::string> names;
    for (const Output& output : parts_.outputs) {
      place_ = fmt::format("output '{}'", output.name);
      if (!names.insert(output.name).second) report("another output has this name");
      check_edge("it", output.edge, parts_.nodes.size());
    }
  }

  void check_named(const NamedDefinition& definition) {
    place_ = fmt::format("named definition '{}'", definition.name);
    if (definition.name.empty()) report("has no name");
    for (size_t k = 0; k < definition.operands.size(); ++k)
      check_edge(fmt::format("operand {}", k), definition.operands[k], parts_.nodes.size());
    check_edge("its result", definition.result, parts_.nodes.size());
    for (const auto& [key, value] : definition.parameters)
      if (const auto* expr = std::get_if<Expr>(&value)) check_expr(key, *expr, {});
  }

  const GraphParts& parts_;
  std::string place_;
  std::vector<std::string> found_;
  std::set<std::string> input_names_;
};

}  // namespace

GraphParts parts_of(const Graph& graph) {
  return {graph.nodes(), graph.outputs(), graph.named(), graph.dims()};
}

std::vector<std::string> problems(const GraphParts& parts) { return Verifier(parts).run(); }

std::vector<std::string> problems(const Graph& graph) { return problems(parts_of(graph)); }

void verify(const Graph& graph) {
  const std::vector<std::string> found = problems(graph);
  if (!found.empty())
    throw InternalError(fmt::format("the graph is broken:\n  {}", fmt::join(found, "\n  ")));
}

}  // namespace luminal::graph
