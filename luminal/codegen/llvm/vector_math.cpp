#include "luminal/codegen/llvm/vector_math.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <array>
#include <limits>
#include <numbers>
#include <string>

#include "luminal/support/check.h"

namespace luminal::codegen {
namespace {

using llvm::Value;

// Polynomials, lowest power first, each the best of its degree for the relative error of the
// function it is part of (Remez).

// 2^r for |r| <= 1/2: 2^-29 and 2^-13.7.
constexpr std::array kExp2{1.0,           0.693147182,  0.240226462,   0.0555032827,
                           0.00961849187, 0.0013400194, 0.000153456334};
constexpr std::array kExp2Bf16{0.9999280735, 0.6932609856, 0.2426111221, 0.05517166856};
// The same that is exact at 0: 2^-13.2.
constexpr std::array kExp2OneBf16{1.0, 0.6932829327, 0.2422109679, 0.05500890308};
// e^r for |r| <= ln(2)/2.
constexpr std::array kExp{1.0,          1.0,           0.499999911,  0.166664183,
                          0.0416682363, 0.00837498065, 0.00138366851};
// (log(1+f) - f + f^2/2) / f^3 for 1+f in [sqrt(1/2), sqrt(2)]: 2^-30.
constexpr std::array kLog{0.333333105,  -0.249999866, 0.200022265, -0.16669251, 0.142186701,
                          -0.123843394, 0.118728869,  -0.1178983,  0.0691559166};
// (sin(x) - x) / x^3 in x^2 for |x| <= pi/2.
constexpr std::array kSin{-0.166666672, 0.00833333097, -0.000198408918, 2.75265188e-06,
                          -2.39073756e-08};
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
// The same for x <= 3.4, 2^-12.7, that falls on and on after it.
constexpr std::array kErfcFalling{-1.625108415, -0.9298702285, -0.1341991081, 0.02227930706,
                                  -0.001659168953};
// (sin(x) - x) / x^3 in x^2 for |x| <= pi/2: 2^-12.8.
constexpr std::array kSinBf16{-0.1661291915, 0.007656545174};
// (tanh(x) - x) / x^3 in x^2 for |x| <= 0.4: 2^-17.
constexpr std::array kTanhBf16{-0.3327895714, 0.1221128971};
// (atan(x) - x) / x^3 in x^2 for |x| <= 1.
constexpr std::array kAtan{-0.333333284,   0.199996918,  -0.1428013,    0.110602416,
                           -0.0881884247,  0.0675956756, -0.0449464843, 0.0227604471,
                           -0.00742271962, 0.00113490049};
// In double, for pow. log2((1+s)/(1-s)) / s in s^2: 2^-50; 2^r: 2^-46.
constexpr std::array kLog2Wide{2.8853900817779272,  0.96179669392431855, 0.57707801725269825,
                               0.41219840112360018, 0.3206164487609266,  0.26144241780699073,
                               0.24293683006955658};
constexpr std::array kExp2Wide{
    1.0000000000000131,     0.69314718055986946,   0.24022650695645575,    0.055504108668751745,
    0.0096181291930611985,  0.001333355761055223,  0.00015403434197871826, 1.5252987260932473e-05,
    1.3259578441520531e-06, 1.0150147153710942e-07};

constexpr double kLn2High = 0.693359375;  // few bits: its products with small integers are exact
constexpr double kLn2Low = -2.12194440e-4;
constexpr int64_t kSqrtHalfBits = 0x3f3504f3;

}  // namespace

Value* VectorMath::number(Value* like, double value) {
  return VectorBuilder::number(like->getType(), value);
}

Value* VectorMath::polynomial(Value* x, std::span<const double> coefficients) {
  Value* result = number(x, coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;)
    result = builder_.mul_add(result, x, number(x, coefficients[i]));
  return result;
}

Value* VectorMath::bits(Value* x) {
  llvm::Type* type = x->getType();
  llvm::Type* integer = ir_.getIntNTy(type->getScalarSizeInBits());
  return ir_.CreateBitCast(x, VectorBuilder::vector(integer, VectorBuilder::lanes_of(x)));
}

Value* VectorMath::from_bits(Value* x) {
  llvm::Type* element = x->getType()->getScalarSizeInBits() == 32 ? builder_.f32() : builder_.f64();
  return ir_.CreateBitCast(x, VectorBuilder::vector(element, VectorBuilder::lanes_of(x)));
}

Value* VectorMath::absolute(Value* x) { return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }

Value* VectorMath::with_sign_of(Value* magnitude, Value* sign) {
  return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

/// NaN stays NaN: both comparisons are false then.
Value* VectorMath::clamp(Value* x, double low, double high) {
  Value* upper = ir_.CreateSelect(ir_.CreateFCmpOGT(x, number(x, high)), number(x, high), x);
  return ir_.CreateSelect(ir_.CreateFCmpOLT(upper, number(x, low)), number(x, low), upper);
}

/// The nearest integer of |x| < 2^22, as a float and as an integer, by adding a number whose unit
/// is 1. Unlike a conversion it has some value for NaN too.
Value* VectorMath::nearest(Value* x, Value** as_integer) {
  const bool wide = x->getType()->getScalarSizeInBits() == 64;
  Value* magic = number(x, wide ? 6755399441055744.0 : 12582912.0);
  Value* shifted = ir_.CreateFAdd(x, magic);
  if (as_integer != nullptr) *as_integer = ir_.CreateSub(bits(shifted), bits(magic));
  return ir_.CreateFSub(shifted, magic);
}

/// x * 2^n for x near 1 and |n| below 300, n an integral float, in one rounding.
Value* VectorMath::scale_by_power(Value* x, Value* exponent) {
  if (has_wide_floats(x)) {
    constexpr int kLanes = 16;
    Carried parts;
    for (int first = 0; first < VectorBuilder::lanes_of(x); first += kLanes) {
      Value* part = builder_.part(x, first, kLanes);
      parts.push_back(
          builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                                  {part, builder_.part(exponent, first, kLanes), number(part, 0),
                                   ir_.getInt16(0xffff), ir_.getInt32(4)}));
    }
    return builder_.join(parts);
  }
  // In two steps, because 2^n itself may be no f32: the first is exact.
  Value* n = nullptr;
  nearest(exponent, &n);
  Value* half = ir_.CreateAShr(n, VectorBuilder::integer(n->getType(), 1));
  Value* rest = ir_.CreateSub(n, half);
  const auto power_of_two = [&](Value* e) {
    Value* biased = ir_.CreateAdd(e, VectorBuilder::integer(e->getType(), 127));
    return from_bits(ir_.CreateShl(biased, VectorBuilder::integer(e->getType(), 23)));
  };
  return ir_.CreateFMul(ir_.CreateFMul(x, power_of_two(half)), power_of_two(rest));
}

bool VectorMath::has_wide_floats(Value* x) const {
  return VectorBuilder::lanes_of(x) % 16 == 0 &&
         builder_.target().has(runtime::CpuFeature::kAvx512f);
}

/// A function of vectors of 16 floats, on longer ones.
Value* VectorMath::in_parts(Value* x, llvm::function_ref<Value*(Value* part)> code) {
  constexpr int kLanes = 16;
  Carried parts;
  for (int first = 0; first < VectorBuilder::lanes_of(x); first += kLanes)
    parts.push_back(code(builder_.part(x, first, kLanes)));
  return builder_.join(parts);
}

/// 1/x inside of functions; few digits come from an instruction that is three times as fast as
/// dividing: 2^-14.
Value* VectorMath::reciprocal(Value* x) {
  if (accuracy_ == MathAccuracy::kFull || !has_wide_floats(x))
    return ir_.CreateFDiv(number(x, 1), x);
  return in_parts(x, [&](Value* part) {
    return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_rcp14_ps_512, {},
                                   {part, number(part, 0), ir_.getInt16(0xffff)});
  });
}

