// Floats of every dtype in decimal: the fewest digits that name exactly one value of the dtype.
#pragma once

#include <string>

#include "luminal/graph/dtype.h"

namespace luminal::graph {

/// A finite float in decimal: +-d.ddd * 10^exponent. Zero has the one digit 0 and exponent 0.
struct Decimal {
  bool negative = false;
  std::string digits;  // no trailing zeros, at least one digit
  int exponent = 0;

  /// The whole part, with sign: "-12". Not for scientific notation.
  std::string whole_part() const;
  /// What follows the point, without trailing zeros: "" for whole numbers.
  std::string fraction_part() const;
};

/// The shortest decimal that rounds to `value` in `dtype`; the value must be finite and one of the
/// dtype.
Decimal shortest_decimal(DType dtype, double value);

/// "1", "0.1", "1e+20", "-0", "nan", "-inf": text that parses back to the value.
std::string shortest_text(DType dtype, double value);

}  // namespace luminal::graph
