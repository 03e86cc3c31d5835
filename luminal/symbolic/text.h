// Text of expressions: C-like code for generated kernels, and parsing of the readable text that
// to_string() writes. Reading back what was written gives the same expression.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "luminal/symbolic/expr.h"

namespace luminal::symbolic {

/// Code in the common subset of C, CUDA, OpenCL and Metal over 64-bit integers. Plain / and % are
/// used where the numerator is proved non-negative and the divisor positive; elsewhere it calls
/// floor_div(a, b), which the surrounding code defines, as it does min(a, b) and max(a, b).
std::string c_text(const Expr& expr);

/// Finds the expression that a name stands for; nothing if the name is unknown.
using Resolver = std::function<std::optional<Expr>(std::string_view name)>;

/// Reads an expression. Operators by falling precedence: unary - and !; * / % (floor semantics);
/// + -; < <= > >=; == !=; &&; ||. Calls: min and max (two or more), floor_div, ceil_div, mod,
/// select. Errors are UserErrors that name the position.
Expr parse(std::string_view text, const Resolver& resolve);
/// The same with the variables and axes that may occur, found by their names.
Expr parse(std::string_view text, std::span<const Expr> symbols);

}  // namespace luminal::symbolic
