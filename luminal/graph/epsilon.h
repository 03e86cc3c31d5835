// How finely a float dtype divides numbers: the one figure that every bound on rounding is made of.
#pragma once

#include "luminal/graph/dtype.h"

namespace luminal::graph {

/// The distance from 1 to the next number of a float dtype; 0 for others, which do not round.
constexpr double epsilon(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p-52;
    case DType::kF32:
      return 0x1p-23;
    case DType::kF16:
      return 0x1p-10;
    case DType::kBF16:
      return 0x1p-7;
    case DType::kF8E4M3:
      return 0x1p-3;
    case DType::kF8E5M2:
      return 0x1p-2;
    default:
      return 0.0;
  }
}

}  // namespace luminal::graph
