// The index program that follows the normal form as it is printed, with nothing improved: what code
// generation would emit without the rules, and the result when the rules find nothing cheaper.
#pragma once

#include <span>

#include "luminal/rules/index_program.h"

namespace luminal::rules {

/// Sums of products in the order of the normal form; remainders, minima and maxima where the
/// printer of `symbolic` shows them. Equal parts are shared.
IndexProgram plain_program(std::span<const Expr> exprs);

}  // namespace luminal::rules
