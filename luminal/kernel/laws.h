// Body laws: equal ways to compute a body that only show once everything is substituted. Each is a
// pure function from bodies to bodies with a numeric class; what is worth applying is a question of
// cost. Flash attention is three of them: factor 1/l out of the sum, interchange, online.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "luminal/kernel/body.h"

namespace luminal::kernel {

/// What a law does to results.
enum class NumericClass : uint8_t {
  kExact,          // bit for bit the same
  kReassociation,  // the same real number, rounded elsewhere; each law says what may overflow
};

/// A law on whole kernels.
struct Law {
  std::string_view name;
  NumericClass numeric_class;
  /// The kernel after the law, or nothing if it does not apply anywhere.
  std::optional<Kernel> (*apply)(Arena& arena, const Kernel& kernel);
};

/// Every law below but online, which is a way to build loops (nest.h).
std::span<const Law> all_laws();

/// sum_r(f * c) -> c * sum_r f, and / c: c does not use r. Sums of integers and of f32 and f64
/// only, over at least one element (the sum of nothing is 0, and c may be infinite). Never through
/// an integer division. Integers wrap alike on both sides. A factor of floats may be just what
/// keeps the terms within range, so three kinds leave and all others stay:
/// - 1/l, l = sum exp(a - max a) the total of a softmax. l is from 1 to the number n of its terms,
///   so without it nothing vanishes, and only terms within n of the largest float overflow.
/// - What multiplies or divides a *code*, an integer of at most 1024 (8 bits, with a zero), before
///   anything else does: the scale of a quantised number. A code that is not 0 makes the rest of
///   its term no smaller and at most 1024 times as large: nothing vanishes, and a sum of n terms
///   overflows only if another operand is within 1024 n of the largest float.
/// - 1/sqrt(mean(x^2) + e), e at least 2^-46, next to the x whose squares are summed (rms_norm), if
///   it is the only one. Where the squares are finite, x is below 2^64, and only operands above
///   2^64/n overflow without it; the factor is at most 2^23, so what vanishes without it was
///   denormal. Where they are not, the result is 0, and NaN if the sum overflows.
std::optional<Kernel> factor_invariants(Arena& arena, const Kernel& kernel);

/// sum_a sum_b (f * c) -> sum_a (c * sum_b f), where c uses some of the summed axes, but none of
/// the last ones (the scale of a block of quantised numbers). For reductions over output axes only,
/// and the same factors as above.
std::optional<Kernel> factor_blocks(Arena& arena, const Kernel& kernel);

/// sum_r c -> n * c and max_r c -> c for an axis that c does not use, where n >= 1 is proved.
std::optional<Kernel> reduce_broadcasts(Arena& arena, const Kernel& kernel);

/// sum of sum -> one sum: for arenas that do not merge by themselves.
std::optional<Kernel> merge_reductions(Arena& arena, const Kernel& kernel);

/// An output axis of extent 2 to 4 becomes as many roots, if points then share reductions (the two
/// halves of a rotary embedding do).
std::optional<Kernel> unroll_output(Arena& arena, const Kernel& kernel);

/// The online law: `sum` adds up E * w, E = exp(a - max), where a is what `max` is the maximum of
/// (up to the names of the axes), and `max` occurs nowhere else in it. Then both can be found in
/// one pass that rescales the sum whenever the maximum grows. True for exp and exp2 of floats that
/// have infinities.
bool is_online_pair(Arena& arena, BodyId max, BodyId sum);

/// The exponential function of the online pair: kExp or kExp2.
Op online_exponential(Arena& arena, BodyId max, BodyId sum);

}  // namespace luminal::kernel