Value* VectorMath::exp2_of(Value* x) {
  if (has_wide_floats(x)) {
    // The instruction takes any exponent, and makes 0 and infinity of infinite ones.
    Value* whole = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::nearbyint, x);
    Value* rest = ir_.CreateFSub(x, whole);
    return scale_by_power(
        accuracy_ == MathAccuracy::kFull ? polynomial(rest, kExp2) : polynomial(rest, kExp2Bf16),
        whole);
  }
  // Results are 0 below -150 and infinite above 128.
  Value* bounded = clamp(x, -160, 140);
  Value* n = nearest(bounded, nullptr);
  Value* r = ir_.CreateFSub(bounded, n);
  Value* p = accuracy_ == MathAccuracy::kFull ? polynomial(r, kExp2) : polynomial(r, kExp2Bf16);
  return scale_by_power(p, n);
}

Value* VectorMath::exp2(Value* x) { return calls_library(x) ? library("exp2", {x}) : exp2_of(x); }

Value* VectorMath::exp(Value* x) {
  if (calls_library(x)) return library("exp", {x});
  if (accuracy_ == MathAccuracy::kBf16) return exp_of_difference(x);
  Value* bounded = clamp(x, -110, 96);
  Value* scaled = ir_.CreateFMul(bounded, number(x, std::numbers::log2e));
  Value* n = has_wide_floats(x) ? ir_.CreateUnaryIntrinsic(llvm::Intrinsic::nearbyint, scaled)
                                : nearest(scaled, nullptr);
  Value* r = builder_.mul_add(n, number(x, -kLn2High), bounded);
  r = builder_.mul_add(n, number(x, -kLn2Low), r);
  return scale_by_power(polynomial(r, kExp), n);
}

