// Hyperbolic tangent, error function, and the gates that are made of them.
#include "luminal/codegen/llvm/vector_math.h"

#include <array>
#include <cmath>
#include <numbers>

namespace luminal::codegen {
namespace {

using llvm::Value;

// Polynomials, lowest power first, each the best of its degree for the relative error of the
// function it is part of (Remez).

// (tanh(x) - x) / x^3 in x^2 for |x| <= 0.64.
constexpr std::array kTanh{-0.333333313, 0.133331805,    -0.0539433993,
                           0.0216816422, -0.00812900346, 0.00209772447};
// erf(x) / x in x^2 for |x| <= 1.
constexpr std::array kErfSmall{1.12837911,    -0.37612626,     0.112835817,  -0.0268535651,
                               0.00518766465, -0.000800268201, 7.8235862e-05};
// log2(erfc(x)) for 1 <= x <= 4, weighted by its part in erf.
constexpr std::array kErfLarge{0.000283773261, -1.62970042,     -0.913405716,
                               -0.156582683,   0.0364933833,    -0.00612489972,
                               0.000653704396, -3.40283077e-05, 1.89566663e-07};
// log2(erfc(x)) / x for 0 <= x <= 4.05, for the absolute error of erfc: 2^-28.
constexpr std::array kErfc{-1.627907267,    -0.9184429013,    -0.1483079054,
                           0.02772445814,   8.483540431e-5,   -0.002274813807,
                           0.0008482492772, -0.0001529684589, 1.160526584e-5};
// The same for the relative error: 2^-14.8.
constexpr std::array kErfcBf16{-1.627259721,  -0.9208148267,   -0.1465725686,
                               0.02965539939, -0.003654673633, 0.0002007928118};
// (tanh(x) - x) / x^3 in x^2 for |x| <= 0.4: 2^-17.
constexpr std::array kTanhBf16{-0.3327895714, 0.1221128971};

}  // namespace

Value* VectorMath::tanh(Value* x) {
  if (calls_library(x)) return library("tanh", {x});
  if (has_wide_floats(x)) return odd_by_table(x, true);
  Value* magnitude = absolute(x);
  Value* square = ir_.CreateFMul(x, x);
  const bool full = accuracy_ == MathAccuracy::kFull;
  Value* p = full ? polynomial(square, kTanh) : polynomial(square, kTanhBf16);
  Value* small = builder_.mul_add(ir_.CreateFMul(magnitude, square), p, magnitude);
  Value* power = exp2_of(ir_.CreateFMul(magnitude, number(x, 2 * std::numbers::log2e)));
  Value* half = reciprocal(builder_.mul_add(power, number(x, 0.5), number(x, 0.5)));
  Value* large = ir_.CreateFSub(number(x, 1), half);
  Value* result =
      ir_.CreateSelect(ir_.CreateFCmpOLT(magnitude, number(x, full ? 0.625 : 0.4)), small, large);
  return with_sign_of(result, x);
}

Value* VectorMath::one_plus_tanh(Value* x, double factor) {
  if (calls_library(x))
    return ir_.CreateFAdd(library("tanh", {ir_.CreateFMul(x, number(x, factor))}), number(x, 1));
  Value* power = exp2_of(ir_.CreateFMul(x, number(x, -2 * std::numbers::log2e * factor)));
  return reciprocal(builder_.mul_add(power, number(x, 0.5), number(x, 0.5)));
}

Value* VectorMath::erf(Value* x) {
  if (calls_library(x)) return library("erf", {x});
  if (has_wide_floats(x)) return odd_by_table(x, false);
  Value* magnitude = absolute(x);
  Value* square = ir_.CreateFMul(x, x);
  Value* small = ir_.CreateFMul(magnitude, polynomial(square, kErfSmall));
  Value* bounded =
      ir_.CreateSelect(ir_.CreateFCmpOGT(magnitude, number(x, 4)), number(x, 4), magnitude);
  Value* large = ir_.CreateFSub(number(x, 1), exp2_of(polynomial(bounded, kErfLarge)));
  Value* result = ir_.CreateSelect(ir_.CreateFCmpOLT(magnitude, number(x, 1)), small, large);
  return with_sign_of(result, x);
}

Value* VectorMath::one_plus_erf(Value* x) {
  if (calls_library(x)) return ir_.CreateFAdd(library("erf", {x}), number(x, 1));
  if (accuracy_ == MathAccuracy::kFull && has_wide_floats(x))
    return ir_.CreateFAdd(odd_by_table(x, false), number(x, 1));
  Value* magnitude = absolute(x);
  Value* p = accuracy_ == MathAccuracy::kFull ? polynomial(magnitude, kErfc)
                                              : polynomial(magnitude, kErfcBf16);
  Value* rest = exp2_of(ir_.CreateFMul(magnitude, p));
  // Past the end of the polynomial nothing is left; NaN is not past it.
  rest = ir_.CreateSelect(ir_.CreateFCmpOGT(magnitude, number(x, 4)), number(x, 0), rest);
  return ir_.CreateSelect(ir_.CreateFCmpOLT(x, number(x, 0)), rest,
                          ir_.CreateFSub(number(x, 2), rest));
}

/// Coefficients of tables are floats: gates that are far wider or narrower than usual are computed.
Value* VectorMath::half_times_one_plus_erf(Value* x, double factor) {
  const bool is_short = accuracy_ == MathAccuracy::kBf16 && has_wide_floats(x);
  if (is_short && !calls_library(x) && factor > 0x1p-10 && factor < 0x1p10)
    return gated_by_table(x, [=](double at) { return std::erfc(factor * at) / 2; });
  return ir_.CreateFMul(ir_.CreateFMul(x, number(x, 0.5)),
                        one_plus_erf(ir_.CreateFMul(x, number(x, factor))));
}

}  // namespace luminal::codegen
