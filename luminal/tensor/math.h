// Unary math, elementwise. Integers and bool are converted to f32 where the result is a fraction;
// floor, ceil, round and trunc leave integers alone. Functions composed of several primitives
// compute f16, bf16 and f8 in f32 and round once.
#pragma once

#include "luminal/tensor/tensor.h"

namespace luminal {
/// -x; unsigned integers wrap.
Tensor neg(const Tensor& x);
/// |x|; the smallest integer of a signed dtype wraps to itself.
Tensor abs(const Tensor& x);
/// -1, 0 or 1; NaN stays NaN.
Tensor sign(const Tensor& x);
/// 1 / x.
Tensor recip(const Tensor& x);
Tensor square(const Tensor& x);  ///< x * x
Tensor sqrt(const Tensor& x);    ///< NaN below 0
/// 1 / sqrt(x).
Tensor rsqrt(const Tensor& x);
/// e to the power x.
Tensor exp(const Tensor& x);
Tensor exp2(const Tensor& x);  ///< 2 to the power x
/// exp(x) - 1, accurate near 0.
Tensor expm1(const Tensor& x);
Tensor log(const Tensor& x);   ///< natural logarithm; NaN below 0
Tensor log2(const Tensor& x);  ///< to the base 2
/// log(1 + x), accurate near 0.
Tensor log1p(const Tensor& x);
/// Of an angle in radians.
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);   ///< of an angle in radians
Tensor tan(const Tensor& x);   ///< of an angle in radians
Tensor asin(const Tensor& x);  ///< within [-pi/2, pi/2]; NaN outside of [-1, 1]
Tensor acos(const Tensor& x);  ///< within [0, pi]; NaN outside of [-1, 1]
Tensor atan(const Tensor& x);  ///< within [-pi/2, pi/2]
Tensor sinh(const Tensor& x);  ///< hyperbolic sine
Tensor cosh(const Tensor& x);  ///< hyperbolic cosine
Tensor tanh(const Tensor& x);  ///< hyperbolic tangent
/// The error function.
Tensor erf(const Tensor& x);
/// Down to an integer.
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);  ///< up to an integer
/// To the nearest integer, ties to even.
Tensor round(const Tensor& x);
/// Toward zero.
Tensor trunc(const Tensor& x);

/// These give bool.
Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);     ///< of either sign
Tensor isfinite(const Tensor& x);  ///< neither NaN nor infinite

}  // namespace luminal
