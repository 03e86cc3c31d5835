// The entry of generated products: "gemm" computes work items (a block of rows times one panel of
// columns, of one batch and one part of k) with everything that is done to operands and, unless k
// is split, to sums.
#pragma once

#include <llvm/IR/Module.h>

#include "luminal/codegen/llvm/gemm_code.h"

namespace luminal::codegen {

/// Adds the entry "gemm" to a module. Buffers after the tensors are panels that are packed ahead,
/// then sums of parts of k, for each product one.
void emit_gemm(llvm::Module& module, const CpuTarget& target, const GemmCode& code);

}  // namespace luminal::codegen
