// Sums, quotients, remainders, minima and maxima.
#include "luminal/rules/index_forms.h"

#include <algorithm>

#include "luminal/rules/index_terms.h"

namespace luminal::rules {
namespace {

/// The parts that gather most, a few of them: every part opens two more sums to search.
std::vector<Expr> longest_first(std::vector<Expr>&& parts) {
  constexpr size_t kMaxParts = 5;
  std::stable_sort(parts.begin(), parts.end(), [](const Expr& a, const Expr& b) {
    return summand_count(a) > summand_count(b);
  });
  if (parts.size() > kMaxParts) parts.resize(kMaxParts);
  return std::move(parts);
}

}  // namespace

int64_t summand_count(const Expr& expr) {
  return static_cast<int64_t>(terms_of(expr).size()) + (constant_part(expr) != 0 ? 1 : 0);
}

bool is_leaf(const Expr& expr) {
  return expr.is_constant() || expr.is_variable() || expr.is_axis();
}

bool is_truth_value(const Expr& expr) {
  const symbolic::Interval bounds = expr.bounds();
  return bounds.lo >= 0 && bounds.hi <= 1;
}

std::optional<Expr> last_summand(const Expr& expr) {
  if (summand_count(expr) < 2) return std::nullopt;
  return as_expr(summands(expr).back());
}

std::optional<Expr> negative_summand(const Expr& expr) {
  std::optional<Expr> first;
  bool has_positive = false;
  for (const Term& term : summands(expr)) {
    has_positive |= term.coefficient > 0;
    if (term.coefficient < 0 && !first) first = as_expr(term);
  }
  return has_positive ? first : std::nullopt;
}

std::vector<Expr> factored_parts(const Expr& expr) {
  const std::vector<Term> all = summands(expr);
  std::vector<Term> shared;
  for (size_t a = 0; a < all.size(); ++a) {
    for (size_t b = a + 1; b < all.size(); ++b) {
      const Term factor = symbolic::common_factor(all[a], all[b]);
      if (!is_one(factor)) add_unique(shared, factor);
    }
  }
  std::vector<Expr> parts;
  for (const Term& factor : shared) {
    Expr part = 0;
    for (const Term& term : all)
      if (divides(factor, term)) part += as_expr(term);
    if (part != expr && summand_count(part) > 1) add_unique(parts, part);
  }
  return longest_first(std::move(parts));
}

namespace {

struct ScaledRemainder {
  Expr factor, value, divisor;
};

/// f * v - f * d * (v / d) is f * (v % d), and f * (v / g) - f * m * (v / (g * m)) is
/// f * (v / g % m): what the coefficient of a quotient suggests. That it fits is for the caller.
std::vector<ScaledRemainder> suggested_remainders(const Expr& expr) {
  std::vector<ScaledRemainder> result;
  for (const Node* quotient : atoms_of(expr, Kind::kFloorDiv)) {
    const auto split = split_linear(expr, quotient);
    if (!split) continue;
    const Expr &value = quotient->operands[0], &divisor = quotient->operands[1];
    if (const auto scale = divide_exactly(-split->coefficient, divisor))
      result.push_back({*scale, value, divisor});
    for (const Node* inner : atoms_of(split->rest, Kind::kFloorDiv)) {
      const auto other = split_linear(split->rest, inner);
      if (!other) continue;
      const auto modulus = divide_exactly(-split->coefficient, other->coefficient);
      if (!modulus || modulus->is_constant(1) || modulus->is_constant(-1)) continue;
      if (const auto inner_divisor = divide_exactly(divisor, *modulus))
        result.push_back(
            {other->coefficient, symbolic::floor_div(value, *inner_divisor), *modulus});
    }
  }
  return result;
}

}  // namespace

std::vector<Expr> remainder_parts(const Expr& expr) {
  std::vector<Expr> parts;
  for (const auto& [factor, value, divisor] : suggested_remainders(expr)) {
    const Expr part = factor * symbolic::mod(value, divisor);
    if (part != expr && summand_count(expr - part) < summand_count(expr)) add_unique(parts, part);
  }
  return longest_first(std::move(parts));
}

std::vector<Operands> remainders(const Expr& expr) {
  std::vector<Operands> result;
  for (const auto& [factor, value, divisor] : suggested_remainders(expr)) {
    if (factor.is_constant(1) && symbolic::mod(value, divisor) == expr)
      add_unique(result, {value, divisor});
  }
  return result;
}

std::vector<Operands> quotients_of(const Expr& expr) {
  if (is_atom(expr, Kind::kFloorDiv)) return {{expr.node()->operands[0], expr.node()->operands[1]}};
  std::vector<Operands> result;
  for (const Node* quotient : atoms_of(expr, Kind::kFloorDiv)) {
    const auto split = split_linear(expr, quotient);
    const Expr &value = quotient->operands[0], &divisor = quotient->operands[1];
    if (!split || !split->coefficient.is_constant(1) || !divisor.is_constant()) continue;
    const Expr numerator = value + divisor * split->rest;
    if (summand_count(numerator) < summand_count(value) + summand_count(split->rest))
      result.push_back({numerator, divisor});
  }
  return result;
}

Expr cancelling_part(const Expr& rest, int64_t c, const std::vector<Expr>& members) {
  Expr part = 0;
  for (const Term& term : summands(rest)) {
    for (const Expr& member : members) {
      const std::vector<Term> others = summands(member);
      const bool cancels = std::any_of(others.begin(), others.end(), [&](const Term& other) {
        return other.monomial == term.monomial &&
               term.coefficient == -(Int128{c} * other.coefficient);
      });
      if (!cancels) continue;
      part += as_expr({c < 0 ? term.coefficient / -c : term.coefficient / c, term.monomial});
      break;
    }
  }
  return part;
}

namespace {

/// expr = sign * minimum + rest for each minimum with such a coefficient.
struct Extremum {
  const Node* minimum;
  Expr rest;
};
std::vector<Extremum> extrema(const Expr& expr, int64_t sign) {
  std::vector<Extremum> result;
  for (const Node* minimum : atoms_of(expr, Kind::kMinimum)) {
    const auto split = split_linear(expr, minimum);
    if (split && split->coefficient.is_constant(sign)) result.push_back({minimum, split->rest});
  }
  return result;
}

/// One member against all others, for each member.
std::vector<Operands> split_members(const Expr& expr, int64_t sign) {
  std::vector<Operands> result;
  for (const auto& [minimum, rest] : extrema(expr, sign)) {
    for (size_t k = 0; k < minimum->operands.size(); ++k) {
      std::vector<Expr> others = minimum->operands;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(k));
      result.push_back(
          {rest + sign * minimum->operands[k], rest + sign * symbolic::minimum_of(others)});
      if (minimum->operands.size() == 2) break;  // the other member gives the same
    }
  }
  return result;
}

}  // namespace

std::vector<Expr> extremum_parts(const Expr& expr) {
  std::vector<Expr> parts;
  for (const Node* minimum : atoms_of(expr, Kind::kMinimum)) {
    const auto split = split_linear(expr, minimum);
    const auto c = split ? split->coefficient.constant_value() : std::nullopt;
    if (!c || *c == INT64_MIN) continue;
    const Expr alone = *c * from_atom(minimum);
    if (alone != expr) add_unique(parts, alone);
    const Expr common = cancelling_part(split->rest, *c, minimum->operands);
    const Expr whole = alone + (*c < 0 ? -*c : *c) * common;
    if (whole != expr && whole != alone) add_unique(parts, whole);
  }
  return parts;
}

std::vector<Operands> minima(const Expr& expr) { return split_members(expr, 1); }

std::vector<Operands> maxima(const Expr& expr) { return split_members(expr, -1); }

bool contains_sum(const Expr& expr, const Expr& part) {
  const int64_t count = summand_count(part);
  if (part == expr || count < 2 || count > summand_count(expr)) return false;
  return summand_count(expr - part) <= summand_count(expr) - count + 1;
}

}  // namespace luminal::rules
