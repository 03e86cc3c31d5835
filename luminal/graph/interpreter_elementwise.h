// The arithmetic of the elementwise primitives: what the table in ops.h says, on blocks of numbers.
//
// Floats of every dtype are computed in f64 and rounded to the dtype once. For add, mul, div,
// recip, sqrt, mod, floor, round, max and comparisons this is exactly IEEE arithmetic of the dtype
// itself (f64 has more than twice the bits of f32, so the second rounding changes nothing); for
// exp, log, sin, pow and the like it is the nearest value in all but rare cases. Integers of every
// dtype are computed in 64 bits and wrapped; i64 wraps by itself.
#pragma once

#include <span>

#include "luminal/graph/element_source.h"

namespace luminal::graph {

/// Computes `count` elements of any elementwise op but Bitcast. Operands hold numbers of
/// `operand_dtype` (Select: the condition is bool). The result still has to be rounded or wrapped
/// to `dtype`.
void compute_elementwise(Op op, DType operand_dtype, DType dtype, std::span<const Block> operands,
                         int64_t count, Block& result);

/// IEEE maximum: NaN if either is NaN, and +0 is larger than -0, so that it commutes.
double maximum(double a, double b);
int64_t maximum(int64_t a, int64_t b);
/// Its counterpart for minima.
double minimum(double a, double b);
int64_t minimum(int64_t a, int64_t b);

/// Wrapping arithmetic, without undefined behaviour.
constexpr int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
constexpr int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace luminal::graph
