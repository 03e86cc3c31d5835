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
/// Products of registers that a round of the loop below has.
inline constexpr int kAmxRoundProducts = 4;

/// Adds the function to the module; the builder's place is kept. The spec has tiles of 32 x 32;
/// where k ends within a register, zeros follow in A and B.
llvm::Function* emit_amx_tile(VectorBuilder& builder, const GemmSpec& spec);

/// The same for whole tiles, one below the other: `kTileRows` is a multiple of 32, and there is a
/// last argument `kTileNextRows`. Registers are set up once for all of them, which takes as long as
/// several products do.
llvm::Function* emit_amx_tiles(VectorBuilder& builder, const GemmSpec& spec);

/// Writes a loop that does nothing but multiply registers, `kAmxRoundProducts` each round, and puts
/// sums at `out`, where there is room for one register. The target must have them.
void emit_amx_rounds(VectorBuilder& builder, GemmMode mode, llvm::Value* begin, llvm::Value* end,
                     llvm::Value* out);

}  // namespace luminal::codegen
