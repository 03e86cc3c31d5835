// Sums of floats that are compared, as in an argmax of products. Two kernels that need one may each
// add it up, in an order of its own: then no element might equal the maximum that the other has
// found. So such sums are stored.
#pragma once

#include "luminal/kernel/cut_search.h"

namespace luminal::kernel {

/// Whether the least difference of an operand may change all of a result of this dtype:
/// comparisons, floors, remainders, powers of floats, casts of floats to integers. They see
/// operands as the graph rounds them, as every other op may see digits that the graph has lost.
bool may_jump(Op op, DType dtype);

/// The cut, and those sums in it that several of its kernels would compute and some compares, or
/// takes from themselves at another position.
Cut with_compared_sums(const Program& program, Cut cut, CutCosts& costs);

}  // namespace luminal::kernel
