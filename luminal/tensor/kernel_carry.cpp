#include "luminal/tensor/kernel_carry.h"

#include <map>

#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/reduction.h"

namespace luminal::kernel_source {
namespace {

bool is_name(const Expression& expression, const std::string& name) {
  return expression.kind == Expression::Kind::kName && expression.text == name;
}

}  // namespace

std::optional<Carried> carried(const Statement& statement) {
  const Expression& value = *statement.value;
  if (statement.op == "+=" || statement.op == "-=") return Carried{Carry::kSum, &value};
  if (statement.op == "*=") return Carried{Carry::kProduct, &value};
  static const std::map<std::string, Carry, std::less<>> known{
      {"max", Carry::kLargest},   {"fmax", Carry::kLargest}, {"min", Carry::kSmallest},
      {"fmin", Carry::kSmallest}, {"+", Carry::kSum},        {"*", Carry::kProduct},
      {"||", Carry::kAny},        {"&&", Carry::kAll}};
  const bool is_pair = value.children.size() == 2 && (value.kind == Expression::Kind::kCall ||
                                                      value.kind == Expression::Kind::kBinary);
  const auto found = is_pair ? known.find(value.text) : known.end();
  if (found == known.end()) return std::nullopt;
  if (is_name(*value.children[0], statement.name))
    return Carried{found->second, value.children[1].get()};
  if (is_name(*value.children[1], statement.name))
    return Carried{found->second, value.children[0].get()};
  return std::nullopt;
}

Scalar neutral(Carry carry, DType dtype) {
  switch (carry) {
    case Carry::kSum:
    case Carry::kAny:
      return Scalar::of(dtype, 0);
    case Carry::kProduct:
    case Carry::kAll:
      return Scalar::of(dtype, 1);
    case Carry::kLargest:
      return Scalar::lowest(dtype);
    case Carry::kSmallest:
      break;
  }
  return Scalar::highest(dtype);
}

Tensor combined(Carry carry, const Tensor& a, const Tensor& b) {
  switch (carry) {
    case Carry::kSum:
      return a + b;
    case Carry::kProduct:
      return a * b;
    case Carry::kLargest:
      return maximum(a, b);
    case Carry::kSmallest:
      return minimum(a, b);
    case Carry::kAny:
      return logical_or(a, b);
    case Carry::kAll:
      break;
  }
  return logical_and(a, b);
}

Tensor reduced(Carry carry, const Tensor& value) {
  switch (carry) {
    case Carry::kSum:
      return luminal::sum(value, -1);
    case Carry::kProduct:
      return luminal::prod(value, -1);
    case Carry::kLargest:
      return luminal::max(value, -1);
    case Carry::kSmallest:
      return luminal::min(value, -1);
    case Carry::kAny:
      return luminal::any(value, -1);
    case Carry::kAll:
      break;
  }
  return luminal::all(value, -1);
}

}  // namespace luminal::kernel_source
