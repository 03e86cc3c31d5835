#include "luminal/kernel/text.h"

#include <fmt/core.h>

#include <cctype>

namespace luminal::kernel {

std::string reduction_name(Op op) {
  return op == Op::kSum ? "sum" : op == Op::kProd ? "prod" : "max";
}

std::string TextWriter::tensor(NodeId id) const {
  const auto found = tensors_.find(id);
  return found == tensors_.end() ? fmt::format("t{}", id.value) : found->second;
}

std::string TextWriter::axis(const Expr& axis) const {
  if (is_value_axis(axis)) return value(body_of_value(axis));
  const auto found = axes_.find(axis.axis_id());
  if (found != axes_.end()) return found->second;
  if (is_output_axis(axis)) return axis.name();
  const int64_t id = axis.axis_id() - kFirstBoundAxis;
  const int64_t k = id % kAxesPerHeight;
  return fmt::format("r{}{}", id / kAxesPerHeight, k == 0 ? "" : fmt::format("_{}", k));
}

std::string TextWriter::expr(const Expr& expr) const {
  // The readable text names axes i<id>; each such word is replaced by the axis's own name.
  const std::string plain = symbolic::to_string(expr);
  std::map<std::string, std::string> names;
  for (const Expr& axis : expr.axes()) names[axis.name()] = this->axis(axis);
  std::string text;
  for (size_t at = 0; at < plain.size();) {
    size_t end = at;
    while (end < plain.size() &&
           (std::isalnum(static_cast<unsigned char>(plain[end])) != 0 || plain[end] == '_'))
      ++end;
    if (end == at) {
      text += plain[at++];
      continue;
    }
    const std::string word = plain.substr(at, end - at);
    const auto found = names.find(word);
    text += found == names.end() ? word : found->second;
    at = end;
  }
  return text;
}

std::string TextWriter::index(const std::vector<Expr>& index) const {
  std::string text = "[";
  for (const Expr& position : index) text += (text.size() > 1 ? ", " : "") + expr(position);
  return text + "]";
}

std::string TextWriter::axes(const std::vector<Expr>& axes) const {
  std::string text;
  for (const Expr& one : axes)
    text += fmt::format("{}{}<{}", text.empty() ? "" : ", ", axis(one), one.axis_extent());
  return text;
}

std::string TextWriter::op_text(const BodyNode& node) const {
  const auto operand = [&](size_t k) { return value(node.children[k]); };
  switch (node.op) {
    case Op::kAdd:
      return fmt::format("({} + {})", operand(0), operand(1));
    case Op::kMul:
      return fmt::format("({} * {})", operand(0), operand(1));
    case Op::kDiv:
      return fmt::format("({} / {})", operand(0), operand(1));
    case Op::kLessThan:
      return fmt::format("({} < {})", operand(0), operand(1));
    case Op::kEqual:
      return fmt::format("({} == {})", operand(0), operand(1));
    case Op::kCast:
      return fmt::format("{}({})", graph::name(node.dtype), operand(0));
    default:
      break;
  }
  std::string text;
  for (size_t k = 0; k < node.children.size(); ++k) text += (k > 0 ? ", " : "") + operand(k);
  return fmt::format("{}({})", graph::name(node.op), text);
}

std::string TextWriter::value(BodyId id) const {
  if (const auto found = names_.find(id); found != names_.end()) return found->second;
  const BodyNode& node = arena_[id];
  switch (node.kind) {
    case BodyKind::kLoad:
      return tensor(node.tensor) + index(node.exprs);
    case BodyKind::kConstant:
      return node.constant.to_string();
    case BodyKind::kIota:
      return fmt::format("{}({})", graph::name(node.dtype), expr(node.exprs[0]));
    case BodyKind::kOp:
      return op_text(node);
    case BodyKind::kWhere: {
      std::string tests;
      for (const Expr& test : node.exprs) tests += (tests.empty() ? "" : " && ") + expr(test);
      return fmt::format("({} ? {} : {})", tests, value(node.children[0]), value(node.children[1]));
    }
    case BodyKind::kReduce:
      break;
  }
  return fmt::format("{} {}: {}", reduction_name(node.op), axes(node.exprs),
                     value(node.children[0]));
}

}  // namespace luminal::kernel