Value* VectorMath::exp_of_difference(Value* x) {
  if (calls_library(x)) return library("exp", {x});
  Value* scaled = ir_.CreateFMul(x, number(x, std::numbers::log2e));
  if (accuracy_ == MathAccuracy::kFull || !has_wide_floats(x)) return exp2_of(scaled);
  // The same with a polynomial that is 1 at 0.
  Value* whole = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::nearbyint, scaled);
  return scale_by_power(polynomial(ir_.CreateFSub(scaled, whole), kExp2OneBf16), whole);
}

Value* VectorMath::rounded_sum(Value* a, Value* b) {
  const int lanes = std::max(VectorBuilder::lanes_of(a), VectorBuilder::lanes_of(b));
  if (VectorBuilder::lanes_of(a) < lanes) a = builder_.splat(a, lanes);
  if (VectorBuilder::lanes_of(b) < lanes) b = builder_.splat(b, lanes);
  return ir_.CreateFAdd(a, b);
}

Value* VectorMath::logarithm(Value* x, bool base_two) {
  const auto constant = [&](int64_t value) {
    return VectorBuilder::integer(bits(x)->getType(), value);
  };
  // Denormals are scaled to normal numbers first.
  Value* tiny = ir_.CreateFCmpOLT(x, number(x, 0x1p-126));
  Value* scaled = ir_.CreateSelect(tiny, ir_.CreateFMul(x, number(x, 0x1p23)), x);
  Value* shift = ir_.CreateSelect(tiny, number(x, -23), number(x, 0));
  // x = 2^e * m with m in [sqrt(1/2), sqrt(2)), so that log m has no cancellation near 1.
  Value* shifted = ir_.CreateSub(bits(scaled), constant(kSqrtHalfBits));
  Value* exponent = ir_.CreateAShr(shifted, constant(23));
  Value* mantissa =
      from_bits(ir_.CreateAdd(ir_.CreateAnd(shifted, constant(0x7fffff)), constant(kSqrtHalfBits)));
  Value* e = ir_.CreateFAdd(ir_.CreateSIToFP(exponent, x->getType()), shift);
  Value* f = ir_.CreateFSub(mantissa, number(x, 1));
  Value* square = ir_.CreateFMul(f, f);
  Value* tail = ir_.CreateFMul(ir_.CreateFMul(f, square), polynomial(f, kLog));
  Value* result = nullptr;
  if (base_two) {
    constexpr double kHigh = 1.44269502162933349609375;  // log2(e) as f32, and the rest of it
    constexpr double kLow = 1.925963033500011e-8;
    Value* rest = builder_.mul_add(square, number(x, -0.5), tail);
    result = builder_.mul_add(f, number(x, kLow), ir_.CreateFMul(rest, number(x, kHigh)));
    result = builder_.mul_add(f, number(x, kHigh), result);
    result = ir_.CreateFAdd(result, e);
  } else {
    result = builder_.mul_add(e, number(x, kLn2Low), tail);
    result = builder_.mul_add(square, number(x, -0.5), result);
    result = ir_.CreateFAdd(result, f);
    result = builder_.mul_add(e, number(x, kLn2High), result);
  }
  const double infinity = std::numeric_limits<double>::infinity();
  result = ir_.CreateSelect(ir_.CreateFCmpOEQ(x, number(x, infinity)), x, result);
  result = ir_.CreateSelect(ir_.CreateFCmpOEQ(x, number(x, 0)), number(x, -infinity), result);
  // Negative or NaN.
  return ir_.CreateSelect(ir_.CreateFCmpULT(x, number(x, 0)),
                          number(x, std::numeric_limits<double>::quiet_NaN()), result);
}

