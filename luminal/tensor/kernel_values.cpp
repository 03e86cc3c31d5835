#include "luminal/tensor/kernel_values.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "luminal/support/error.h"
#include "luminal/support/text.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/graph.h"
#include "luminal/tensor/math.h"
#include "luminal/tensor/promotion.h"

namespace luminal::kernel_source {
namespace {

using Kind = KernelValue::Kind;
using Unary = Tensor (*)(const Tensor&);

const std::map<std::string, Unary, std::less<>>& functions() {
  static const std::map<std::string, Unary, std::less<>> table{
      {"exp", luminal::exp},     {"exp2", luminal::exp2},   {"expm1", luminal::expm1},
      {"log", luminal::log},     {"log2", luminal::log2},   {"log1p", luminal::log1p},
      {"sqrt", luminal::sqrt},   {"rsqrt", luminal::rsqrt}, {"sin", luminal::sin},
      {"cos", luminal::cos},     {"tan", luminal::tan},     {"asin", luminal::asin},
      {"acos", luminal::acos},   {"atan", luminal::atan},   {"sinh", luminal::sinh},
      {"cosh", luminal::cosh},   {"tanh", luminal::tanh},   {"erf", luminal::erf},
      {"floor", luminal::floor}, {"ceil", luminal::ceil},   {"round", luminal::round},
      {"trunc", luminal::trunc}, {"abs", luminal::abs},     {"fabs", luminal::abs},
      {"isnan", luminal::isnan}, {"isinf", luminal::isinf}, {"isfinite", luminal::isfinite}};
  return table;
}

bool is_larger(std::string_view name) { return name == "max" || name == "fmax"; }
bool is_smaller(std::string_view name) { return name == "min" || name == "fmin"; }

[[noreturn]] void unknown_function(const std::string& name) {
  std::vector<std::string> names{"pow", "fmod", "max", "min", "fmax", "fmin"};
  for (const auto& [each, unused] : functions()) names.push_back(each);
  throw UserError(name, "there is no such function{}", support::did_you_mean(name, names));
}

/// Division as C has it, where it is the one of positions.
bool divides_downward(const Dim& a, const Dim& b) {
  return symbolic::provably_ge(a, 0) && symbolic::provably_ge(b, 1);
}

}  // namespace

size_t KernelArithmetic::rank_of(const Dim& expr) {
  size_t rank = 0;
  for (const Dim& axis : expr.axes())
    rank = std::max(rank, static_cast<size_t>(axis.axis_id()) + 1);
  return rank;
}

Shape KernelArithmetic::domain(size_t rank) const {
  return {domain_.begin(), domain_.begin() + static_cast<std::ptrdiff_t>(rank)};
}

Tensor KernelArithmetic::expanded(const Tensor& tensor, size_t rank) const {
  graph::View view = tensor.edge().view;
  for (auto k = static_cast<size_t>(tensor.rank()); k < rank; ++k)
    view = view.insert_axis(static_cast<int>(k), domain_[k]);
  return build::with_view(tensor, std::move(view));
}

Tensor KernelArithmetic::data(const KernelValue& value, DType otherwise) const {
  if (value.kind == Kind::kData) return value.data;
  graph::Graph& graph = state_->graph;
  if (value.kind == Kind::kNumber)
    return {state_, graph.whole(graph.add_constant(Scalar::of(otherwise, value.number)))};
  const DType dtype = value.kind == Kind::kCondition ? DType::kBool : DType::kI64;
  if (const auto number = value.expr.constant_value())
    return {state_, graph.whole(graph.add_constant(Scalar::of(dtype, *number)))};
  const graph::NodeId id = graph.add_iota(dtype, domain(rank_of(value.expr)), value.expr);
  return {state_, graph.whole(id)};
}

Tensor KernelArithmetic::truth(const KernelValue& value) const {
  if (value.kind == Kind::kCondition) return data(value);
  if (value.kind == Kind::kData && value.data.dtype() == DType::kBool) return value.data;
  throw UserError("condition", "a condition is a comparison or a bool; write != 0");
}

std::pair<Tensor, Tensor> KernelArithmetic::together(const KernelValue& a,
                                                     const KernelValue& b) const {
  // A literal integer or fraction has no dtype until it meets one.
  const auto is_open = [](const KernelValue& value) {
    return value.kind == Kind::kNumber || (value.kind == Kind::kIndex && value.expr.is_constant());
  };
  const auto as = [&](const KernelValue& value, const KernelValue& other) {
    if (!is_open(value) || is_open(other)) return data(value);
    const Tensor like = data(other);
    const luminal::Value number = value.kind == Kind::kNumber
                                      ? luminal::Value(value.number)
                                      : luminal::Value(*value.expr.constant_value());
    return build::scalar_operand("literal", like, number);
  };
  const Tensor x = as(a, b), y = as(b, a);
  const auto rank = static_cast<size_t>(std::max(x.rank(), y.rank()));
  return {expanded(x, rank), expanded(y, rank)};
}

KernelValue KernelArithmetic::unary(const std::string& op, const KernelValue& value) const {
  if (op == "+") return value;
  if (op == "-") {
    if (value.kind == Kind::kIndex) return KernelValue::index(-value.expr);
    if (value.kind == Kind::kNumber) return KernelValue::fraction(-value.number);
    return KernelValue::of(-data(value));
  }
  if (op == "!") {
    if (value.kind == Kind::kCondition)
      return KernelValue::condition(symbolic::logical_not(value.expr));
    return KernelValue::of(luminal::logical_not(truth(value)));
  }
  return KernelValue::of(luminal::bit_not(data(value)));
}

KernelValue KernelArithmetic::on_exprs(const std::string& op, const KernelValue& a,
                                       const KernelValue& b) const {
  const Dim &x = a.expr, &y = b.expr;
  if (a.kind == Kind::kCondition && b.kind == Kind::kCondition) {
    if (op == "&&") return KernelValue::condition(symbolic::logical_and(x, y));
    if (op == "||") return KernelValue::condition(symbolic::logical_or(x, y));
  }
  if (op == "+") return KernelValue::index(x + y);
  if (op == "-") return KernelValue::index(x - y);
  if (op == "*") return KernelValue::index(x * y);
  if (op == "<") return KernelValue::condition(symbolic::less(x, y));
  if (op == "<=") return KernelValue::condition(symbolic::less_equal(x, y));
  if (op == ">") return KernelValue::condition(symbolic::greater(x, y));
  if (op == ">=") return KernelValue::condition(symbolic::greater_equal(x, y));
  if (op == "==") return KernelValue::condition(symbolic::equal(x, y));
  if (op == "!=") return KernelValue::condition(symbolic::not_equal(x, y));
  if (op == "/" && divides_downward(x, y)) return KernelValue::index(symbolic::floor_div(x, y));
  if (op == "%" && divides_downward(x, y)) return KernelValue::index(symbolic::mod(x, y));
  return on_data(op, a, b);
}

KernelValue KernelArithmetic::on_data(const std::string& op, const KernelValue& a,
                                      const KernelValue& b) const {
  if (op == "&&" || op == "||") {
    const auto [x, y] = together(KernelValue::of(truth(a)), KernelValue::of(truth(b)));
    return KernelValue::of(op == "&&" ? luminal::logical_and(x, y) : luminal::logical_or(x, y));
  }
  const auto [x, y] = together(a, b);
  const bool real = graph::is_float(promote(x.dtype(), y.dtype()));
  if (op == "+") return KernelValue::of(luminal::add(x, y));
  if (op == "-") return KernelValue::of(luminal::subtract(x, y));
  if (op == "*") return KernelValue::of(luminal::multiply(x, y));
  if (op == "/") return KernelValue::of(real ? luminal::divide(x, y) : luminal::trunc_div(x, y));
  if (op == "<") return KernelValue::of(luminal::less(x, y));
  if (op == "<=") return KernelValue::of(luminal::less_equal(x, y));
  if (op == ">") return KernelValue::of(luminal::greater(x, y));
  if (op == ">=") return KernelValue::of(luminal::greater_equal(x, y));
  if (op == "==") return KernelValue::of(luminal::equal(x, y));
  if (op == "!=") return KernelValue::of(luminal::not_equal(x, y));
  if (real) throw UserError(op, "takes integers, got {} and {}", x.dtype(), y.dtype());
  if (op == "%") return KernelValue::of(luminal::fmod(x, y));
  if (op == "&") return KernelValue::of(luminal::bit_and(x, y));
  if (op == "|") return KernelValue::of(luminal::bit_or(x, y));
  if (op == "^") return KernelValue::of(luminal::bit_xor(x, y));
  if (op == "<<") return KernelValue::of(luminal::shift_left(x, y));
  return KernelValue::of(luminal::shift_right(x, y));
}

KernelValue KernelArithmetic::binary(const std::string& op, const KernelValue& a,
                                     const KernelValue& b) const {
  if (a.is_expr() && b.is_expr()) return on_exprs(op, a, b);
  if (a.kind != Kind::kNumber || b.kind != Kind::kNumber) return on_data(op, a, b);
  if (op == "+") return KernelValue::fraction(a.number + b.number);
  if (op == "-") return KernelValue::fraction(a.number - b.number);
  if (op == "*") return KernelValue::fraction(a.number * b.number);
  if (op == "/") return KernelValue::fraction(a.number / b.number);
  return on_data(op, a, b);
}

KernelValue KernelArithmetic::call(const std::string& name,
                                   const std::vector<KernelValue>& arguments) const {
  const auto found = functions().find(name);
  const bool binary_function =
      name == "pow" || name == "fmod" || is_larger(name) || is_smaller(name);
  if (found == functions().end() && !binary_function) unknown_function(name);
  const size_t count = binary_function ? 2 : 1;
  if (arguments.size() != count)
    throw UserError(name, "takes {} argument{}, got {}", count, count == 1 ? "" : "s",
                    arguments.size());
  if (!binary_function) return KernelValue::of(found->second(data(arguments[0])));
  if (arguments[0].kind == Kind::kIndex && arguments[1].kind == Kind::kIndex) {
    const Dim &a = arguments[0].expr, &b = arguments[1].expr;
    if (is_larger(name)) return KernelValue::index(symbolic::max(a, b));
    if (is_smaller(name)) return KernelValue::index(symbolic::min(a, b));
  }
  const auto [x, y] = together(arguments[0], arguments[1]);
  if (name == "pow") return KernelValue::of(luminal::pow(x, y));
  if (name == "fmod") return KernelValue::of(luminal::fmod(x, y));
  return KernelValue::of(is_larger(name) ? luminal::maximum(x, y) : luminal::minimum(x, y));
}

KernelValue KernelArithmetic::select(const KernelValue& condition, const KernelValue& a,
                                     const KernelValue& b) const {
  if (condition.kind == Kind::kCondition && a.kind == Kind::kIndex && b.kind == Kind::kIndex)
    return KernelValue::index(symbolic::select(condition.expr, a.expr, b.expr));
  const Tensor test = truth(condition);
  auto [x, y] = together(a, b);
  const auto rank = static_cast<size_t>(std::max(test.rank(), x.rank()));
  const DType dtype = promote(x.dtype(), y.dtype());
  return KernelValue::of(luminal::where(expanded(test, rank),
                                        expanded(luminal::cast(x, dtype), rank),
                                        expanded(luminal::cast(y, dtype), rank)));
}

KernelValue KernelArithmetic::cast(const KernelValue& value, DType dtype) const {
  // Positions are wide enough for every tensor; narrower types may cut them.
  if (value.kind == Kind::kIndex && (dtype == DType::kI32 || dtype == DType::kI64)) return value;
  return KernelValue::of(
      luminal::cast(data(value, graph::is_float(dtype) ? dtype : DType::kF32), dtype));
}

}  // namespace luminal::kernel_source
