#include "luminal/graph/text.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "luminal/graph/text_cursor.h"

namespace luminal::graph {
namespace {

/// Longer constants are written as bytes: their values would not be read by anybody.
constexpr int64_t kMaxListedElements = 16;

template <typename Range>
std::string join_exprs(const Range& exprs) {
  std::string text;
  for (const Expr& expr : exprs) {
    if (!text.empty()) text += ", ";
    text += symbolic::to_string(expr);
  }
  return text;
}

/// A double that cannot be mistaken for an integer.
std::string double_text(double value) {
  std::string text = fmt::format("{}", value);
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string conditions_text(const View& view) {
  std::string text;
  for (const Condition& condition : view.conditions())
    text += fmt::format("{}{} in [0, {})", text.empty() ? "if " : " and ", condition.value,
                        condition.extent);
  if (!text.empty()) text += " else " + view.fill().to_string();
  return text;
}

std::string hex_text(const Array& value) {
  std::string text = "hex\"";
  for (std::byte byte : value.bytes()) text += fmt::format("{:02x}", std::to_integer<int>(byte));
  return text + "\"";
}

/// Values as decimal text, if that text gives the same bits again (NaNs with a payload do not).
std::optional<std::string> listed_text(const Array& value) {
  if (value.size() > kMaxListedElements) return std::nullopt;
  Array again(value.dtype(), value.extents());
  std::string text;
  for (int64_t i = 0; i < value.size(); ++i) {
    if (i > 0) text += ", ";
    std::string element = value.at(i).to_string();
    again.set(i, Scalar::parse(value.dtype(), element));
    text += element;
  }
  if (!again.identical(value)) return std::nullopt;
  return value.extents().empty() ? text : "[" + text + "]";
}

std::string constant_text(const Array& value, const ConstantStore& store) {
  std::optional<std::string> listed = listed_text(value);
  if (listed) return *listed;
  return store ? fmt::format("@{}", store(value)) : hex_text(value);
}

std::string operands_text(const Node& node) {
  std::string text;
  for (const Edge& edge : node.operands) {
    text += text.empty() ? " " : ", ";
    text += to_text(edge, node.shape());
  }
  return text;
}

/// What follows the op's name: attributes that come first, operands, attributes with a key.
std::string arguments_text(const Node& node, const ConstantStore& store) {
  std::string operands = operands_text(node);
  if (is_reduction(node.op))
    return fmt::format("{} axes={}", operands, node.attribute<ReduceAttribute>().axes);
  switch (node.op) {
    case Op::kInput:
      return (node.attribute<InputAttribute>().weight ? " weight " : " ") +
             quoted(node.attribute<InputAttribute>().name);
    case Op::kConstant:
      return " " + constant_text(node.attribute<ConstantAttribute>().value, store);
    case Op::kIota:
      return " " + symbolic::to_string(node.attribute<IotaAttribute>().value);
    case Op::kScatter:
      return fmt::format("{} mode={}", operands, name(node.attribute<ScatterAttribute>().mode));
    case Op::kArgSort:
      return fmt::format("{} descending={}", operands,
                         node.attribute<ArgSortAttribute>().descending);
    case Op::kPrint:
      return " " + quoted(node.attribute<PrintAttribute>().label) + operands;
    case Op::kDiff: {
      const auto& diff = node.attribute<DiffAttribute>();
      return fmt::format(" {}{} atol={} rtol={}", quoted(diff.file), operands,
                         double_text(diff.absolute_tolerance),
                         double_text(diff.relative_tolerance));
    }
    case Op::kCustom:
      return " " + quoted(node.attribute<CustomAttribute>().function->name) + operands;
    default:
      return operands;
  }
}

/// The name is written where it is not the one that building the node gives.
std::string name_text(const Node& node) {
  const auto* input = std::get_if<InputAttribute>(&node.attributes);
  const std::string usual = input ? input->name : "";
  return node.name == usual ? "" : " name=" + quoted(node.name);
}

std::string node_text(const Node& node, const ConstantStore& store) {
  return fmt::format("{}[{}] = {}{}{}", node.dtype(), join_exprs(node.shape()), name(node.op),
                     arguments_text(node, store), name_text(node));
}

struct NamedValueText {
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return double_text(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(const std::vector<int64_t>& value) const {
    return fmt::format("[{}]", fmt::join(value, ", "));
  }
  std::string operator()(const Expr& value) const { return "{" + symbolic::to_string(value) + "}"; }
};

std::string word_text(const std::string& word) { return is_identifier(word) ? word : quoted(word); }

/// An edge that no node reads: nothing implies its domain.
std::string free_edge_text(const Edge& edge) {
  const bool is_scalar = edge.view.rank() == 0;
  // A shape that differs from the domain in rank, so that the domain is always written.
  return to_text(edge, is_scalar ? Shape{1} : Shape{});
}

std::string named_text(const NamedDefinition& definition) {
  std::string text =
      fmt::format("named {} = {}(", free_edge_text(definition.result), word_text(definition.name));
  const char* separator = "";
  for (const auto& [key, value] : definition.parameters) {
    text += fmt::format("{}{}={}", separator, word_text(key), std::visit(NamedValueText{}, value));
    separator = ", ";
  }
  text += ")";
  separator = " ";
  for (const Edge& edge : definition.operands) {
    text += separator + free_edge_text(edge);
    separator = ", ";
  }
  return text;
}

std::string bound_text(int64_t bound) {
  if (bound == symbolic::Interval::kNegInf) return "-inf";
  if (bound == symbolic::Interval::kPosInf) return "inf";
  return std::to_string(bound);
}

/// Every dim that occurs anywhere, with its interval.
class DimCollector {
 public:
  explicit DimCollector(const Graph& graph) : dims(graph.dims()) {
    for (const Node& node : graph.nodes()) {
      for (const Edge& edge : node.operands) add(edge.view);
      if (const auto* iota = std::get_if<IotaAttribute>(&node.attributes)) add(iota->value);
    }
    for (const Output& output : graph.outputs()) add(output.edge.view);
    for (const NamedDefinition& definition : graph.named()) {
      add(definition.result.view);
      for (const Edge& edge : definition.operands) add(edge.view);
      for (const auto& [key, value] : definition.parameters)
        if (const auto* expr = std::get_if<Expr>(&value)) add(*expr);
    }
  }

  std::map<std::string, symbolic::Interval> dims;

 private:
  void add(const Expr& expr) {
    for (const Expr& variable : expr.variables()) dims.emplace(variable.name(), variable.bounds());
  }
  void add(const View& view) {
    for (const Expr& extent : view.domain()) add(extent);
    for (const Expr& index : view.index()) add(index);
    for (const Condition& condition : view.conditions()) {
      add(condition.value);
      add(condition.extent);
    }
  }
};

}  // namespace

std::string to_text(const Edge& edge, const Shape& implied_domain) {
  const View& view = edge.view;
  std::string text = fmt::format("%{}", edge.node.value);
  if (view == View::identity(view.source())) return text;
  text += "[";
  if (view.domain() != implied_domain) {
    text += join_exprs(view.domain());
    text += view.rank() > 0 ? " -> " : "-> ";
  }
  text += join_exprs(view.index());
  std::string conditions = conditions_text(view);
  if (!conditions.empty() && !view.index().empty()) text += " ";
  return text + conditions + "]";
}

std::string to_text(const Node& node) { return node_text(node, {}); }

std::string to_text(const Graph& graph, const ConstantStore& store) {
  std::string text;
  for (const auto& [dim, interval] : DimCollector(graph).dims)
    text +=
        fmt::format("dim {}: [{}, {}]\n", dim, bound_text(interval.lo), bound_text(interval.hi));
  for (NodeId id : graph.ids())
    text += fmt::format("%{}: {}\n", id.value, node_text(graph.node(id), store));
  for (const Output& output : graph.outputs())
    text += fmt::format("output {} = {}\n", quoted(output.name), free_edge_text(output.edge));
  for (const NamedDefinition& definition : graph.named()) text += named_text(definition) + "\n";
  return text;
}

}  // namespace luminal::graph