Value* VectorMath::log2(Value* x) {
  if (calls_library(x)) return library("log2", {x});
  return has_wide_floats(x) ? logarithm_by_table(x, true) : logarithm(x, true);
}

Value* VectorMath::log(Value* x) {
  if (calls_library(x)) return library("log", {x});
  return has_wide_floats(x) ? logarithm_by_table(x, false) : logarithm(x, false);
}

Value* VectorMath::sine(Value* x, bool cosine) {
  // Pi in parts of f32; x - n*pi keeps its digits with fma. For few digits two parts, right to
  // 2^-32 for all x here and positive, so that -0 stays -0.
  constexpr std::array kPi{3.1415927410125732, -8.742277657347586e-08, -3.430200630e-15};
  constexpr std::array kPiBf16{3.1415925025939941, 1.5099578831723193e-07};
  Value* integer = nullptr;
  Value* n = nullptr;
  if (cosine) {
    Value* quotient = ir_.CreateFMul(x, number(x, std::numbers::inv_pi));
    n = nearest(ir_.CreateFSub(quotient, number(x, 0.5)), &integer);
    n = ir_.CreateFAdd(n, number(x, 0.5));
  } else {
    n = nearest(ir_.CreateFMul(x, number(x, std::numbers::inv_pi)), &integer);
  }
  const bool full = accuracy_ == MathAccuracy::kFull;
  Value* r = x;
  for (const double part : full ? std::span<const double>(kPi) : kPiBf16)
    r = builder_.mul_add(n, number(x, -part), r);
  Value* square = ir_.CreateFMul(r, r);
  Value* p = full ? polynomial(square, kSin) : polynomial(square, kSinBf16);
  // The second form keeps -0 by itself, the first one more of the last digit.
  Value* result = full ? builder_.mul_add(ir_.CreateFMul(r, square), p, r)
                       : ir_.CreateFMul(r, builder_.mul_add(square, p, number(x, 1)));
  // sin(x - n*pi) = (-1)^n sin(x); for the cosine the half turn adds another sign.
  if (cosine) integer = ir_.CreateAdd(integer, VectorBuilder::integer(integer->getType(), 1));
  Value* sign = ir_.CreateShl(integer, VectorBuilder::integer(integer->getType(), 31));
  result = from_bits(ir_.CreateXor(bits(result), sign));
  if (cosine || !full) return result;
  return ir_.CreateSelect(ir_.CreateFCmpOEQ(x, number(x, 0)), x, result);
}

