// Convolutions with 3x3 windows that move by one, by the minimal algorithm of Winograd for squares
// of 2x2 pixels: 16 products for 4 pixels instead of 36. Windows and filter are transformed by
// additions alone; in between there is one matrix product for each of the 16 places. A pixel is
// made of nothing but its own window, so that what lies beside it costs it no digits.
#pragma once

#include "luminal/codegen/llvm/winograd_code.h"

namespace luminal::codegen {

/// Adds the entry "conv" to a module.
void emit_winograd(llvm::Module& module, const CpuTarget& target, const WinogradCode& code);

}  // namespace luminal::codegen
