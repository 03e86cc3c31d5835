// Compares a result with the expected one under a tolerance, and says where they first differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "luminal/graph/array.h"

namespace luminal::test {

/// How far a result may be from the expected one.
struct Tolerance {
  enum class Kind {
    kExact,  // same bits, any NaN matches any NaN
    kEqual,  // as exact, but -0 matches 0
    kUlps,   // at most `ulps` representable values apart, zeros of the same sign
    kClose,  // |actual - expected| <= absolute + relative * |expected|
  };
  Kind kind = Kind::kExact;
  int64_t ulps = 0;
  double relative = 0;
  double absolute = 0;
};

/// Nothing if `actual` is within the tolerance of `expected`; otherwise the reason: dtype or shape
/// that differs, or how many elements do, the first of them and its two values.
std::optional<std::string> difference(const graph::Array& actual, const graph::Array& expected,
                                      const Tolerance& tolerance);

/// How many representable values of the float dtype lie between the elements at `position`; the two
/// zeros are one apart, infinity follows the largest finite value. Not for NaN.
uint64_t ulps_apart(const graph::Array& a, const graph::Array& b, int64_t position);

}  // namespace luminal::test
