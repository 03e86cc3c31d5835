// The order of instructions in blocks that compute several vectors alike, each of which takes a
// long chain of instructions. Side by side, all of them multiply, then all add, and units wait for
// each other; one after the other, each waits for itself. Here each chain begins some cycles after
// the one before, so that one multiplies while another adds.
#pragma once

namespace llvm {
class Function;
}

namespace luminal::codegen {

/// Lets the backend ask here for the order of functions that want it; once per process.
void use_instruction_order();

/// Asks for this order of a function. Blocks that have no such chains, or not the registers, keep
/// the order of the backend.
void ask_for_staggered_chains(llvm::Function& function);

}  // namespace luminal::codegen
