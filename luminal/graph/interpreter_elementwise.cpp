#include "luminal/graph/interpreter_elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "luminal/support/check.h"

namespace luminal::graph {
namespace {

int64_t divide(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? wrapping_mul(a, -1) : a / b;  // MIN / -1 would trap
}

int64_t remainder(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == -1) return exponent % 2 == 0 ? 1 : -1;
    return 0;
  }
  int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = wrapping_mul(result, base);
    base = wrapping_mul(base, base);
  }
  return result;
}

int64_t shift_left(int64_t value, int64_t amount, int width) {
  if (amount < 0 || amount >= width) return 0;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << amount);
}

int64_t shift_right(int64_t value, int64_t amount, int width) {
  if (amount < 0 || amount >= width) return value < 0 ? -1 : 0;
  return value >> amount;
}

template <typename Function>
void map(const double* a, double* result, int64_t count, Function function) {
  for (int64_t i = 0; i < count; ++i) result[i] = function(a[i]);
}

template <typename Number, typename Result, typename Function>
void zip(const Number* a, const Number* b, Result* result, int64_t count, Function function) {
  for (int64_t i = 0; i < count; ++i) result[i] = static_cast<Result>(function(a[i], b[i]));
}

/// Ops of one float operand. The calls are spelled as lambdas so that they inline.
void compute_unary(Op op, const double* a, double* result, int64_t count) {
  switch (op) {
    case Op::kRecip:
      return map(a, result, count, [](double x) { return 1.0 / x; });
    case Op::kSqrt:
      return map(a, result, count, [](double x) { return std::sqrt(x); });
    case Op::kExp:
      return map(a, result, count, [](double x) { return std::exp(x); });
    case Op::kExp2:
      return map(a, result, count, [](double x) { return std::exp2(x); });
    case Op::kLog:
      return map(a, result, count, [](double x) { return std::log(x); });
    case Op::kLog2:
      return map(a, result, count, [](double x) { return std::log2(x); });
    case Op::kSin:
      return map(a, result, count, [](double x) { return std::sin(x); });
    case Op::kCos:
      return map(a, result, count, [](double x) { return std::cos(x); });
    case Op::kTanh:
      return map(a, result, count, [](double x) { return std::tanh(x); });
    case Op::kErf:
      return map(a, result, count, [](double x) { return std::erf(x); });
    case Op::kAtan:
      return map(a, result, count, [](double x) { return std::atan(x); });
    case Op::kFloor:
      return map(a, result, count, [](double x) { return std::floor(x); });
    case Op::kRound:
      return map(a, result, count, [](double x) { return std::nearbyint(x); });
    default:
      throw InternalError(fmt::format("no unary float op {}", name(op)));
  }
}

void compute_binary(Op op, const double* a, const double* b, double* result, int64_t count) {
  using F = double;
  switch (op) {
    case Op::kAdd:
      return zip(a, b, result, count, [](F x, F y) { return x + y; });
    case Op::kMul:
      return zip(a, b, result, count, [](F x, F y) { return x * y; });
    case Op::kDiv:
      return zip(a, b, result, count, [](F x, F y) { return x / y; });
    case Op::kMod:
      return zip(a, b, result, count, [](F x, F y) { return std::fmod(x, y); });
    case Op::kPow:
      return zip(a, b, result, count, [](F x, F y) { return std::pow(x, y); });
    case Op::kMax:
      return zip(a, b, result, count, [](F x, F y) { return maximum(x, y); });
    default:
      throw InternalError(fmt::format("no binary float op {}", name(op)));
  }
}

