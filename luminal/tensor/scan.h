// Running results along an axis, of any extent. Each is a reduction of all elements up to its own,
// which devices and the interpreter compute in one pass.
#pragma once

#include "luminal/tensor/tensor.h"

namespace luminal {

/// Running sum; integers and bool in i64, narrow floats in f32.
Tensor cumsum(const Tensor& x, int axis);
/// Running product, likewise.
Tensor cumprod(const Tensor& x, int axis);
/// Running maximum and minimum; once NaN, always NaN.
Tensor cummax(const Tensor& x, int axis);
Tensor cummin(const Tensor& x, int axis);  ///< the smallest so far

}  // namespace luminal
