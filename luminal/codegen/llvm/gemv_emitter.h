// Few rows times a matrix that is read once, where it lies: the matrix streams by, and everything
// is about its bytes. Where memory runs along k, sums are made along the lanes, column by column;
// where it runs along the columns, sums of a block of them stay in the nearest cache while rows of
// the matrix are added, several at a time. A few short windows (depthwise convolution) are summed
// in registers, step by step of k.
#pragma once

#include "luminal/codegen/llvm/gemm_emitter.h"
#include "luminal/codegen/llvm/gemv.h"

namespace luminal::codegen {

/// Adds the entry "gemv" to a module. Tensors, dims and the plan are those of `code`.
void emit_gemv(llvm::Module& module, const CpuTarget& target, const GemmCode& code,
               const GemvSpec& spec);

/// Work items of "gemv" and scratch of one thread.
symbolic::Expr gemv_items(const ContractionPlan& plan, const GemvSpec& spec);
int64_t gemv_scratch_bytes(const ContractionPlan& plan, const GemvSpec& spec);

}  // namespace luminal::codegen
