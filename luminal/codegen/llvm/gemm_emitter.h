// The entries of generated products: "gemm" computes work items (a block of rows times one panel of
// columns, of one batch) with everything that is done to operands and sums; "pack" makes the panels
// of one product ahead.
#pragma once

#include <llvm/IR/Module.h>

#include "luminal/codegen/llvm/gemm_code.h"

namespace luminal::codegen {

/// Adds the entry "gemm" to a module.
void emit_gemm(llvm::Module& module, const CpuTarget& target, const GemmCode& code);
/// Adds the entry "pack", which makes the panels of one product in the buffer after the tensors.
void emit_gemm_pack(llvm::Module& module, const CpuTarget& target, const GemmCode& code,
                    size_t product);

}  // namespace luminal::codegen
