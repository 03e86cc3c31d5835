#include "random_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace luminal::test {

using graph::Array;
using graph::DType;
using graph::Scalar;

namespace {

// Zeros of both signs stand twice: most wrong rules of floats fail at them.
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array kSpecialFloats{0.0,   -0.0,    0.0,  -0.0, 1.0,       -1.0,      0.5,
                                    -0.5,  2.0,     3.75, -7.0, 1e-320,    1e-40,     6e-8,
                                    448.0, 65504.0, 3e38, kNaN, kInfinity, -kInfinity};
constexpr std::array<int64_t, 7> kSpecialIntegers{
    0, 1, -1, 2, 7, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};

// f32 stands more often than its share, as it does in real graphs.
constexpr std::array kChoices{DType::kF32,    DType::kF32,    DType::kF32,  DType::kF64,
                              DType::kF16,    DType::kBF16,   DType::kI64,  DType::kI32,
                              DType::kI32,    DType::kI16,    DType::kI8,   DType::kU8,
                              DType::kU16,    DType::kU32,    DType::kBool, DType::kBool,
                              DType::kF8E4M3, DType::kF8E5M2, DType::kI4,   DType::kU4};

}  // namespace

Scalar random_scalar(Random& random, DType dtype) {
  if (graph::is_float(dtype)) {
    if (random.one_in(3)) return Scalar::of(dtype, random.pick(kSpecialFloats));
    return Scalar::of(dtype, (random.unit() - 0.5) * 8);
  }
  if (graph::is_bool(dtype)) return Scalar::of(dtype, random.one_in(2));
  if (!random.one_in(6)) return Scalar::of(dtype, random.between(-9, 9));
  if (random.one_in(2)) return random.one_in(2) ? Scalar::lowest(dtype) : Scalar::highest(dtype);
  return Scalar::of(dtype, random.pick(kSpecialIntegers));
}

Array random_array(Random& random, DType dtype, const graph::Extents& extents) {
  Array array(dtype, extents);
  for (int64_t i = 0; i < array.size(); ++i) array.set(i, random_scalar(random, dtype));
  return array;
}

std::vector<Scalar> special_scalars(DType dtype) {
  std::vector<Scalar> values;
  const auto add = [&](const Scalar& value) {
    if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
  };
  if (graph::is_float(dtype))
    for (const double value : kSpecialFloats) add(Scalar::of(dtype, value));
  else
    for (const int64_t value : kSpecialIntegers) add(Scalar::of(dtype, value));
  add(Scalar::lowest(dtype));
  add(Scalar::highest(dtype));
  return values;
}

DType random_dtype(Random& random) { return random.pick(kChoices); }

bool same_values(const Array& a, const Array& b) {
  if (a.dtype() != b.dtype() || a.extents() != b.extents()) return false;
  // Scalars are equal by exactly this rule: all NaNs are one value, zeros are told apart.
  for (int64_t i = 0; i < a.size(); ++i)
    if (!(a.at(i) == b.at(i))) return false;
  return true;
}

}  // namespace luminal::test
