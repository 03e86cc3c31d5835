// The tile of gemm on processors with matrix registers (AMX): two by two blocks of 16 x 16 sums,
// panels and arguments as for gemm_tile.h. Where the target has no such registers the same steps
// are written out as loops over memory, slowly: so that they can be checked on any machine.
#pragma once

#include "luminal/codegen/llvm/gemm.h"
#include "luminal/codegen/llvm/gemm_tile.h"

namespace luminal::codegen {

/// Rows, columns of sums and bytes of a row of one matrix register.
inline constexpr int kAmxRows = 16;
inline constexpr int kAmxColumns = 16;
inline constexpr int kAmxRowBytes = 64;

/// Adds the function to the module; the builder's place is kept. The spec has tiles of 32 x 32, and
/// k is a multiple of what one register holds.
llvm::Function* emit_amx_tile(VectorBuilder& builder, const GemmSpec& spec);

}  // namespace luminal::codegen