/// Whether a lane is beyond 65536 or NaN.
Value* VectorMath::has_large(Value* x) {
  Value* most = bits(absolute(x));
  // The larger of two vectors takes less than a second comparison.
  for (int lanes = VectorBuilder::lanes_of(most); lanes > 16 && lanes % 2 == 0; lanes /= 2)
    most = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, builder_.part(most, 0, lanes / 2),
                                     builder_.part(most, lanes / 2, lanes / 2));
  constexpr int64_t kLimit = 0x47800000;
  return builder_.any(ir_.CreateICmpUGT(most, VectorBuilder::integer(most->getType(), kLimit)));
}

Value* VectorMath::sin(Value* x) {
  if (calls_library(x)) return library("sin", {x});
  return builder_.if_else(
      has_large(x), [&] { return Carried{library("sin", {x})}; },
      [&] { return Carried{sine(x, false)}; })[0];
}

Value* VectorMath::cos(Value* x) {
  if (calls_library(x)) return library("cos", {x});
  return builder_.if_else(
      has_large(x), [&] { return Carried{library("cos", {x})}; },
      [&] { return Carried{sine(x, true)}; })[0];
}

/// For few digits the two estimates of the processor, 2^-13 together, take a fifth of the time of
/// the root. 0 and infinity become each other twice.
Value* VectorMath::root(Value* x) {
  if (accuracy_ == MathAccuracy::kFull || !has_wide_floats(x) || calls_library(x))
    return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  return reciprocal(in_parts(x, [&](Value* part) {
    return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_rsqrt14_ps_512, {},
                                   {part, number(part, 0), ir_.getInt16(0xffff)});
  }));
}

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

/// As max(x, 0) - |x| erfc(factor |x|) / 2, which needs no choice by sign. Large numbers take part
/// as 1024, so that infinity is not multiplied by 0, which -inf is in the formula.
Value* VectorMath::half_times_one_plus_erf(Value* x, double factor) {
  if (calls_library(x) || accuracy_ == MathAccuracy::kFull || !has_wide_floats(x))
    return ir_.CreateFMul(ir_.CreateFMul(x, number(x, 0.5)),
                          one_plus_erf(ir_.CreateFMul(x, number(x, factor))));
  Value* bounded =
      from_bits(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, bits(x), bits(number(x, 1024))));
  Value* magnitude = absolute(bounded);
  std::array<double, kErfcFalling.size()> coefficients{};
  double power = factor;
  for (size_t i = 0; i < coefficients.size(); ++i, power *= factor)
    coefficients[i] = kErfcFalling[i] * power;
  Value* rest =
      exp2_of(builder_.mul_add(polynomial(magnitude, coefficients), magnitude, number(x, -1)));
  Value* positive =
      ir_.CreateSelect(ir_.CreateFCmpOLT(x, number(x, 0)), number(x, 0), x);  // NaN stays
  return builder_.mul_add(ir_.CreateFNeg(magnitude), rest, positive);
}

Value* VectorMath::over_one_plus_exp2(Value* x, Value* exponent) {
  Value* sum = ir_.CreateFAdd(exp2_of(exponent), number(x, 1));
  if (accuracy_ == MathAccuracy::kFull || !has_wide_floats(x)) return ir_.CreateFDiv(x, sum);
  return ir_.CreateFMul(x, reciprocal(sum));
}

Value* VectorMath::odd_cubic(Value* x, double linear, double cubic) {
  Value* square = ir_.CreateFMul(x, x);
  return ir_.CreateFMul(x, builder_.mul_add(square, number(x, cubic), number(x, linear)));
}

