// Helpers of the tests of this folder.
#pragma once

#include <ostream>

#include "luminal/symbolic/expr.h"

namespace luminal::symbolic {

/// Lets test failures show expressions as text.
inline void PrintTo(const Expr& expr, std::ostream* out) { *out << to_string(expr); }

/// Lets test failures show intervals.
inline void PrintTo(const Interval& interval, std::ostream* out) {
  *out << '[' << interval.lo << ", " << interval.hi << ']';
}

}  // namespace luminal::symbolic
