// Functions by tables in registers: a piece of the function is chosen per lane, and its polynomial
// is short. Permutations run beside multiplications, so that this takes a third of the time of one
// long polynomial. For processors with vectors of 16 floats.
#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>
#include <numbers>

#include "luminal/codegen/llvm/function_pieces.h"
#include "luminal/codegen/llvm/vector_math.h"

namespace luminal::codegen {
namespace {

using llvm::Value;

/// f(x) / x, which near 0 is as good as its limit.
template <double (*kFunction)(double)>
double quotient(double x, double limit) {
  return std::fabs(x) < 1e-9 ? limit : kFunction(x) / x;
}

double erf_by_x(double x) { return quotient<std::erf>(x, 2 * std::numbers::inv_sqrtpi); }
double tanh_by_x(double x) { return quotient<std::tanh>(x, 1); }
double atan_by_x(double x) { return quotient<std::atan>(x, 1); }

/// An odd function that goes on as a constant: pieces of f(x)/x, and the last argument that differs
/// from those after it.
struct OddFunction {
  PieceSpec spec;
  double last;
  Pieces pieces;
};

OddFunction odd_function(double (*by_x)(double), const PieceSpec& spec, double last) {
  return {spec, last, fit_pieces(by_x, spec)};
}

// Errors for bf16 are 2^-13; for f32 less than a third of a unit, to which rounding adds one.
const OddFunction& erf_for(MathAccuracy accuracy) {
  static const OddFunction coarse = odd_function(erf_by_x, {16, 0.25, 2, false}, 3.87499976);
  static const OddFunction fine = odd_function(erf_by_x, {32, 0.125, 4, true}, 3.93749976);
  return accuracy == MathAccuracy::kFull ? fine : coarse;
}

const OddFunction& tanh_for(MathAccuracy accuracy) {
  static const OddFunction coarse = odd_function(tanh_by_x, {32, 0.25, 2, false}, 7.87499952);
  static const OddFunction fine = odd_function(tanh_by_x, {32, 37.0 / 128, 5, true}, 9.1);
  return accuracy == MathAccuracy::kFull ? fine : coarse;
}

const Pieces& atan_for(MathAccuracy accuracy) {
  static const Pieces coarse = fit_pieces(atan_by_x, {32, 1.0 / 32, 1, false, 1.0});
  static const Pieces fine = fit_pieces(atan_by_x, {32, 1.0 / 32, 3, true, 1.0});
  return accuracy == MathAccuracy::kFull ? fine : coarse;
}

/// Where a function that falls is 2^-24, to some digits.
double vanishing_point(const std::function<double(double)>& function) {
  double low = 0;
  double high = 1;
  while (function(high) > 0x1p-24) high *= 2;
  for (int step = 0; step < 24; ++step) {
    const double middle = (low + high) / 2;
    (function(middle) > 0x1p-24 ? low : high) = middle;
  }
  return high;
}

bool is_power_of_two(double x) {
  int exponent = 0;
  return std::frexp(x, &exponent) == 0.5;
}

}  // namespace

/// Entry number (index mod size) of a table of 16 or 32 floats.
Value* VectorMath::look_up(Value* index, std::span<const double> table) {
  constexpr size_t kLanes = 16;
  const auto half = [&](size_t first) {
    llvm::SmallVector<float, kLanes> values;
    for (size_t i = first; i < first + kLanes; ++i) values.push_back(static_cast<float>(table[i]));
    return llvm::ConstantDataVector::get(ir_.getContext(), llvm::ArrayRef<float>(values));
  };
  return in_parts(index, [&](Value* part) {
    if (table.size() == kLanes)
      return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {},
                                     {half(0), part});
    return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_ps_512, {},
                                   {half(0), part, half(kLanes)});
  });
}

/// The polynomial of a piece.
Value* VectorMath::piece(Value* index, Value* x, const std::vector<std::vector<double>>& pieces) {
  Value* result = look_up(index, pieces.back());
  for (size_t power = pieces.size() - 1; power-- > 0;)
    result = builder_.mul_add(result, x, look_up(index, pieces[power]));
  return result;
}

/// The same times a factor, rounded once: what the constant term leaves is small.
Value* VectorMath::piece_times(Value* factor, Value* index, Value* x,
                               const std::vector<std::vector<double>>& pieces) {
  const std::vector<std::vector<double>> rest(pieces.begin() + 1, pieces.end());
  Value* small = ir_.CreateFMul(ir_.CreateFMul(factor, x), piece(index, x, rest));
  return builder_.mul_add(factor, look_up(index, pieces[0]), small);
}