/// One division for all lanes; where more digits count the error of the product is taken off.
Value* VectorMath::over_row_sum(Value* x, Value* sum) {
  const int lanes = VectorBuilder::lanes_of(x);
  const auto spread = [&](Value* value) {
    return VectorBuilder::lanes_of(value) == lanes ? value : builder_.splat(value, lanes);
  };
  Value* inverse = spread(ir_.CreateFDiv(number(sum, 1), sum));
  Value* quotient = ir_.CreateFMul(x, inverse);
  if (accuracy_ == MathAccuracy::kBf16) return quotient;
  Value* rest = builder_.mul_add(ir_.CreateFNeg(quotient), spread(sum), x);
  return builder_.mul_add(rest, inverse, quotient);
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

Value* VectorMath::atan(Value* x) {
  if (calls_library(x)) return library("atan", {x});
  if (has_wide_floats(x)) return atan_by_table(x);
  Value* magnitude = absolute(x);
  Value* inverted = ir_.CreateFCmpOGT(magnitude, number(x, 1));
  // atan(x) = pi/2 + atan(-1/x) above 1.
  Value* t = ir_.CreateSelect(inverted, ir_.CreateFDiv(number(x, -1), magnitude), magnitude);
  Value* square = ir_.CreateFMul(t, t);
  Value* part = builder_.mul_add(ir_.CreateFMul(t, square), polynomial(square, kAtan), t);
  constexpr double kHalfPiLow = -4.371139e-08;
  Value* moved =
      ir_.CreateFAdd(ir_.CreateFAdd(part, number(x, kHalfPiLow)), number(x, 1.5707963705062866));
  return with_sign_of(ir_.CreateSelect(inverted, moved, part), x);
}

/// For positive finite normal bases, in double: 2^(y log2 x).
Value* VectorMath::power(Value* x, Value* y) {
  const int lanes = VectorBuilder::lanes_of(x);
  llvm::Type* wide = VectorBuilder::vector(builder_.f64(), lanes);
  llvm::Type* integers = VectorBuilder::vector(builder_.i32(), lanes);
  const auto constant = [&](int64_t value) { return VectorBuilder::integer(integers, value); };
  Value* shifted = ir_.CreateSub(bits(x), constant(kSqrtHalfBits));
  Value* exponent = ir_.CreateSIToFP(ir_.CreateAShr(shifted, constant(23)), wide);
  Value* mantissa = ir_.CreateFPExt(
      from_bits(ir_.CreateAdd(ir_.CreateAnd(shifted, constant(0x7fffff)), constant(kSqrtHalfBits))),
      wide);
  Value* one = VectorBuilder::number(wide, 1);
  Value* s = ir_.CreateFDiv(ir_.CreateFSub(mantissa, one), ir_.CreateFAdd(mantissa, one));
  Value* log = builder_.mul_add(s, polynomial(ir_.CreateFMul(s, s), kLog2Wide), exponent);
  Value* product = clamp(ir_.CreateFMul(log, ir_.CreateFPExt(y, wide)), -300, 300);
  Value* n = nullptr;
  Value* whole = nearest(product, &n);
  Value* p = polynomial(ir_.CreateFSub(product, whole), kExp2Wide);
  Value* biased = ir_.CreateAdd(n, VectorBuilder::integer(n->getType(), 1023));
  Value* scale = from_bits(ir_.CreateShl(biased, VectorBuilder::integer(n->getType(), 52)));
  return ir_.CreateFPTrunc(ir_.CreateFMul(p, scale), x->getType());
}

/// The same for few digits: exponents of 128 leave 2^-16 of the logarithm's 2^-23.
Value* VectorMath::short_power(Value* x, Value* y) {
  return exp2_of(ir_.CreateFMul(full_log(mantissa_of(x), true), y));
}

Value* VectorMath::pow(Value* x, Value* y) {
  const bool is_short = accuracy_ == MathAccuracy::kBf16 && has_wide_floats(x);
  if (calls_library(x)) return library("pow", {x, y});
  // Everything but a positive normal base and a finite exponent.
  Value* bad_base = ir_.CreateNot(
      ir_.CreateAnd(ir_.CreateFCmpOGE(x, number(x, 0x1p-126)),
                    ir_.CreateFCmpOLE(x, number(x, std::numeric_limits<float>::max()))));
  Value* bad_exponent =
      ir_.CreateFCmpUGT(absolute(y), number(x, std::numeric_limits<float>::max()));
  return builder_.if_else(
      builder_.any(ir_.CreateOr(bad_base, bad_exponent)),
      [&] {
        return Carried{library("pow", {x, y})};
      },
      [&] { return Carried{is_short ? short_power(x, y) : power(x, y)}; })[0];
}

bool VectorMath::calls_library(Value* x) const {
  return x->getType()->getScalarType()->isDoubleTy() || !builder_.target().has_fma();
}

/// A call of the double function of that name for every lane, in a function of its own so that the
/// loop does not disturb the code around it.
Value* VectorMath::library(const char* function, llvm::ArrayRef<Value*> arguments) {
  llvm::Type* type = arguments[0]->getType();
  llvm::Type* element = type->getScalarType();
  const int lanes = VectorBuilder::lanes_of(arguments[0]);
  const std::string name = std::string("each_") + function +
                           (element->isDoubleTy() ? ".f64." : ".f32.") + std::to_string(lanes);
  llvm::Function* each = builder_.module().getFunction(name);
  if (each == nullptr) {
    const llvm::IRBuilderBase::InsertPointGuard guard(ir_);
    const llvm::SmallVector<llvm::Type*, 2> types(arguments.size(), type);
    each = builder_.begin_function(name, type, types);
    each->addFnAttr(llvm::Attribute::NoInline);
    each->addFnAttr(llvm::Attribute::Cold);
    llvm::SmallVector<Value*, 2> slots;
    for (llvm::Argument& argument : each->args()) {
      slots.push_back(builder_.stack(type, 64));
      builder_.store(&argument, slots.back());
    }
    const llvm::SmallVector<llvm::Type*, 2> doubles(arguments.size(), builder_.f64());
    auto* signature = llvm::FunctionType::get(builder_.f64(), doubles, false);
    const llvm::FunctionCallee callee = builder_.module().getOrInsertFunction(function, signature);
    const int64_t bytes = element->isDoubleTy() ? 8 : 4;
    builder_.loop(builder_.index(0), builder_.index(lanes * bytes), builder_.index(bytes),
                  [&](Value* at) {
                    llvm::SmallVector<Value*, 2> values;
                    for (Value* slot : slots)
                      values.push_back(ir_.CreateFPCast(
                          builder_.load(element, builder_.offset(slot, at)), builder_.f64()));
                    Value* result = ir_.CreateFPCast(ir_.CreateCall(callee, values), element);
                    builder_.store(result, builder_.offset(slots[0], at));
                  });
    ir_.CreateRet(builder_.load(type, slots[0]));
  }
  return ir_.CreateCall(each, arguments);
}

Value* VectorMath::unary(graph::Op op, Value* x) {
  switch (op) {
    case graph::Op::kRecip:
      return ir_.CreateFDiv(number(x, 1), x);
    case graph::Op::kSqrt:
      return root(x);
    case graph::Op::kExp:
      return exp(x);
    case graph::Op::kExp2:
      return exp2(x);
    case graph::Op::kLog:
      return log(x);
    case graph::Op::kLog2:
      return log2(x);
    case graph::Op::kSin:
      return sin(x);
    case graph::Op::kCos:
      return cos(x);
    case graph::Op::kTanh:
      return tanh(x);
    case graph::Op::kErf:
      return erf(x);
    case graph::Op::kAtan:
      return atan(x);
    case graph::Op::kFloor:
      return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
    case graph::Op::kRound:
      return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::nearbyint, x);
    default:
      throw InternalError(fmt::format("no vector code for the unary op {}", name(op)));
  }
}

Value* VectorMath::binary(graph::Op op, Value* x, Value* y) {
  switch (op) {
    case graph::Op::kAdd:
      return ir_.CreateFAdd(x, y);
    case graph::Op::kMul:
      return ir_.CreateFMul(x, y);
    case graph::Op::kDiv:
      return ir_.CreateFDiv(x, y);
    case graph::Op::kMod:
      return library("fmod", {x, y});
    case graph::Op::kPow:
      return pow(x, y);
    case graph::Op::kMax:
      return builder_.maximum(x, y);
    default:
      throw InternalError(fmt::format("no vector code for the binary op {}", name(op)));
  }
}

}  // namespace luminal::codegen
