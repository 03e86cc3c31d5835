// The filter of a convolution by squares (winograd_emitter.h) at the 16 places of a square, with
// its channels as neighbours. A filter may change in every run, so its windows are read once: where
// they lie one after the other, a vector each and turned in registers.
#pragma once

#include "luminal/codegen/llvm/winograd_code.h"

namespace luminal::codegen {

/// Adds the entry "filter" to a module. Its items are rows of the filter; it stores in the code's
/// tensor of that name.
void emit_winograd_filter(llvm::Module& module, const CpuTarget& target, const WinogradCode& code);

/// Whether windows of the filter lie one after the other and fit vectors of so many.
bool has_whole_windows(const kernel::Arena& arena, const WinogradCode& code, int lanes);

}  // namespace luminal::codegen
