// Ops that are better computed as one: 1 + tanh(x) and 1 + erf(x), the gates of gelu, which as one
// cost little more than an exponential and lose nothing where the sum is near 0, and gelu itself;
// exp(x - max), whose argument is never large, so that 2^(x log2 e) will do: its error grows with
// the distance from the maximum as its value vanishes (2^-20 at 10, 2^-17 at 80); quotients by the
// sum of a row of these; and |x| written as a choice. The other way round, x - max
// is never part of a fused instruction: if x is a product, the maximum was found among rounded
// ones, and a difference from it that is not rounded may be large and positive.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <optional>

#include "luminal/codegen/llvm/vector_math.h"
#include "luminal/kernel/body.h"

namespace luminal::codegen {

/// What a value is before it was made wider, which changes nothing.
kernel::BodyId before_widening(const kernel::Arena& arena, kernel::BodyId id);
/// exp(x - the maximum of the row that x is in), and the sum of these over the same row, which is
/// at least 1.
bool is_relative_exp(const kernel::Arena& arena, const kernel::BodyNode& node);
bool is_sum_of_relative_exps(const kernel::Arena& arena, const kernel::BodyNode& node);
/// The maximum of such a sum; nothing if it is none.
std::optional<kernel::BodyId> maximum_of_relative_exps(const kernel::Arena& arena,
                                                       const kernel::BodyNode& node);
/// Whether it is x - the maximum of a row, whatever x is, or x - what is that under a condition, or
/// x - the minimum of a row.
bool subtracts_extreme(const kernel::Arena& arena, const kernel::BodyNode& node);
/// Whether it is x - the maximum of the row that x is in: it is never above 0.
bool subtracts_own_maximum(const kernel::Arena& arena, const kernel::BodyNode& node);
/// The x of x <= 0 ? 0 - x : x.
std::optional<kernel::BodyId> absolute_of(const kernel::Arena& arena, const kernel::BodyNode& node);

/// The value of a node that is one of these, from the values of what it is made of; null for
/// others.
llvm::Value* fused_operation(const kernel::Arena& arena, const kernel::BodyNode& node,
                             VectorMath& math,
                             llvm::function_ref<llvm::Value*(kernel::BodyId)> value_of);

}  // namespace luminal::codegen
