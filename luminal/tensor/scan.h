// Running results along an axis. An axis of known extent is scanned in blocks, in O(n) work; a dim
// with an upper bound in O(n log n): step k combines every element with the one 2^k before it. A
// dim without an upper bound is an error.
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
