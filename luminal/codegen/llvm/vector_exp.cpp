// Exponentials, logarithms and powers.
#include "luminal/codegen/llvm/vector_math.h"

#include <array>
#include <limits>
#include <numbers>

namespace luminal::codegen {
namespace {

using llvm::Value;

// Polynomials, lowest power first, each the best of its degree for the relative error of the
// function it is part of (Remez).

// 2^r for |r| <= 1/2: 2^-29 and 2^-13.7.
constexpr std::array kExp2{1.0,           0.693147182,  0.240226462,   0.0555032827,
                           0.00961849187, 0.0013400194, 0.000153456334};
constexpr std::array kExp2Bf16{0.9999280735, 0.6932609856, 0.2426111221, 0.05517166856};
// The same that are exact at 0: 2^-23.4 and 2^-13.2.
constexpr std::array kExp2One{1.0,          0.6931469776,   0.2402224208,
                              0.0555073375, 0.009671513054, 0.001326472727};
constexpr std::array kExp2OneBf16{1.0, 0.6932829327, 0.2422109679, 0.05500890308};
// e^r for |r| <= ln(2)/2.
constexpr std::array kExp{1.0,          1.0,           0.499999911,  0.166664183,
                          0.0416682363, 0.00837498065, 0.00138366851};
// (log(1+f) - f + f^2/2) / f^3 for 1+f in [sqrt(1/2), sqrt(2)]: 2^-30.
constexpr std::array kLog{0.333333105,  -0.249999866, 0.200022265, -0.16669251, 0.142186701,
                          -0.123843394, 0.118728869,  -0.1178983,  0.0691559166};
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

/// 2^x where the polynomial is 2^r for |r| <= 1/2.
Value* VectorMath::exp2_by(Value* x, std::span<const double> coefficients) {
  if (has_wide_floats(x)) {
    // The instruction takes any exponent, and makes 0 and infinity of infinite ones.
    Value* whole = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::nearbyint, x);
    return scale_by_power(polynomial(ir_.CreateFSub(x, whole), coefficients), whole);
  }
  // Results are 0 below -150 and infinite above 128.
  Value* bounded = clamp(x, -160, 140);
  Value* n = nearest(bounded, nullptr);
  return scale_by_power(polynomial(ir_.CreateFSub(bounded, n), coefficients), n);
}

Value* VectorMath::exp2_of(Value* x) {
  if (accuracy_ == MathAccuracy::kFull) return exp2_by(x, kExp2);
  return exp2_by(x, kExp2Bf16);
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
  return exp2_of_difference(ir_.CreateFMul(x, number(x, std::numbers::log2e)));
}

/// Products of 8 and 16 digits are exact, so one instruction has the difference of two of them,
/// rounded once, where x and the maximum would be far larger than it. Beyond 2^126 products might
/// be infinite; there a difference is 0 or so large that any factor will do.
Value* VectorMath::exp_of_short_difference(Value* x, Value* maximum) {
  constexpr double kLog2e16Digits = 47274.0 / 32768;
  if (calls_library(x)) return library("exp", {ir_.CreateFSub(x, maximum)});
  const int lanes = VectorBuilder::lanes_of(x);
  Value* factor = nullptr;
  Value* subtracted = nullptr;
  builder_.behind(maximum, [&] {
    Value* is_far = ir_.CreateFCmpOGT(absolute(maximum), number(maximum, 0x1p126));
    factor = ir_.CreateSelect(is_far, number(maximum, 0x1p-8), number(maximum, kLog2e16Digits));
    subtracted = ir_.CreateFMul(maximum, ir_.CreateFNeg(factor));
    if (VectorBuilder::lanes_of(maximum) == lanes) return;
    factor = builder_.splat(factor, lanes);
    subtracted = builder_.splat(subtracted, lanes);
  });
  return exp2_of_difference(builder_.mul_add(x, factor, subtracted));
}

/// Of few digits too, 0 must give 1: log(1 + r) is as good as r where nothing is lost in the 1.
Value* VectorMath::exp2_of_difference(Value* x) {
  if (calls_library(x)) return library("exp2", {x});
  if (accuracy_ == MathAccuracy::kFull) return exp2_by(x, kExp2One);
  return exp2_by(x, kExp2OneBf16);
}

Value* VectorMath::over_one_plus_exp2(Value* x, Value* exponent) {
  Value* sum = ir_.CreateFAdd(exp2_of(exponent), number(x, 1));
  if (accuracy_ == MathAccuracy::kFull || !has_wide_floats(x)) return ir_.CreateFDiv(x, sum);
  return ir_.CreateFMul(x, reciprocal(sum));
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
  // Not rare: every second number is below 0.
  return builder_.if_else(
      builder_.any(ir_.CreateOr(bad_base, bad_exponent)),
      [&] {
        return Carried{library("pow", {x, y})};
      },
      [&] { return Carried{is_short ? short_power(x, y) : power(x, y)}; })[0];
}

}  // namespace luminal::codegen
