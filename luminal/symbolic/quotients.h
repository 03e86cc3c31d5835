// The divisions inside an expression. A view that merged axes reads through i / d and i % d; who
// wants to undo the merge (split i into i / d and i % d) asks here which d there are.
#pragma once

#include <vector>

#include "luminal/symbolic/expr.h"

namespace luminal::symbolic {

/// floor_div(numerator, divisor), as it stands in a normal form.
struct Quotient {
  Expr numerator;
  Expr divisor;
  bool operator==(const Quotient&) const = default;
};

/// Every division in the expression (a remainder holds one too), each once: those inside others
/// first, otherwise in the order in which they stand.
std::vector<Quotient> quotients(const Expr& expr);

}  // namespace luminal::symbolic
