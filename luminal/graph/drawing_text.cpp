#include "luminal/graph/drawing_text.h"

namespace luminal::graph {

namespace {

bool is_scalar_constant(const Node& node) {
  return node.op == Op::kConstant && node.shape().empty();
}

struct AttributeText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(const InputAttribute& input) const { return "name = " + input.name; }
  std::string operator()(const ConstantAttribute& constant) const {
    const Array& value = constant.value;
    if (value.size() == 1) return "value = " + value.at(0).to_string();
    return fmt::format("{} values", value.size());
  }
  std::string operator()(const IotaAttribute& iota) const {
    return "value = " + to_string(iota.value);
  }
  std::string operator()(const ReduceAttribute& reduce) const {
    return fmt::format("last {} {} reduced", reduce.axes, reduce.axes == 1 ? "axis" : "axes");
  }
  std::string operator()(const ScatterAttribute& scatter) const {
    return fmt::format("mode = {}", name(scatter.mode));
  }
  std::string operator()(const ArgSortAttribute& sort) const {
    return sort.descending ? "descending" : "ascending";
  }
  std::string operator()(const PrintAttribute& print) const { return "label = " + print.label; }
  std::string operator()(const DiffAttribute& diff) const {
    return fmt::format("file = {}, atol = {}, rtol = {}", diff.file, diff.absolute_tolerance,
                       diff.relative_tolerance);
  }
  std::string operator()(const CustomAttribute& custom) const {
    return custom.function ? "function = " + custom.function->name : "";
  }
};

}  // namespace

std::string attribute_text(const Node& node) {
  return std::visit(AttributeText{}, node.attributes);
}

std::string title_text(const Node& node) {
  if (is_scalar_constant(node)) return node.attribute<ConstantAttribute>().value.at(0).to_string();
  if (!node.name.empty()) return node.name;
  if (node.op == Op::kInput) return node.attribute<InputAttribute>().name;
  return std::string(name(node.op));
}

std::string subtitle_text(const Node& node) {
  const std::string type = to_string(node.type);
  const bool says_op = !is_scalar_constant(node) && title_text(node) == name(node.op);
  return says_op || is_scalar_constant(node) ? type : fmt::format("{} {}", name(node.op), type);
}

std::string view_text(const Edge& edge) {
  return edge.view.is_identity() ? "" : edge.view.to_string();
}

}  // namespace luminal::graph
