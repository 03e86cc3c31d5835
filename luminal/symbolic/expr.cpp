// The handle: construction of symbols, queries, comparisons and logic.
#include "luminal/symbolic/expr.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "luminal/symbolic/node.h"

namespace luminal::symbolic {
namespace {

constexpr std::array<std::string_view, 6> kReservedWords{"min",      "max", "floor_div",
                                                         "ceil_div", "mod", "select"};

bool is_axis_name(std::string_view name) {
  return name.size() > 1 && name[0] == 'i' &&
         std::all_of(name.begin() + 1, name.end(), [](unsigned char c) { return std::isdigit(c); });
}

void check_variable_name(std::string_view name) {
  const auto is_word = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ||
      !std::all_of(name.begin(), name.end(), is_word))
    throw UserError("variable", "\"{}\" is no name: use letters, digits and _, no digit first",
                    name);
  if (is_axis_name(name))
    throw UserError("variable", "\"{}\" is the name of an axis: use Expr::axis or another name",
                    name);
  if (std::find(kReservedWords.begin(), kReservedWords.end(), name) != kReservedWords.end())
    throw UserError("variable", "\"{}\" is a word of the text form: use another name", name);
}

// Small constants are everywhere; looking them up once saves the table's lock.
const Node* constant_node(int64_t value) {
  constexpr int64_t kFirst = -64, kCount = 1024;
  static const auto* small = [] {
    auto* nodes = new std::array<const Node*, kCount>;
    for (int64_t k = 0; k < kCount; ++k)
      (*nodes)[k] = intern({.kind = Kind::kConstant, .value = kFirst + k}).node();
    return nodes;
  }();
  if (value >= kFirst && value < kFirst + kCount) return (*small)[value - kFirst];
  return intern({.kind = Kind::kConstant, .value = value}).node();
}

void check_logical(std::string_view operation, const Expr& expr) {
  const Interval bounds = expr.bounds();
  if (bounds.lo < 0 || bounds.hi > 1)
    throw UserError(operation, "{} may be other than 0 and 1: compare it with something first",
                    to_string(expr));
}

}  // namespace

int64_t signed_integer(uint64_t value) {
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    throw UserError("symbolic", "{} does not fit into 64 bits with a sign", value);
  return static_cast<int64_t>(value);
}

Expr::Expr() : Expr(int64_t{0}) {}
const Node* Expr::constant(int64_t value) { return constant_node(value); }

Expr Expr::variable(std::string_view name, Interval interval) {
  check_variable_name(name);
  if (interval.lo > interval.hi)
    throw UserError("variable", "{} has the empty interval [{}, {}]", name, interval.lo,
                    interval.hi);
  if (interval.lo == interval.hi) return Expr(interval.lo);
  return intern({.kind = Kind::kVariable, .interval = interval, .name = std::string(name)});
}

Expr Expr::axis(int64_t id, const Expr& extent) {
  if (id < 0) throw UserError("axis", "the id {} is negative", id);
  if (!extent.axes().empty())
    throw UserError("axis", "the extent {} of i{} holds an axis", to_string(extent), id);
  if (extent.is_constant(1)) return 0;
  return intern({.kind = Kind::kAxis, .value = id, .operands = {extent}});
}

bool Expr::is_constant() const { return node_->kind == Kind::kConstant; }
bool Expr::is_constant(int64_t value) const { return is_constant() && node_->value == value; }
bool Expr::is_variable() const { return node_->kind == Kind::kVariable; }
bool Expr::is_axis() const { return node_->kind == Kind::kAxis; }
uint64_t Expr::hash() const { return node_->hash; }
const std::vector<Expr>& Expr::variables() const { return node_->variables; }
const std::vector<Expr>& Expr::axes() const { return node_->axes; }

std::optional<int64_t> Expr::constant_value() const {
  if (!is_constant()) return std::nullopt;
  return node_->value;
}

std::string Expr::name() const {
  if (is_variable()) return node_->name;
  if (is_axis()) return fmt::format("i{}", node_->value);
  throw UserError("name", "{} is neither a variable nor an axis", to_string(*this));
}

int64_t Expr::axis_id() const {
  if (is_axis()) return node_->value;
  throw UserError("axis_id", "{} is no axis", to_string(*this));
}

Expr Expr::axis_extent() const {
  if (is_axis()) return node_->operands[0];
  throw UserError("axis_extent", "{} is no axis", to_string(*this));
}

bool Expr::depends_on(const Expr& symbol) const {
  const std::vector<Expr>& symbols = symbol.is_axis() ? axes() : variables();
  return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
}

Expr greater_equal(const Expr& a, const Expr& b) { return non_negative(a - b); }
Expr less_equal(const Expr& a, const Expr& b) { return non_negative(b - a); }
Expr greater(const Expr& a, const Expr& b) { return non_negative(a - b - 1); }
Expr less(const Expr& a, const Expr& b) { return non_negative(b - a - 1); }
Expr equal(const Expr& a, const Expr& b) { return is_zero(a - b); }
Expr not_equal(const Expr& a, const Expr& b) { return 1 - is_zero(a - b); }

Expr logical_and(const Expr& a, const Expr& b) {
  check_logical("logical_and", a);
  check_logical("logical_and", b);
  return a * b;
}

Expr logical_or(const Expr& a, const Expr& b) {
  check_logical("logical_or", a);
  check_logical("logical_or", b);
  return a + b - a * b;
}

Expr logical_not(const Expr& a) {
  check_logical("logical_not", a);
  return 1 - a;
}

Expr select(const Expr& condition, const Expr& a, const Expr& b) {
  check_logical("select", condition);
  return b + condition * (a - b);
}

Expr Affine::coefficient(const Expr& axis) const {
  for (const AffineTerm& term : terms) {
    if (term.axis == axis) return term.coefficient;
  }
  return 0;
}

std::optional<Affine> as_affine(const Expr& expr) {
  Affine result{.constant = expr, .terms = {}};
  for (const Expr& axis : expr.axes()) {
    // Absent at the top means that it occurs inside a floor-div or a test.
    const auto split = split_linear(result.constant, axis.node());
    if (!split || !split->coefficient.axes().empty()) return std::nullopt;
    result.terms.push_back({axis, split->coefficient});
    result.constant = split->rest;
  }
  if (!result.constant.axes().empty()) return std::nullopt;
  return result;
}

}  // namespace luminal::symbolic
