#include "luminal/plan/record_writer.h"

#include <bit>

#include "luminal/support/check.h"

namespace luminal::plan {
namespace {

using graph::Node;
using symbolic::Expr;

void append_number(std::string& out, uint64_t value) {
  for (int i = 0; i < 8; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

void append_text(std::string& out, std::string_view text) {
  append_number(out, text.size());
  out += text;
}

}  // namespace

void RecordWriter::number(uint64_t value) { append_number(bytes_, value); }
void RecordWriter::real(double value) { number(std::bit_cast<uint64_t>(value)); }
void RecordWriter::text(std::string_view text) { append_text(bytes_, text); }

void RecordWriter::numbers(const std::vector<size_t>& values) {
  list(values, [&](size_t value) { number(value); });
}

void RecordWriter::note_dims(const Expr& expr) {
  for (const Expr& variable : expr.variables()) {
    const auto [found, is_new] = dims_.emplace(variable.name(), variable.bounds());
    LUMINAL_CHECK(is_new || found->second == variable.bounds(),
                  "one dim has two intervals in a plan");
  }
}

size_t RecordWriter::text_number(const std::string& text) {
  const auto [found, is_new] = expr_numbers_.emplace(text, exprs_.size());
  if (is_new) exprs_.push_back(text);
  return found->second;
}

void RecordWriter::expr(const Expr& expr) {
  note_dims(expr);
  number(text_number(symbolic::to_string(expr)));
}

void RecordWriter::shape(const graph::Shape& shape) {
  list(shape, [&](const Expr& extent) { expr(extent); });
}

void RecordWriter::type(const graph::TensorType& type) {
  text(graph::name(type.dtype));
  shape(type.shape);
}

void RecordWriter::edge(const graph::Edge& edge) {
  const graph::View& view = edge.view;
  number(edge.node.value);
  shape(view.source());
  shape(view.domain());
  for (const Expr& index : view.index()) note_dims(index);
  for (const graph::Condition& condition : view.conditions()) {
    note_dims(condition.value);
    note_dims(condition.extent);
  }
  text(graph::name(view.fill().dtype()));
  text(view.to_string());
}

void RecordWriter::node(const Node& node) {
  text(graph::name(node.op));
  list(node.operands, [&](const graph::Edge& operand) { edge(operand); });
  type(node.type);
  text(node.name);
  if (const auto* scatter = std::get_if<graph::ScatterAttribute>(&node.attributes)) {
    number(static_cast<uint64_t>(scatter->mode));
  } else if (const auto* sort = std::get_if<graph::ArgSortAttribute>(&node.attributes)) {
    number(sort->descending ? 1 : 0);
  } else if (const auto* print = std::get_if<graph::PrintAttribute>(&node.attributes)) {
    text(print->label);
  } else if (const auto* diff = std::get_if<graph::DiffAttribute>(&node.attributes)) {
    text(diff->file);
    real(diff->absolute_tolerance);
    real(diff->relative_tolerance);
  } else {
    LUMINAL_CHECK(std::holds_alternative<std::monostate>(node.attributes),
                  "a node with attributes that no plan can keep");
  }
}

std::string RecordWriter::take() const {
  std::string tables;
  append_number(tables, dims_.size());
  for (const auto& [name, interval] : dims_) {
    append_text(tables, name);
    append_number(tables, static_cast<uint64_t>(interval.lo));
    append_number(tables, static_cast<uint64_t>(interval.hi));
  }
  append_number(tables, exprs_.size());
  for (const std::string& expr : exprs_) append_text(tables, expr);
  return tables + bytes_;
}

}  // namespace luminal::plan
