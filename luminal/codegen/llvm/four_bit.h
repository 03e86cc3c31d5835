// Weights of four bits, recognised in an operand of a product whatever they are made of: digits of
// a range of 16 (a 4-bit tensor, or nibbles masked and shifted out of bytes), with a zero, and with
// a scale and an offset that blocks of neighbouring steps of k share. No LLVM.
#pragma once

#include <optional>
#include <span>

#include "luminal/kernel/body.h"

namespace luminal::codegen {

/// scale * (digits - lowest - zero) + offset.
struct FourBitWeights {
  kernel::BodyId digits;  ///< an integer body from `lowest` to `lowest` + 15
  int64_t lowest = 0;     ///< so that digits - lowest fits four bits
  int64_t zero = 0;       ///< among these four bits; small enough to be exact in every float
  std::optional<kernel::BodyId> scale = {};   ///< a float; none: 1
  std::optional<kernel::BodyId> offset = {};  ///< a float; none: 0
  int64_t block = 0;  ///< steps of k that share scale and offset; a multiple of 8
};

/// How a body is such weights, if it is: `k` are its summed axes, outermost first. New bodies go to
/// the arena.
std::optional<FourBitWeights> four_bit_weights(kernel::Arena& arena, kernel::BodyId value,
                                               std::span<const symbolic::Expr> k);

}  // namespace luminal::codegen
