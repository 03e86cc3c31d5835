// Order along an axis. Sorting is stable; NaN counts as larger than every number.
#pragma once

#include "luminal/tensor/tensor.h"

namespace luminal {

/// Sorted values and where they came from (i64).
struct Sorted {
  Tensor values;   ///< in order
  Tensor indices;  ///< where they stood
};

/// Positions that sort the axis.
Tensor argsort(const Tensor& x, int axis = -1, bool descending = false);
Sorted sort(const Tensor& x, int axis = -1, bool descending = false);  ///< equal ones by position
/// The k largest (smallest) elements in order; equal ones by position.
Sorted topk(const Tensor& x, const Dim& k, int axis = -1, bool largest = true);

}  // namespace luminal
