// Normal form of floor division. What the divisor divides comes out of the numerator, constants are
// reduced, common factors cancel, nested divisions become one, and a quotient that the bounds fix
// is a constant. Every step is an identity of floor division over all integers under the facts it
// has proved; nothing is assumed about signs.
#include <algorithm>

#include "luminal/symbolic/node.h"

namespace luminal::symbolic {
namespace {

bool is_proved_non_negative(const Expr& expr) { return expr.bounds().lo >= 0; }

// The quotient, if the bounds leave only one. A divisor that is >= 0 is > 0, since it is not 0.
std::optional<int64_t> fixed_quotient(const Expr& numerator, const Expr& divisor) {
  if (numerator.is_constant(0)) return 0;
  if (auto number = divisor.constant_value()) {
    const Interval bounds = numerator.bounds();
    if (!bounds.is_finite()) return std::nullopt;
    const int64_t quotient = checked_floor_div(bounds.lo, *number);
    if (quotient != checked_floor_div(bounds.hi, *number)) return std::nullopt;
    return quotient;
  }
  try {
    const Interval bounds = numerator.bounds();
    if (bounds.lo >= 0 && provably_less(numerator, divisor)) return 0;
    if (bounds.hi < 0 && is_proved_non_negative(numerator + divisor)) return -1;
  } catch (const OverflowError&) {
    // The numbers are too large to decide it.
  }
  return std::nullopt;
}

// Factors of the divisor that could cancel: what it has in common with each term, largest first.
std::vector<Expr> candidate_factors(const Expr& numerator, const Expr& divisor) {
  const Term common = content(divisor);
  std::vector<Expr> candidates;
  for (const Term& term : terms_of(numerator)) {
    const Term factor = common_factor(term, common);
    const Expr candidate = from_term(factor.coefficient, factor.monomial);
    if (candidate.is_constant(1) || candidate == divisor) continue;
    if (std::find(candidates.begin(), candidates.end(), candidate) == candidates.end())
      candidates.push_back(candidate);
  }
  std::sort(candidates.begin(), candidates.end(), [](const Expr& a, const Expr& b) {
    const bool number_a = a.is_constant(), number_b = b.is_constant();
    if (number_a != number_b) return number_b;
    const auto order = compare_monomials(content(a).monomial, content(b).monomial);
    return order != 0 ? order < 0 : leading_coefficient(a) > leading_coefficient(b);
  });
  return candidates;
}

// floor((g*A + s) / (g*e)) = floor((A + floor(s/g)) / e); used where floor(s/g) is a constant.
std::optional<Expr> cancel_factor(const Expr& numerator, const Expr& divisor) {
  for (const Expr& factor : candidate_factors(numerator, divisor)) {
    const Division split = divide_polynomial(numerator, factor);
    if (!split.remainder.is_constant(0) && !is_proved_non_negative(factor)) continue;
    if (const auto quotient = fixed_quotient(split.remainder, factor))
      return floor_div(split.quotient + *quotient, divide_polynomial(divisor, factor).quotient);
  }
  return std::nullopt;
}

// floor((floor(e/a) + k) / d) = floor((e + a*k) / (a*d)) for d > 0. With a minus sign the ceiling
// -floor(e/a) = floor((-e-1)/a) + 1 takes its place, which needs a > 0.
std::optional<Expr> merge_nested(const Expr& numerator, const Expr& divisor) {
  const std::vector<Term>& terms = terms_of(numerator);
  for (size_t k = terms.size(); k-- > 0;) {
    const Term& term = terms[k];
    if (term.monomial.size() != 1 || term.monomial[0].power != 1) continue;
    const Node* inner = term.monomial[0].atom;
    if (inner->kind != Kind::kFloorDiv) continue;
    const Expr &value = inner->operands[0], &inner_divisor = inner->operands[1];
    try {
      if (term.coefficient == 1) {
        const Expr rest = numerator - from_atom(inner);
        return floor_div(value + inner_divisor * rest, inner_divisor * divisor);
      }
      if (term.coefficient == -1 && is_proved_non_negative(inner_divisor)) {
        const Expr rest = numerator + from_atom(inner);
        return floor_div(inner_divisor * (rest + 1) - value - 1, inner_divisor * divisor);
      }
    } catch (const OverflowError&) {
      // The merged divisor does not fit; the nested form stays.
    }
  }
  return std::nullopt;
}

Expr make_atom(const Expr& numerator, const Expr& divisor) {
  return intern({.kind = Kind::kFloorDiv, .operands = {numerator, divisor}});
}

// Division by something whose sign is unknown: only exact cancellation is sound.
Expr divide_unknown_sign(const Expr& numerator, const Expr& divisor) {
  const Term common = common_factor(content(numerator), content(divisor));
  const Expr factor = from_term(common.coefficient, common.monomial);
  if (factor.is_constant(1)) return make_atom(numerator, divisor);
  return floor_div(divide_polynomial(numerator, factor).quotient,
                   divide_polynomial(divisor, factor).quotient);
}

Expr divide_positive(const Expr& numerator, const Expr& divisor) {
  if (const auto quotient = fixed_quotient(numerator, divisor)) return *quotient;
  if (leading_coefficient(numerator) < 0) {
    // floor(-p / d) = -1 - floor((p - 1) / d): one of the two signs is the normal form.
    try {
      return -1 - floor_div(-numerator - 1, divisor);
    } catch (const OverflowError&) {
      // The other sign does not fit into 64 bits, so this one stays.
    }
  }
  if (auto result = cancel_factor(numerator, divisor)) return *result;
  if (auto result = merge_nested(numerator, divisor)) return *result;
  return make_atom(numerator, divisor);
}

enum class DivisorSign { kPositive, kNegative, kUnknown };

// A proof may succeed for -d and fail for d, so both are asked: the answers for d and for -d must
// be opposite, or the normal form of the divisor would flip for ever.
DivisorSign sign_of_divisor(const Expr& divisor) {
  const Interval bounds = divisor.bounds();
  if (divisor.is_constant() || bounds.lo >= 0)
    return bounds.lo >= 0 ? DivisorSign::kPositive : DivisorSign::kNegative;
  if (bounds.hi <= 0) return DivisorSign::kNegative;
  const Interval mirrored = (-divisor).bounds();
  if (mirrored.hi <= 0) return DivisorSign::kPositive;
  return mirrored.lo >= 0 ? DivisorSign::kNegative : DivisorSign::kUnknown;
}

Expr divide(const Expr& numerator, const Expr& divisor, bool positive) {
  const Division split = divide_polynomial(numerator, divisor);
  if (split.remainder.is_constant(0)) return split.quotient;
  return split.quotient + (positive ? divide_positive(split.remainder, divisor)
                                    : divide_unknown_sign(split.remainder, divisor));
}

}  // namespace

Expr floor_div(const Expr& a, const Expr& b) {
  if (b.is_constant(0)) throw UserError("floor_div", "{} is divided by zero", to_string(a));
  if (b.is_constant(1) || a.is_constant(0)) return a;
  if (b.is_constant(-1)) return -a;
  if (a.is_constant() && b.is_constant())
    return checked_floor_div(*a.constant_value(), *b.constant_value());
  const DivisorSign sign = sign_of_divisor(b);
  if (sign == DivisorSign::kNegative ||
      (sign == DivisorSign::kUnknown && leading_coefficient(b) < 0))
    return divide(-a, -b, sign != DivisorSign::kUnknown);
  return divide(a, b, sign != DivisorSign::kUnknown);
}

Expr ceil_div(const Expr& a, const Expr& b) { return -floor_div(-a, b); }

Expr mod(const Expr& a, const Expr& b) { return a - b * floor_div(a, b); }

std::optional<Expr> exact_div(const Expr& a, const Expr& b) {
  if (b.is_constant(0)) return std::nullopt;
  const Division split = divide_polynomial(a, b);
  if (split.remainder.is_constant(0)) return split.quotient;
  const Expr quotient = floor_div(a, b);
  if (provably_equal(quotient * b, a)) return quotient;
  return std::nullopt;
}

bool divisible_by(const Expr& a, const Expr& b) { return exact_div(a, b).has_value(); }

}  // namespace luminal::symbolic
