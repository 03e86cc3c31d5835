// Sums of rows times weights that are digits with an offset for each block, x * (q - z) * s: code
// for weights of four bits (codegen/llvm/four_bit.h) takes the offset out of the sum over a block,
// s * (sum of x q) - s z * (sum of x). Both parts may be larger than what is left of them, and an
// infinity in x is in both, so that a candidate that does this may have NaN where the sum is
// infinite (docs/kernels.md).
#pragma once

#include <map>
#include <memory>

#include "luminal/kernel/body.h"

namespace luminal::search {

/// What leaves a sum.
struct LeavingOffset {
  kernel::BodyId term;    ///< the offset times the other operand, at one step of the sum
  double rounding = 0.0;  ///< of the offset as it is kept, relative to it
};

/// Of a kernel, by sum.
struct LeavingOffsets {
  std::shared_ptr<const kernel::Arena> arena;  ///< that of the kernel with the terms; null: none
  std::map<kernel::BodyId, LeavingOffset> sums;
};

/// Finds them.
LeavingOffsets leaving_offsets(const kernel::Arena& arena, const kernel::Kernel& kernel);

}  // namespace luminal::search
