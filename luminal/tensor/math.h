// Unary math, elementwise. Integers and bool are converted to f32 where the result is a fraction;
// floor, ceil, round and trunc leave integers alone. Functions composed of several primitives
// compute f16, bf16 and f8 in f32 and round once.
#pragma once

#include "luminal/tensor/tensor.h"

namespace luminal {

Tensor neg(const Tensor& x);
/// |x|; the smallest integer of a signed dtype wraps to itself.
Tensor abs(const Tensor& x);
/// -1, 0 or 1; NaN stays NaN.
Tensor sign(const Tensor& x);
/// 1 / x.
Tensor recip(const Tensor& x);
Tensor square(const Tensor& x);
Tensor sqrt(const Tensor& x);
/// 1 / sqrt(x).
Tensor rsqrt(const Tensor& x);

Tensor exp(const Tensor& x);
Tensor exp2(const Tensor& x);
/// exp(x) - 1, accurate near 0.
Tensor expm1(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log2(const Tensor& x);
/// log(1 + x), accurate near 0.
Tensor log1p(const Tensor& x);

Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
Tensor asin(const Tensor& x);
Tensor acos(const Tensor& x);
Tensor atan(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor tanh(const Tensor& x);
/// The error function.
Tensor erf(const Tensor& x);

Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
/// To the nearest integer, ties to even.
Tensor round(const Tensor& x);
/// Toward zero.
Tensor trunc(const Tensor& x);

/// These give bool.
Tensor isnan(const Tensor& x);
Tensor isinf(const Tensor& x);
Tensor isfinite(const Tensor& x);

}  // namespace luminal
