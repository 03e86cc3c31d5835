// Running results along an axis, in O(n log n) work: step k combines every element with the one 2^k
// before it. The axis needs a known extent or a dim with an upper bound, which decides the number
// of steps.
#pragma once

#include "luminal/tensor/tensor.h"

namespace luminal {

/// Running sum; integers and bool in i64, narrow floats in f32.
Tensor cumsum(const Tensor& x, int axis);
/// Running product, likewise.
Tensor cumprod(const Tensor& x, int axis);
/// Running maximum and minimum; once NaN, always NaN.
Tensor cummax(const Tensor& x, int axis);
Tensor cummin(const Tensor& x, int axis);

}  // namespace luminal
