// Conversions between dtypes; the rules are in graph/dtype.h.
#pragma once

#include "luminal/tensor/tensor.h"

namespace luminal {

/// The values converted to `dtype`; the tensor itself if it already has it.
Tensor cast(const Tensor& tensor, DType dtype);

/// The same bits read as another dtype of the same width.
Tensor bitcast(const Tensor& tensor, DType dtype);

}  // namespace luminal
