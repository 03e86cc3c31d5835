// Sine, cosine and arc tangent.
#include "luminal/codegen/llvm/vector_math.h"

#include <array>
#include <numbers>

namespace luminal::codegen {
namespace {

using llvm::Value;

// Polynomials, lowest power first, each the best of its degree for the relative error of the
// function it is part of (Remez).

// (sin(x) - x) / x^3 in x^2 for |x| <= pi/2.
constexpr std::array kSin{-0.166666672, 0.00833333097, -0.000198408918, 2.75265188e-06,
                          -2.39073756e-08};
// (sin(x) - x) / x^3 in x^2 for |x| <= pi/2: 2^-12.8.
constexpr std::array kSinBf16{-0.1661291915, 0.007656545174};
// (atan(x) - x) / x^3 in x^2 for |x| <= 1.
constexpr std::array kAtan{-0.333333284,   0.199996918,  -0.1428013,    0.110602416,
                           -0.0881884247,  0.0675956756, -0.0449464843, 0.0227604471,
                           -0.00742271962, 0.00113490049};

}  // namespace

Value* VectorMath::sine(Value* x, bool cosine) {
  // Pi in parts of f32; x - n*pi keeps its digits with fma. For few digits two parts, right to
  // 2^-32 for all x here and positive, so that -0 stays -0.
  constexpr std::array kPi{3.1415927410125732, -8.742277657347586e-08, -3.430200630e-15};
  constexpr std::array kPiBf16{3.1415925025939941, 1.5099578831723193e-07};
  // As in nearest(). Of the integer only the last bit counts, which lies as it is in the sum.
  Value* magic = number(x, 12582912.0);
  Value* turns = number(x, std::numbers::inv_pi);
  Value* shifted = cosine ? ir_.CreateFAdd(builder_.mul_add(x, turns, number(x, -0.5)), magic)
                          : builder_.mul_add(x, turns, magic);
  Value* integer = bits(shifted);
  Value* n = ir_.CreateFSub(shifted, magic);
  if (cosine) n = ir_.CreateFAdd(n, number(x, 0.5));
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
  return builder_.if_rare(
      has_large(x), [&] { return Carried{library("sin", {x})}; },
      [&] { return Carried{sine(x, false)}; })[0];
}

Value* VectorMath::cos(Value* x) {
  if (calls_library(x)) return library("cos", {x});
  return builder_.if_rare(
      has_large(x), [&] { return Carried{library("cos", {x})}; },
      [&] { return Carried{sine(x, true)}; })[0];
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

}  // namespace luminal::codegen
