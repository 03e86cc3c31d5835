// Panels of four-bit weights: what a block of k shares comes first (a scale and perhaps an offset
// per column), then words of eight digits per column. The tile takes digits apart in registers,
// exactly, sums a block, and scales it: few rows read what the weights have in bits and no more.
#pragma once

#include "luminal/codegen/llvm/gemm_tile.h"

namespace luminal::codegen {

/// Which step of the eight of a word digit `number` (its bits begin at 4 * number) belongs to:
/// the halves of a word have pairs of neighbours at the same place, as dot instructions take them.
inline int step_of_digit(int number) { return number < 4 ? 2 * number : 2 * number - 7; }

/// Adds the function to the module; arguments are those of gemm_tile.h, with blocks as units of k.
llvm::Function* emit_block_tile(VectorBuilder& builder, const GemmSpec& spec, int rows, bool whole);

}  // namespace luminal::codegen