void compute_binary(Op op, int width, const int64_t* a, const int64_t* b, int64_t* result,
                    int64_t count) {
  using I = int64_t;
  switch (op) {
    case Op::kAdd:
      return zip(a, b, result, count, [](I x, I y) { return wrapping_add(x, y); });
    case Op::kMul:
      return zip(a, b, result, count, [](I x, I y) { return wrapping_mul(x, y); });
    case Op::kDiv:
      return zip(a, b, result, count, [](I x, I y) { return divide(x, y); });
    case Op::kMod:
      return zip(a, b, result, count, [](I x, I y) { return remainder(x, y); });
    case Op::kPow:
      return zip(a, b, result, count, [](I x, I y) { return power(x, y); });
    case Op::kMax:
      return zip(a, b, result, count, [](I x, I y) { return maximum(x, y); });
    case Op::kBitAnd:
      return zip(a, b, result, count, [](I x, I y) { return x & y; });
    case Op::kBitOr:
      return zip(a, b, result, count, [](I x, I y) { return x | y; });
    case Op::kBitXor:
      return zip(a, b, result, count, [](I x, I y) { return x ^ y; });
    case Op::kShiftLeft:
      return zip(a, b, result, count, [=](I x, I y) { return shift_left(x, y, width); });
    case Op::kShiftRight:
      return zip(a, b, result, count, [=](I x, I y) { return shift_right(x, y, width); });
    default:
      throw InternalError(fmt::format("no binary integer op {}", name(op)));
  }
}

template <typename Number>
void compare(Op op, const Number* a, const Number* b, int64_t* result, int64_t count) {
  if (op == Op::kLessThan) {
    zip(a, b, result, count, [](Number x, Number y) { return x < y; });
  } else {
    zip(a, b, result, count, [](Number x, Number y) { return x == y; });
  }
}

template <typename Number>
void choose(const int64_t* condition, const Number* a, const Number* b, Number* result,
            int64_t count) {
  for (int64_t i = 0; i < count; ++i) result[i] = condition[i] != 0 ? a[i] : b[i];
}

void cast(DType from, DType to, const Block& operand, int64_t count, Block& result) {
  const auto size = static_cast<size_t>(count);
  if (is_float(from) && !is_float(to)) {
    floats_to_integers(to, {operand.floats.data(), size}, result.integers.data());
  } else if (!is_float(from) && is_float(to)) {
    integers_to_floats(to, {operand.integers.data(), size}, result.floats.data());
  } else if (is_float(from)) {
    std::copy_n(operand.floats.data(), size, result.floats.data());
  } else {
    std::copy_n(operand.integers.data(), size, result.integers.data());
  }
}

}  // namespace

double maximum(double a, double b) {
  if (a == b) return std::signbit(a) ? b : a;
  if (std::isnan(a)) return a;
  return a > b ? a : b;  // b if it is NaN
}

int64_t maximum(int64_t a, int64_t b) { return std::max(a, b); }

double minimum(double a, double b) { return -maximum(-a, -b); }

int64_t minimum(int64_t a, int64_t b) { return std::min(a, b); }

void compute_elementwise(Op op, DType operand_dtype, DType dtype, std::span<const Block> operands,
                         int64_t count, Block& result) {
  const bool floats = is_float(operand_dtype);
  const Block& first = operands[0];
  switch (op) {
    case Op::kCopy:
    case Op::kCast:
      return cast(operand_dtype, dtype, first, count, result);
    case Op::kLessThan:
    case Op::kEqual:
      if (floats)
        return compare(op, first.floats.data(), operands[1].floats.data(), result.integers.data(),
                       count);
      return compare(op, first.integers.data(), operands[1].integers.data(), result.integers.data(),
                     count);
    case Op::kSelect:
      if (floats)
        return choose(first.integers.data(), operands[1].floats.data(), operands[2].floats.data(),
                      result.floats.data(), count);
      return choose(first.integers.data(), operands[1].integers.data(), operands[2].integers.data(),
                    result.integers.data(), count);
    default:
      break;
  }
  if (operands.size() == 1)
    return compute_unary(op, first.floats.data(), result.floats.data(), count);
  if (floats)
    return compute_binary(op, first.floats.data(), operands[1].floats.data(), result.floats.data(),
                          count);
  compute_binary(op, bits(dtype), first.integers.data(), operands[1].integers.data(),
                 result.integers.data(), count);
}

}  // namespace luminal::graph
