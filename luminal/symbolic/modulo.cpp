// Recognises remainders in normal forms. A remainder is stored as value - divisor * quotient, so
// that it cancels against other terms; bounds and text want it back.
#include "luminal/symbolic/node.h"

namespace luminal::symbolic {
namespace {

size_t length(const Expr& expr) { return terms_of(expr).size() + (constant_part(expr) != 0); }

// The form factor * mod(value, divisor) + rest, if it is shorter and rebuilds the expression.
std::optional<ModuloForm> accept(const Expr& expr, const Linear& split, const Expr& factor,
                                 const Expr& value, const Expr& divisor) {
  const Expr rest = split.rest - factor * value;
  if (length(rest) >= length(split.rest)) return std::nullopt;
  if (rest + factor * mod(value, divisor) != expr) return std::nullopt;
  return ModuloForm{rest, factor, value, divisor};
}

std::optional<Expr> divide_exactly(const Expr& a, const Expr& b) {
  const Division split = divide_polynomial(a, b);
  if (!split.remainder.is_constant(0)) return std::nullopt;
  return split.quotient;
}

// f * (v / g) - f * m * (v / (g*m)) is f * ((v / g) mod m).
std::optional<ModuloForm> find_nested(const Expr& expr, const Linear& split, const Node* quotient) {
  const Expr &value = quotient->operands[0], &divisor = quotient->operands[1];
  for (const Term& term : terms_of(split.rest)) {
    for (const Factor& inner : term.monomial) {
      if (inner.atom->kind != Kind::kFloorDiv || inner.power != 1) continue;
      const auto other = split_linear(split.rest, inner.atom);
      if (!other) continue;
      const auto modulus = divide_exactly(-split.coefficient, other->coefficient);
      if (!modulus || modulus->is_constant(1)) continue;
      const auto inner_divisor = divide_exactly(divisor, *modulus);
      if (!inner_divisor) continue;
      const Expr inner_value = floor_div(value, *inner_divisor);
      if (auto form = accept(expr, split, other->coefficient, inner_value, *modulus)) return form;
    }
  }
  return std::nullopt;
}

std::optional<ModuloForm> find_first(const Expr& expr) {
  for (const Term& term : terms_of(expr)) {
    for (const Factor& factor : term.monomial) {
      if (factor.atom->kind != Kind::kFloorDiv || factor.power != 1) continue;
      const auto split = split_linear(expr, factor.atom);
      if (!split) continue;
      const Expr &value = factor.atom->operands[0], &divisor = factor.atom->operands[1];
      if (const auto scale = divide_exactly(-split->coefficient, divisor)) {
        if (auto form = accept(expr, *split, *scale, value, divisor)) return form;
      }
      if (auto form = find_nested(expr, *split, factor.atom)) return form;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ModuloForm> find_modulo(const Expr& expr) {
  try {
    return find_first(expr);
  } catch (const OverflowError&) {
    return std::nullopt;  // a form that cannot be computed with is of no use
  }
}

}  // namespace luminal::symbolic
