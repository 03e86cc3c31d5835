// Arithmetic on intervals, for the implementation only. Results that leave 64 bits become an open
// bound, so an interval is always correct and at worst says nothing.
#pragma once

#include <cstdint>

#include "luminal/symbolic/expr.h"

namespace luminal::symbolic {

inline constexpr Interval kEverything{Interval::kNegInf, Interval::kPosInf};

/// All sums of a value of a and a value of b.
Interval add(Interval a, Interval b);
/// All products.
Interval multiply(Interval a, Interval b);
/// All k-th powers, k >= 1.
Interval power(Interval a, int32_t k);
/// All floor quotients by the non-zero values of b.
Interval floor_divide(Interval a, Interval b);
/// The values that both allow. Both are correct bounds of one thing, so this is not empty unless
/// nothing satisfies them; then the first is kept.
Interval intersect(Interval a, Interval b);

}  // namespace luminal::symbolic