/// Of |x|, with the sign of x.
Value* VectorMath::odd_by_table(Value* x, bool tanh) {
  const OddFunction& function = tanh ? tanh_for(accuracy_) : erf_for(accuracy_);
  Value* magnitude = absolute(x);
  // NaN stays: the comparison is false then.
  Value* last = number(x, function.last);
  Value* bounded = ir_.CreateSelect(ir_.CreateFCmpOGT(magnitude, last), last, magnitude);
  // Adding a number whose unit is the width makes the number of the piece the last bits.
  Value* index = nullptr;
  Value* distance = bounded;
  if (is_power_of_two(function.spec.width)) {
    Value* magic = number(x, 12582912.0 * function.spec.width);
    index = ir_.CreateFAdd(bounded, magic);
    if (function.spec.from_middle) distance = ir_.CreateFSub(bounded, ir_.CreateFSub(index, magic));
  } else {
    Value* magic = number(x, 12582912.0);
    index = builder_.mul_add(bounded, number(x, 1 / function.spec.width), magic);
    if (function.spec.from_middle)
      distance =
          builder_.mul_add(ir_.CreateFSub(index, magic), number(x, -function.spec.width), bounded);
  }
  Value* result = function.spec.from_middle
                      ? piece_times(bounded, bits(index), distance, function.pieces)
                      : ir_.CreateFMul(bounded, piece(bits(index), distance, function.pieces));
  return with_sign_of(result, x);
}

/// x times a gate that is 1 - rest(x) for positive and rest(-x) for negative x: max(x, 0) - |x| *
/// rest(|x|), which needs no choice by sign. The last piece is 0. Large numbers take part in the
/// product as an end of the table, so that infinity is not multiplied by 0, which -inf is in the
/// formula.
Value* VectorMath::gated_by_table(Value* x, const std::function<double(double)>& rest) {
  constexpr int kPieces = 32;
  const double width = vanishing_point(rest) / (kPieces - 1.5);
  const auto both_signs = [&](double at) { return at < 0 ? 1 - rest(-at) : rest(at); };
  Pieces pieces = fit_pieces(both_signs, {kPieces, width, 3, false});
  for (std::vector<double>& coefficients : pieces) coefficients.back() = 0;
  Value* end = bits(number(x, width * (kPieces - 1)));
  const auto smaller = [&](llvm::Intrinsic::ID kind, Value* value) {
    return from_bits(ir_.CreateBinaryIntrinsic(kind, bits(value), end));
  };
  Value* magnitude = absolute(smaller(llvm::Intrinsic::smin, x));
  Value* bounded = smaller(llvm::Intrinsic::umin, magnitude);
  Value* index = builder_.mul_add(bounded, number(x, 1 / width), number(x, 12582912.0));
  Value* positive =
      ir_.CreateSelect(ir_.CreateFCmpOLT(x, number(x, 0)), number(x, 0), x);  // NaN stays
  return builder_.mul_add(ir_.CreateFNeg(magnitude), piece(bits(index), bounded, pieces), positive);
}

Value* VectorMath::atan_by_table(Value* x) {
  Value* magnitude = absolute(x);
  Value* one = number(x, 1);
  Value* inverted = ir_.CreateFCmpOGT(magnitude, one);
  Value* t = ir_.CreateSelect(inverted, reciprocal(magnitude), magnitude);
  Value* magic = number(x, 12582912.0 / 32);
  Value* sum = ir_.CreateFAdd(t, magic);
  // 1 itself belongs to the piece before.
  Value* end = ir_.CreateAdd(bits(magic), VectorBuilder::integer(bits(magic)->getType(), 31));
  Value* index = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, bits(sum), end);
  Value* distance = t;
  if (accuracy_ == MathAccuracy::kFull)
    distance = ir_.CreateFSub(t, ir_.CreateFSub(from_bits(index), magic));
  Value* small = ir_.CreateFMul(t, piece(index, distance, atan_for(accuracy_)));
  constexpr double kHalfPiLow = -4.371139e-08;
  Value* rest = small;
  if (accuracy_ == MathAccuracy::kFull) rest = ir_.CreateFSub(small, number(x, kHalfPiLow));
  Value* large = ir_.CreateFSub(number(x, 1.5707963705062866), rest);
  return with_sign_of(ir_.CreateSelect(inverted, large, small), x);
}

}  // namespace luminal::codegen
