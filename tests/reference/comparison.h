// Compares a result with the expected one under a tolerance, and says where they first differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "case_file.h"
#include "luminal/graph/array.h"

namespace luminal::reference {

/// Nothing if `actual` is within the tolerance of `expected`; otherwise the reason: dtype or shape
/// that differs, or how many elements do, the first of them and its two values.
std::optional<std::string> difference(const graph::Array& actual, const graph::Array& expected,
                                      const Tolerance& tolerance);

/// How many representable values of the float dtype lie between the elements at `position`; the two
/// zeros are one apart, infinity follows the largest finite value. Not for NaN.
uint64_t ulps_apart(const graph::Array& a, const graph::Array& b, int64_t position);

}  // namespace luminal::reference
