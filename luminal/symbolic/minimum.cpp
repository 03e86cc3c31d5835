// Normal forms of minimum, maximum and tests. A maximum is a negated minimum of negated values, and
// a minimum is written as pivot + min(0, differences...), so that common addends and factors come
// out and min(a, b) + max(a, b) cancels to a + b.
#include <algorithm>
#include <optional>

#include "luminal/symbolic/node.h"

namespace luminal::symbolic {
namespace {

// How much a term decides about the pivot: minima before quotients before the rest.
int weight(const Term& term) {
  int result = 0;
  for (const Factor& factor : term.monomial) {
    if (factor.atom->kind == Kind::kMinimum) result = 2;
    if (factor.atom->kind == Kind::kFloorDiv) result = std::max(result, 1);
  }
  return result;
}

// True if the first non-zero coefficient of the difference, by weight and then by the order of
// terms, says "less". This order of polynomials is invariant under adding the same value to both.
bool is_pivot_before(const Expr& difference) {
  int64_t coefficient = constant_part(difference);
  int heaviest = -1;
  for (const Term& term : terms_of(difference)) {
    if (weight(term) <= heaviest) continue;
    heaviest = weight(term);
    // A plain pivot keeps subtracted minima and quotients whole, whatever the symbols are called.
    coefficient = heaviest > 0 ? (term.coefficient < 0 ? 1 : -1) : term.coefficient;
  }
  return coefficient < 0;
}

// The first member in an order that ignores common addends, which makes the choice canonical.
Expr choose_pivot(const std::vector<Expr>& members) {
  Expr pivot = members.front();
  for (const Expr& member : members) {
    if (is_pivot_before(member - pivot)) pivot = member;
  }
  return pivot;
}

// The factors of c * M * min(...) beside the minimum, if they are proved non-negative.
std::optional<Monomial> scale_of_minimum(const Term& term, const Node* minimum) {
  auto scale = divide(term.monomial, Monomial{Factor{minimum, 1}});
  if (!scale || term.coefficient < 0) return std::nullopt;
  for (const Factor& factor : *scale) {
    if (factor.atom == minimum || Expr(factor.atom).bounds().lo < 0) return std::nullopt;
  }
  return scale;
}

bool is_among(const Node* atom, const std::vector<Expr>& exprs) {
  return std::any_of(exprs.begin(), exprs.end(),
                     [&](const Expr& expr) { return split_linear(expr, atom).has_value(); });
}

// True if the minima of `rest` are pivots of `minimum`, which vanish when it is unpacked.
bool vanish_with(const Expr& rest, const Node* minimum) {
  for (const Term& term : terms_of(rest)) {
    for (const Factor& factor : term.monomial) {
      if (factor.atom->kind == Kind::kMinimum && !is_among(factor.atom, minimum->operands))
        return false;
    }
  }
  return true;
}

// R + s * min(0, d...) with s >= 0 has the members R, R + s*d, ...; anything else is one member.
// With minima in R that stay, unpacking would multiply members without making them simpler.
void flatten_into(std::vector<Expr>& members, const Expr& expr) {
  for (const Term& term : terms_of(expr)) {
    for (const Factor& factor : term.monomial) {
      if (factor.atom->kind != Kind::kMinimum) continue;
      const Expr rest = expr - from_term(term.coefficient, term.monomial);
      const auto scale = scale_of_minimum(term, factor.atom);
      if (!scale || !vanish_with(rest, factor.atom)) continue;
      for (const Expr& operand : factor.atom->operands)
        flatten_into(members, rest + from_term(term.coefficient, *scale) * operand);
      return;
    }
  }
  members.push_back(expr);
}

void sort_unique(std::vector<Expr>& exprs) {
  std::sort(exprs.begin(), exprs.end(),
            [](const Expr& a, const Expr& b) { return compare(a, b) < 0; });
  exprs.erase(std::unique(exprs.begin(), exprs.end()), exprs.end());
}

// Drops members that are never smaller than another one.
void drop_dominated(std::vector<Expr>& members) {
  sort_unique(members);
  for (size_t k = members.size(); k-- > 0;) {
    const bool dominated = std::any_of(members.begin(), members.end(), [&](const Expr& other) {
      return other != members[k] && provably_ge(members[k], other);
    });
    if (dominated) members.erase(members.begin() + k);
  }
}

// The largest factor of all differences that is proved non-negative.
Expr common_scale(const std::vector<Expr>& differences) {
  Term common{0, {}};
  for (const Expr& difference : differences) {
    if (difference.is_constant(0)) continue;
    const Term own = content(difference);
    common = common.coefficient == 0 ? own : common_factor(common, own);
  }
  Monomial proved;
  for (const Factor& factor : common.monomial) {
    if (Expr(factor.atom).bounds().lo >= 0) proved.push_back(factor);
  }
  return from_term(common.coefficient, proved);
}

std::vector<Expr> flatten(const std::vector<Expr>& exprs) {
  std::vector<Expr> members;
  for (const Expr& expr : exprs) flatten_into(members, expr);
  return members;
}

// Each round unpacks a minimum that became visible; the bound is never reached by what people
// write and makes the end of the search certain.
constexpr int kMaxRounds = 8;

Expr minimum_in_rounds(const std::vector<Expr>& exprs, int rounds) {
  std::vector<Expr> members = flatten(exprs);
  drop_dominated(members);
  if (members.size() == 1) return members.front();
  const Expr pivot = choose_pivot(members);
  for (Expr& member : members) member -= pivot;
  // A pivot with a subtracted minimum leaves an added one in the differences.
  if (rounds > 0 && flatten(members) != members)
    return pivot + minimum_in_rounds(members, rounds - 1);
  const Expr scale = common_scale(members);
  if (!scale.is_constant(1)) {
    // Without the factor more may be provable.
    for (Expr& member : members) member = divide_polynomial(member, scale).quotient;
    return pivot + scale * minimum_in_rounds(members, rounds);
  }
  sort_unique(members);
  return pivot + intern({.kind = Kind::kMinimum, .operands = std::move(members)});
}

}  // namespace

Expr minimum_of(const std::vector<Expr>& exprs) { return minimum_in_rounds(exprs, kMaxRounds); }

Expr min(const Expr& a, const Expr& b) {
  if (a == b) return a;
  if (provably_ge(b, a)) return a;
  if (provably_ge(a, b)) return b;
  return minimum_of({a, b});
}

Expr max(const Expr& a, const Expr& b) { return -min(-a, -b); }

Expr non_negative(const Expr& expr) {
  const Interval bounds = expr.bounds();
  if (bounds.lo >= 0) return 1;
  if (bounds.hi < 0) return 0;
  if (leading_coefficient(expr) < 0) return 1 - non_negative(-expr - 1);
  // g * p + c >= 0 holds exactly if p + floor(c / g) >= 0.
  const int64_t constant = constant_part(expr);
  const int64_t scale = content(expr - constant).coefficient;
  if (scale > 1) return non_negative(divide_polynomial(expr, scale).quotient);
  return intern({.kind = Kind::kNonNegative, .operands = {expr}});
}

Expr is_zero(const Expr& expr) {
  const Interval bounds = expr.bounds();
  if (bounds == Interval{0, 0}) return 1;
  if (!bounds.contains(0)) return 0;
  if (leading_coefficient(expr) < 0) return is_zero(-expr);
  const int64_t scale = content(expr - constant_part(expr)).coefficient;
  if (scale > 1) {
    const Division reduced = divide_polynomial(expr, scale);
    return reduced.remainder.is_constant(0) ? is_zero(reduced.quotient) : Expr(0);
  }
  return intern({.kind = Kind::kZero, .operands = {expr}});
}

}  // namespace luminal::symbolic
