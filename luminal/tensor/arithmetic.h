// Arithmetic, comparisons, logic and bits, elementwise with NumPy broadcasting. Operands of
// different dtypes meet in promote() of the two; a C++ number or a Dim takes on the tensor's dtype
// where it can (see Value).
#pragma once

#include "luminal/tensor/tensor.h"

namespace luminal {

/// Either side of a binary op: a tensor, a C++ number, or a dim. At least one side of an op is a
/// tensor.
class Operand {
 public:
  Operand(const Tensor& tensor) : operand_(tensor) {}  // NOLINT(google-explicit-constructor)
  template <typename T>
  requires std::convertible_to<T, Value> Operand(const T& value)
      : operand_(Value(value)) {}  // NOLINT(google-explicit-constructor)

  const Tensor* tensor() const { return std::get_if<Tensor>(&operand_); }  ///< the tensor, or null
  const Value& value() const { return std::get<Value>(operand_); }         ///< if it is no tensor

 private:
  std::variant<Tensor, Value> operand_;
};

/// Sum, difference, product. Integers wrap; bool is refused (use logical_or, logical_xor,
/// logical_and).
Tensor add(const Operand& lhs, const Operand& rhs);
Tensor subtract(const Operand& lhs, const Operand& rhs);  ///< lhs - rhs
Tensor multiply(const Operand& lhs, const Operand& rhs);  ///< lhs * rhs
/// True division: integers and bool are divided as f32.
Tensor divide(const Operand& lhs, const Operand& rhs);
/// The quotient rounded toward zero, in the operands' dtype. Integer division by zero gives 0.
Tensor trunc_div(const Operand& lhs, const Operand& rhs);
/// The quotient rounded toward minus infinity, in the operands' dtype: exact for integers, and for
/// floats the quotient that belongs to remainder(), so that floor_div(a, b) * b + remainder(a, b)
/// is a up to rounding.
Tensor floor_div(const Operand& lhs, const Operand& rhs);
/// a - b * floor(a / b): has the sign of the divisor (Python's %). Integer remainder by zero gives
/// 0.
Tensor remainder(const Operand& lhs, const Operand& rhs);
/// C's fmod: has the sign of the dividend.
Tensor fmod(const Operand& lhs, const Operand& rhs);
/// lhs to the power rhs, with IEEE rules: (-8)^3 = -512, (-8)^0.5 = NaN, x^0 = 1. Integers wrap.
Tensor pow(const Operand& lhs, const Operand& rhs);
/// The larger and the smaller; NaN if either side is NaN.
Tensor maximum(const Operand& lhs, const Operand& rhs);
Tensor minimum(const Operand& lhs, const Operand& rhs);  ///< the smaller
/// x limited to [low, high]; NaN stays NaN. Where low > high the result is high.
Tensor clip(const Tensor& x, const Operand& low, const Operand& high);

/// Comparisons give bool. With NaN on either side all are false but not_equal.
Tensor less(const Operand& lhs, const Operand& rhs);
Tensor less_equal(const Operand& lhs, const Operand& rhs);     ///< lhs <= rhs
Tensor greater(const Operand& lhs, const Operand& rhs);        ///< lhs > rhs
Tensor greater_equal(const Operand& lhs, const Operand& rhs);  ///< lhs >= rhs
Tensor equal(const Operand& lhs, const Operand& rhs);          ///< lhs == rhs
Tensor not_equal(const Operand& lhs, const Operand& rhs);      ///< lhs != rhs

/// x != 0, as bool; bool stays as it is.
Tensor to_bool(const Tensor& x);
/// Logic on truth values (x != 0); the result is bool.
Tensor logical_and(const Operand& lhs, const Operand& rhs);
Tensor logical_or(const Operand& lhs, const Operand& rhs);   ///< either
Tensor logical_xor(const Operand& lhs, const Operand& rhs);  ///< one but not both
Tensor logical_not(const Tensor& x);                         ///< x == 0

/// Bits of integers; bool is allowed.
Tensor bit_and(const Operand& lhs, const Operand& rhs);
Tensor bit_or(const Operand& lhs, const Operand& rhs);   ///< set in either
Tensor bit_xor(const Operand& lhs, const Operand& rhs);  ///< set in one but not both
Tensor bit_not(const Tensor& x);                         ///< all bits turned; of bool: not
/// Integer shifts, in the dtype of the shifted value. Amounts outside 0..bits-1 shift everything
/// out (right shifts of negative numbers then give -1).
Tensor shift_left(const Tensor& x, const Operand& amount);
Tensor shift_right(const Tensor& x, const Operand& amount);  ///< to the low bits; keeps the sign

/// condition ? a : b, element by element; the condition is a bool tensor.
Tensor where(const Tensor& condition, const Operand& a, const Operand& b);
/// x with `value` where the mask is true.
Tensor masked_fill(const Tensor& x, const Tensor& mask, const Operand& value);

Tensor operator-(const Tensor& x);  ///< x * -1; bool is refused
Tensor operator~(const Tensor& x);  ///< bit_not

// The operators take a tensor on one side at least, so that expressions of dims and numbers keep
// their own meaning.
Tensor operator+(const Tensor& lhs, const Operand& rhs);   ///< add
Tensor operator-(const Tensor& lhs, const Operand& rhs);   ///< subtract
Tensor operator*(const Tensor& lhs, const Operand& rhs);   ///< multiply
Tensor operator/(const Tensor& lhs, const Operand& rhs);   ///< divide
Tensor operator%(const Tensor& lhs, const Operand& rhs);   ///< remainder
Tensor operator<(const Tensor& lhs, const Operand& rhs);   ///< less
Tensor operator<=(const Tensor& lhs, const Operand& rhs);  ///< less_equal
Tensor operator>(const Tensor& lhs, const Operand& rhs);   ///< greater
Tensor operator>=(const Tensor& lhs, const Operand& rhs);  ///< greater_equal
Tensor operator&(const Tensor& lhs, const Operand& rhs);   ///< bit_and
Tensor operator|(const Tensor& lhs, const Operand& rhs);   ///< bit_or
Tensor operator^(const Tensor& lhs, const Operand& rhs);   ///< bit_xor
Tensor operator<<(const Tensor& lhs, const Operand& rhs);  ///< shift_left
Tensor operator>>(const Tensor& lhs, const Operand& rhs);  ///< shift_right
Tensor operator+(const Value& lhs, const Tensor& rhs);     ///< add
Tensor operator-(const Value& lhs, const Tensor& rhs);     ///< subtract
Tensor operator*(const Value& lhs, const Tensor& rhs);     ///< multiply
Tensor operator/(const Value& lhs, const Tensor& rhs);     ///< divide
Tensor operator%(const Value& lhs, const Tensor& rhs);     ///< remainder
Tensor operator<(const Value& lhs, const Tensor& rhs);     ///< less
Tensor operator<=(const Value& lhs, const Tensor& rhs);    ///< less_equal
Tensor operator>(const Value& lhs, const Tensor& rhs);     ///< greater
Tensor operator>=(const Value& lhs, const Tensor& rhs);    ///< greater_equal

/// x becomes a handle to the new value; the old one stays what it is.
inline Tensor& operator+=(Tensor& x, const Operand& rhs) { return x = x + rhs; }
inline Tensor& operator-=(Tensor& x, const Operand& rhs) { return x = x - rhs; }  ///< x - rhs
inline Tensor& operator*=(Tensor& x, const Operand& rhs) { return x = x * rhs; }  ///< x * rhs
inline Tensor& operator/=(Tensor& x, const Operand& rhs) { return x = x / rhs; }  ///< x / rhs

// Would ask whether the handles are empty, not what the elements are: logical_and, & say that.
bool operator&&(const Tensor& lhs, const Tensor& rhs) = delete;
bool operator||(const Tensor& lhs, const Tensor& rhs) = delete;

}  // namespace luminal
