// Mathematical functions on vectors, as IR. For f32 on processors with fma they are polynomials of
// our own, without branches but for rare arguments; the largest error over all of f32 is stated at
// each and tested. f64, and f32 without fma, call the C library lane by lane: the same bits as the
// interpreter, at its speed. NaN, infinities, signed zeros and denormals come out as IEEE and the
// interpreter have them.
#pragma once

#include <llvm/IR/Value.h>

#include <functional>
#include <span>
#include <vector>

#include "luminal/codegen/llvm/vector_builder.h"
#include "luminal/graph/ops.h"

namespace luminal::codegen {

/// How good results must be.
enum class MathAccuracy {
  kFull,  ///< the bounds below
  kBf16,  ///< relative error 2^-12 or less (sin and cos near their zeros 2^-32 absolutely;
          ///< reciprocals: full; exponentials far below a maximum: as said there): for results that
          ///< are rounded to bf16, where it makes half a unit of the last place 0.63 of one
};

/// Functions of one f32 or f64 vector (or scalar). Bounds in ulp, for f32 with fma.
class VectorMath {
 public:
  explicit VectorMath(VectorBuilder& builder, MathAccuracy accuracy = MathAccuracy::kFull)
      : builder_(builder), ir_(builder.ir()), accuracy_(accuracy) {}

  /// 2^x: 1 ulp.
  llvm::Value* exp2(llvm::Value* x);
  /// e^x: 1 ulp.
  llvm::Value* exp(llvm::Value* x);
  /// e^x for x that is near 0 or whose power does not matter: the error grows with |x|, to 62 ulp
  /// at 80. Of 0 it is 1 at every accuracy.
  llvm::Value* exp_of_difference(llvm::Value* x);
  /// e^(x - maximum) for x of 8 digits and the largest of such: 2^-12 relatively to a distance of
  /// 20, 2^-11 to 70, 2^-10.5 to 100; 1 where both are equal.
  llvm::Value* exp_of_short_difference(llvm::Value* x, llvm::Value* maximum);
  /// 2^x for weights that are compared with 2^0, which is 1 at every accuracy: 2 ulp.
  llvm::Value* exp2_of_difference(llvm::Value* x);
  /// a + b of rounded operands: no product that they are goes into one instruction with it.
  llvm::Value* rounded_sum(llvm::Value* a, llvm::Value* b);
  /// Logarithm to base 2: 2 ulp.
  llvm::Value* log2(llvm::Value* x);
  /// Natural logarithm: 2 ulp.
  llvm::Value* log(llvm::Value* x);
  /// 2 ulp; arguments beyond 65536 call the library.
  llvm::Value* sin(llvm::Value* x);
  llvm::Value* cos(llvm::Value* x);
  /// 2 ulp.
  llvm::Value* tanh(llvm::Value* x);
  /// 2.5 ulp.
  llvm::Value* erf(llvm::Value* x);
  /// 1 + tanh(factor * x): 1e-7 absolutely and, where the sum is small, 1e-6 relatively.
  llvm::Value* one_plus_tanh(llvm::Value* x, double factor);
  /// 1 + erf(x): 2e-7 absolutely; 0 below -4.
  llvm::Value* one_plus_erf(llvm::Value* x);
  /// x/2 * (1 + erf(factor * x)) for a positive factor, as good as the gate above; in few digits
  /// 2^-12 relatively until half the gate is 2^-12, and half the gate to 1e-7 after it.
  llvm::Value* half_times_one_plus_erf(llvm::Value* x, double factor);
  /// x / (1 + 2^exponent): x times the logistic function.
  llvm::Value* over_one_plus_exp2(llvm::Value* x, llvm::Value* exponent);
  /// x * (linear + cubic * x^2).
  llvm::Value* odd_cubic(llvm::Value* x, double linear, double cubic);
  /// x / sum for x from 0 to 1 and a sum of at least 1 that lanes share: 1 ulp.
  llvm::Value* over_row_sum(llvm::Value* x, llvm::Value* sum);
  llvm::Value* absolute(llvm::Value* x);
  /// 2 ulp.
  llvm::Value* atan(llvm::Value* x);
  /// x^y as IEEE pow: 1 ulp; bases that are not positive and finite call the library.
  llvm::Value* pow(llvm::Value* x, llvm::Value* y);
  /// Whether results are rounded to bf16 and products are fused with sums.
  bool is_short() const { return accuracy_ == MathAccuracy::kBf16 && builder_.target().has_fma(); }
  /// Whether functions of such values are calls of the library.
  bool calls_library(llvm::Value* x) const;

  /// The primitive op of one operand; InternalError if it is none.
  llvm::Value* unary(graph::Op op, llvm::Value* x);
  /// The arithmetic primitive (add, mul, div, mod, pow, max) on floats.
  llvm::Value* binary(graph::Op op, llvm::Value* x, llvm::Value* y);

 private:
  llvm::Value* number(llvm::Value* like, double value);
  llvm::Value* polynomial(llvm::Value* x, std::span<const double> coefficients);
  llvm::Value* bits(llvm::Value* x);
  llvm::Value* from_bits(llvm::Value* x);
  llvm::Value* with_sign_of(llvm::Value* magnitude, llvm::Value* sign);
  llvm::Value* scale_by_power(llvm::Value* x, llvm::Value* exponent);
  llvm::Value* clamp(llvm::Value* x, double low, double high);
  llvm::Value* nearest(llvm::Value* x, llvm::Value** as_integer);
  llvm::Value* exp2_by(llvm::Value* x, std::span<const double> coefficients);
  llvm::Value* exp2_of(llvm::Value* x);
  llvm::Value* reciprocal(llvm::Value* x);
  llvm::Value* logarithm(llvm::Value* x, bool base_two);
  llvm::Value* sine(llvm::Value* x, bool cosine);
  llvm::Value* has_large(llvm::Value* x);
  llvm::Value* root(llvm::Value* x);
  llvm::Value* power(llvm::Value* x, llvm::Value* y);
  llvm::Value* short_power(llvm::Value* x, llvm::Value* y);
  /// Parts of a number: 2^exponent * m, and which piece of a table m is in.
  struct Mantissa {
    llvm::Value* m;
    llvm::Value* exponent;
    llvm::Value* piece;
  };

  // table_math.cpp, table_log.cpp: for vectors of 16 floats
  llvm::Value* look_up(llvm::Value* index, std::span<const double> table);
  llvm::Value* piece(llvm::Value* index, llvm::Value* x,
                     const std::vector<std::vector<double>>& pieces);
  llvm::Value* piece_times(llvm::Value* factor, llvm::Value* index, llvm::Value* x,
                           const std::vector<std::vector<double>>& pieces);
  llvm::Value* odd_by_table(llvm::Value* x, bool tanh);
  llvm::Value* gated_by_table(llvm::Value* x, const std::function<double(double)>& rest);
  llvm::Value* atan_by_table(llvm::Value* x);
  Mantissa mantissa_of(llvm::Value* x);
  llvm::Value* short_log(const Mantissa& x, bool base_two);
  llvm::Value* full_log(const Mantissa& x, bool base_two);
  llvm::Value* logarithm_by_table(llvm::Value* x, bool base_two);

  bool has_wide_floats(llvm::Value* x) const;
  llvm::Value* in_parts(llvm::Value* x, llvm::function_ref<llvm::Value*(llvm::Value* part)> code);
  llvm::Value* library(const char* function, llvm::ArrayRef<llvm::Value*> arguments);

  VectorBuilder& builder_;
  llvm::IRBuilder<>& ir_;
  MathAccuracy accuracy_;
};

}  // namespace luminal::codegen
