#include "luminal/tensor/arithmetic.h"

#include "luminal/support/error.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/math.h"
#include "luminal/tensor/promotion.h"

namespace luminal {
namespace {

using graph::Op;

/// Two operands of one dtype.
struct Pair {
  Tensor lhs;
  Tensor rhs;
};

/// Turns numbers into tensors and promotes to a common dtype.
Pair promoted(std::string_view operation, const Operand& lhs, const Operand& rhs) {
  if (!lhs.tensor() && !rhs.tensor())
    throw UserError(operation, "needs a tensor on one side at least");
  Tensor left =
      lhs.tensor() ? *lhs.tensor() : build::scalar_operand(operation, *rhs.tensor(), lhs.value());
  Tensor right =
      rhs.tensor() ? *rhs.tensor() : build::scalar_operand(operation, *lhs.tensor(), rhs.value());
  const DType dtype = promote(left.dtype(), right.dtype());
  return {cast(left, dtype), cast(right, dtype)};
}

/// Brings both to one shape.
Pair broadcast(std::string_view operation, const Pair& pair) {
  std::vector<Tensor> both = build::broadcast(operation, {pair.lhs, pair.rhs});
  return {both[0], both[1]};
}

/// Two operands of one dtype and shape.
Pair prepare(std::string_view operation, const Operand& lhs, const Operand& rhs) {
  return broadcast(operation, promoted(operation, lhs, rhs));
}

/// The same for truth values.
Pair prepare_bools(std::string_view operation, const Operand& lhs, const Operand& rhs) {
  Pair pair = prepare(operation, lhs, rhs);
  return {to_bool(pair.lhs), to_bool(pair.rhs)};
}

Tensor binary(std::string_view operation, Op op, const Operand& lhs, const Operand& rhs) {
  Pair pair = prepare(operation, lhs, rhs);
  return build::apply(op, {pair.lhs, pair.rhs});
}

void refuse_bool(std::string_view operation, const Tensor& x) {
  if (graph::is_bool(x.dtype()))
    throw UserError(operation, "is not defined for bool; cast to a number, or use the logical ops");
}

Tensor arithmetic(std::string_view operation, Op op, const Operand& lhs, const Operand& rhs) {
  Pair pair = prepare(operation, lhs, rhs);
  refuse_bool(operation, pair.lhs);
  return build::apply(op, {pair.lhs, pair.rhs});
}

/// Where a quotient rounded toward zero is one above the floor: the rest is not zero and has not
/// the divisor's sign.
Tensor truncation_is_above(const Tensor& rest, const Tensor& divisor) {
  return logical_and(not_equal(rest, 0), not_equal(less(rest, 0), less(divisor, 0)));
}

/// Rounding a/b could reach the next integer; a - rest is divisible, so its quotient is within one
/// ulp of the right one. Only the sign of a zero, and division by zero, are taken from a/b.
Tensor floor_div_floats(const Tensor& a, const Tensor& b) {
  Tensor rest = fmod(a, b);
  Tensor quotient = round((a - rest) / b - cast(truncation_is_above(rest, b), a.dtype()));
  Tensor by_division = a / b;
  Tensor nonzero = where(equal(b, 0), by_division, quotient);
  return where(equal(nonzero, 0), floor(by_division), nonzero);
}

/// A shift amount in the dtype of what is shifted. Casting could wrap a wide amount into range; -1
/// is out of range in every dtype, so it stands for all that are.
Tensor shift_amount(const Tensor& x, const Operand& amount) {
  const int width = graph::bits(x.dtype());
  if (!amount.tensor()) {
    if (const auto* number = std::get_if<int64_t>(&amount.value().variant()))
      return x.graph().constant(
          Scalar::of(x.dtype(), *number >= 0 && *number < width ? *number : -1));
    if (!std::holds_alternative<Dim>(amount.value().variant()))
      return build::scalar(x, amount.value(), f32);
  }
  Tensor count = amount.tensor() ? *amount.tensor() : build::scalar(x, amount.value(), i64);
  if (count.dtype() == x.dtype() || !graph::is_integer(count.dtype())) return count;
  Tensor wide = cast(count, i64);
  Tensor in_range = logical_and(greater_equal(wide, 0), less(wide, width));
  return cast(where(in_range, wide, -1), x.dtype());
}

Tensor shift(std::string_view operation, Op op, const Tensor& x, const Operand& amount) {
  Tensor count = shift_amount(x, amount);
  if (!graph::is_integer(x.dtype()) || !graph::is_integer(count.dtype()))
    throw UserError(operation, "needs integers, got {} and {}", x.dtype(), count.dtype());
  return build::apply(op, build::broadcast(operation, {x, count}));
}

}  // namespace

Tensor add(const Operand& lhs, const Operand& rhs) { return arithmetic("add", Op::kAdd, lhs, rhs); }

Tensor subtract(const Operand& lhs, const Operand& rhs) {
  Pair pair = promoted("subtract", lhs, rhs);
  refuse_bool("subtract", pair.lhs);
  // Negated before it is broadcast, where it is smaller.
  pair = broadcast("subtract", {pair.lhs, -pair.rhs});
  return build::apply(Op::kAdd, {pair.lhs, pair.rhs});
}

Tensor multiply(const Operand& lhs, const Operand& rhs) {
  return arithmetic("multiply", Op::kMul, lhs, rhs);
}

Tensor divide(const Operand& lhs, const Operand& rhs) {
  Pair pair = prepare("divide", lhs, rhs);
  return build::apply(Op::kDiv, {build::to_float(pair.lhs), build::to_float(pair.rhs)});
}

Tensor trunc_div(const Operand& lhs, const Operand& rhs) {
  auto [a, b] = prepare("trunc_div", lhs, rhs);
  refuse_bool("trunc_div", a);
  if (graph::is_integer(a.dtype())) return build::apply(Op::kDiv, {a, b});
  return cast(trunc(build::apply(Op::kDiv, {build::widen(a), build::widen(b)})), a.dtype());
}

Tensor floor_div(const Operand& lhs, const Operand& rhs) {
  auto [a, b] = prepare("floor_div", lhs, rhs);
  refuse_bool("floor_div", a);
  if (graph::is_unsigned(a.dtype())) return build::apply(Op::kDiv, {a, b});
  if (graph::is_integer(a.dtype()))
    return build::apply(Op::kDiv, {a, b}) - cast(truncation_is_above(fmod(a, b), b), a.dtype());
  return cast(floor_div_floats(build::widen(a), build::widen(b)), a.dtype());
}

Tensor remainder(const Operand& lhs, const Operand& rhs) {
  auto [a, b] = prepare("remainder", lhs, rhs);
  refuse_bool("remainder", a);
  Tensor rest = build::apply(Op::kMod, {a, b});
  if (graph::is_unsigned(a.dtype())) return rest;
  return where(truncation_is_above(rest, b), rest + b, rest);
}

Tensor fmod(const Operand& lhs, const Operand& rhs) {
  return arithmetic("fmod", Op::kMod, lhs, rhs);
}

Tensor pow(const Operand& lhs, const Operand& rhs) { return arithmetic("pow", Op::kPow, lhs, rhs); }

namespace {

Tensor smaller(std::string_view operation, const Operand& lhs, const Operand& rhs) {
  auto [a, b] = prepare(operation, lhs, rhs);
  // ~ reverses the order of integers without overflow, - that of floats.
  if (graph::is_float(a.dtype())) return -build::apply(Op::kMax, {-a, -b});
  return bit_not(build::apply(Op::kMax, {bit_not(a), bit_not(b)}));
}

}  // namespace

Tensor maximum(const Operand& lhs, const Operand& rhs) {
  return binary("maximum", Op::kMax, lhs, rhs);
}

Tensor minimum(const Operand& lhs, const Operand& rhs) { return smaller("minimum", lhs, rhs); }

Tensor clip(const Tensor& x, const Operand& low, const Operand& high) {
  return smaller("clip", binary("clip", Op::kMax, x, low), high);
}

Tensor less(const Operand& lhs, const Operand& rhs) {
  return binary("less", Op::kLessThan, lhs, rhs);
}

Tensor less_equal(const Operand& lhs, const Operand& rhs) {
  auto [a, b] = prepare("less_equal", lhs, rhs);
  return logical_or(build::apply(Op::kLessThan, {a, b}), build::apply(Op::kEqual, {a, b}));
}

Tensor greater(const Operand& lhs, const Operand& rhs) {
  return binary("greater", Op::kLessThan, rhs, lhs);
}

Tensor greater_equal(const Operand& lhs, const Operand& rhs) {
  auto [a, b] = prepare("greater_equal", lhs, rhs);
  return logical_or(build::apply(Op::kLessThan, {b, a}), build::apply(Op::kEqual, {a, b}));
}

Tensor equal(const Operand& lhs, const Operand& rhs) {
  return binary("equal", Op::kEqual, lhs, rhs);
}

Tensor not_equal(const Operand& lhs, const Operand& rhs) {
  return logical_not(binary("not_equal", Op::kEqual, lhs, rhs));
}

Tensor to_bool(const Tensor& x) { return cast(x, boolean); }

Tensor logical_and(const Operand& lhs, const Operand& rhs) {
  auto [a, b] = prepare_bools("logical_and", lhs, rhs);
  return build::apply(Op::kBitAnd, {a, b});
}

Tensor logical_or(const Operand& lhs, const Operand& rhs) {
  auto [a, b] = prepare_bools("logical_or", lhs, rhs);
  return build::apply(Op::kBitOr, {a, b});
}

Tensor logical_xor(const Operand& lhs, const Operand& rhs) {
  auto [a, b] = prepare_bools("logical_xor", lhs, rhs);
  return build::apply(Op::kBitXor, {a, b});
}

Tensor logical_not(const Tensor& x) { return bit_not(to_bool(x)); }

Tensor bit_and(const Operand& lhs, const Operand& rhs) {
  return binary("bit_and", Op::kBitAnd, lhs, rhs);
}
Tensor bit_or(const Operand& lhs, const Operand& rhs) {
  return binary("bit_or", Op::kBitOr, lhs, rhs);
}
Tensor bit_xor(const Operand& lhs, const Operand& rhs) {
  return binary("bit_xor", Op::kBitXor, lhs, rhs);
}

Tensor bit_not(const Tensor& x) {
  return build::apply(
      Op::kBitXor,
      {x, build::full_like(x, Scalar::of(x.dtype(), graph::is_bool(x.dtype()) ? 1 : -1))});
}

Tensor shift_left(const Tensor& x, const Operand& amount) {
  return shift("shift_left", Op::kShiftLeft, x, amount);
}
Tensor shift_right(const Tensor& x, const Operand& amount) {
  return shift("shift_right", Op::kShiftRight, x, amount);
}

Tensor where(const Tensor& condition, const Operand& a, const Operand& b) {
  if (!graph::is_bool(condition.dtype()))
    throw UserError("where", "the condition must be bool, got {}; compare it with 0",
                    condition.dtype());
  Pair pair;
  if (a.tensor() || b.tensor()) {
    pair = prepare("where", a, b);
  } else {
    const bool fraction = a.value().is_fraction() || b.value().is_fraction();
    const bool logic = a.value().is_bool() && b.value().is_bool();
    const DType dtype = fraction ? f32 : logic ? boolean : i64;
    pair = {build::scalar(condition, a.value(), dtype), build::scalar(condition, b.value(), dtype)};
  }
  return build::apply(Op::kSelect, build::broadcast("where", {condition, pair.lhs, pair.rhs}));
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value) {
  if (!value.tensor()) build::check_fits("masked_fill", value.value(), x.dtype());
  Tensor fill = value.tensor() ? cast(*value.tensor(), x.dtype())
                               : build::scalar(x, value.value(), x.dtype());
  Tensor filled = where(to_bool(mask), fill, x);
  return build::named("masked_fill", {x, mask, fill}, {}, filled);
}

Tensor operator-(const Tensor& x) {
  refuse_bool("negate", x);
  return build::apply(Op::kMul, {x, build::full_like(x, -1)});
}
Tensor operator~(const Tensor& x) { return bit_not(x); }

Tensor operator+(const Tensor& lhs, const Operand& rhs) { return add(lhs, rhs); }
Tensor operator-(const Tensor& lhs, const Operand& rhs) { return subtract(lhs, rhs); }
Tensor operator*(const Tensor& lhs, const Operand& rhs) { return multiply(lhs, rhs); }
Tensor operator/(const Tensor& lhs, const Operand& rhs) { return divide(lhs, rhs); }
Tensor operator%(const Tensor& lhs, const Operand& rhs) { return remainder(lhs, rhs); }
Tensor operator<(const Tensor& lhs, const Operand& rhs) { return less(lhs, rhs); }
Tensor operator<=(const Tensor& lhs, const Operand& rhs) { return less_equal(lhs, rhs); }
Tensor operator>(const Tensor& lhs, const Operand& rhs) { return greater(lhs, rhs); }
Tensor operator>=(const Tensor& lhs, const Operand& rhs) { return greater_equal(lhs, rhs); }
Tensor operator&(const Tensor& lhs, const Operand& rhs) { return bit_and(lhs, rhs); }
Tensor operator|(const Tensor& lhs, const Operand& rhs) { return bit_or(lhs, rhs); }
Tensor operator^(const Tensor& lhs, const Operand& rhs) { return bit_xor(lhs, rhs); }
Tensor operator<<(const Tensor& lhs, const Operand& rhs) { return shift_left(lhs, rhs); }
Tensor operator>>(const Tensor& lhs, const Operand& rhs) { return shift_right(lhs, rhs); }
Tensor operator+(const Value& lhs, const Tensor& rhs) { return add(lhs, rhs); }
Tensor operator-(const Value& lhs, const Tensor& rhs) { return subtract(lhs, rhs); }
Tensor operator*(const Value& lhs, const Tensor& rhs) { return multiply(lhs, rhs); }
Tensor operator/(const Value& lhs, const Tensor& rhs) { return divide(lhs, rhs); }
Tensor operator%(const Value& lhs, const Tensor& rhs) { return remainder(lhs, rhs); }
Tensor operator<(const Value& lhs, const Tensor& rhs) { return less(lhs, rhs); }
Tensor operator<=(const Value& lhs, const Tensor& rhs) { return less_equal(lhs, rhs); }
Tensor operator>(const Value& lhs, const Tensor& rhs) { return greater(lhs, rhs); }
Tensor operator>=(const Value& lhs, const Tensor& rhs) { return greater_equal(lhs, rhs); }

}  // namespace luminal
