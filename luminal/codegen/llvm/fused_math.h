// Ops that are better computed as one: 1 + tanh(x) and 1 + erf(x), the gates of gelu, which as one
// cost little more than an exponential and lose nothing where the sum is near 0; and exp(x - max),
// whose argument is never large, so that 2^(x log2 e) will do: its error grows with the distance
// from the maximum as its value vanishes (2^-20 at 10, 2^-17 at 80). The other way round, x - max
// is never part of a fused instruction: if x is a product, the maximum was found among rounded
// ones, and a difference from it that is not rounded may be large and positive.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include "luminal/codegen/llvm/vector_math.h"
#include "luminal/kernel/body.h"

namespace luminal::codegen {

/// The value of a node that is one of these, from the values of what it is made of; null for
/// others.
llvm::Value* fused_operation(const kernel::Arena& arena, const kernel::BodyNode& node,
                             VectorMath& math,
                             llvm::function_ref<llvm::Value*(kernel::BodyId)> value_of);

}  // namespace luminal::codegen
