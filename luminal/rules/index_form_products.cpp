// Products and tests: factors, ranges, comparisons, alternatives and choices.
#include <algorithm>

#include "luminal/rules/index_terms.h"

namespace luminal::rules {
namespace {

/// p if expr = [p >= 0].
std::optional<Expr> sign_tested(const Expr& expr) {
  if (is_atom(expr, Kind::kNonNegative)) return expr.node()->operands[0];
  if (constant_part(expr) != 1) return std::nullopt;
  const Expr negated = 1 - expr;
  if (!is_atom(negated, Kind::kNonNegative)) return std::nullopt;
  return -negated.node()->operands[0] - 1;
}

/// The content, and single atoms of it.
void add_common_factors(const Expr& expr, std::vector<Operands>& result) {
  const Term content = symbolic::content(expr);
  const auto add = [&](const Term& factor) {
    if (is_one(factor)) return;
    const Expr left = as_expr(factor);
    const auto right = divide_exactly(expr, left);
    if (right && !right->is_constant(1)) add_unique(result, {left, *right});
  };
  if (content.coefficient != 0 && !expr.is_constant()) {
    add({content.coefficient, {}});
    for (const Factor& factor : content.monomial) add({1, {{factor.atom, 1}}});
    for (const Factor& factor : content.monomial)
      if (factor.power > 2) add({1, {{factor.atom, factor.power / 2}}});
    add({1, content.monomial});
  }
}

/// (1 - t) * r, multiplied out, is r - t * r.
void add_negated_tests(const Expr& expr, std::vector<Operands>& result) {
  for (const Node* test : tests_of(expr)) {
    const auto split = split_linear(expr, test);
    if (split && split->coefficient == -split->rest && !split->rest.is_constant(1))
      add_unique(result, {1 - from_atom(test), split->rest});
  }
}

std::vector<Operands> simple_factors(const Expr& expr) {
  std::vector<Operands> result;
  add_common_factors(expr, result);
  add_negated_tests(expr, result);
  return result;
}

/// 0 <= p < n, if that is what [p >= 0] * [q >= 0] means and n >= 0 is proved.
std::optional<Operands> as_range(const Expr& a, const Expr& b) {
  const auto p = sign_tested(a), q = sign_tested(b);
  if (!p || !q) return std::nullopt;
  const Expr extent = *p + *q + 1;
  if (extent.bounds().lo < 0) return std::nullopt;
  return Operands{*p, extent};
}

}  // namespace

std::vector<Operands> factors(const Expr& expr) {
  const std::vector<Operands> single = simple_factors(expr);
  std::vector<Operands> result;
  // Two tests that make a range stay together, and come first because long lists are cut.
  for (const Operands& outer : single) {
    if (!sign_tested(outer.left)) continue;
    for (const Operands& inner : simple_factors(outer.right)) {
      if (as_range(outer.left, inner.left))
        add_unique(result, {outer.left * inner.left, inner.right});
    }
  }
  for (const Operands& product : single) add_unique(result, product);
  return result;
}

std::vector<Operands> ranges(const Expr& expr) {
  std::vector<Operands> result;
  if (!is_truth_value(expr)) return result;
  for (const Operands& product : simple_factors(expr)) {
    if (const auto range = as_range(product.left, product.right)) add_unique(result, *range);
    if (const auto range = as_range(product.right, product.left)) add_unique(result, *range);
  }
  // Of two equal ways the one without a minus sign in front reads better.
  std::stable_sort(result.begin(), result.end(), [](const Operands& a, const Operands& b) {
    return symbolic::leading_coefficient(a.left) > 0 && symbolic::leading_coefficient(b.left) < 0;
  });
  return result;
}

namespace {

/// p = left - right + constant, no term of either side with a minus sign.
struct Sides {
  Expr left, right;
  int64_t constant;
};
Sides sides_of(const Expr& difference) {
  Sides sides{0, 0, constant_part(difference)};
  for (const Term& term : terms_of(difference)) {
    if (term.coefficient > 0) {
      sides.left += as_expr(term);
    } else {
      sides.right -= as_expr(term);
    }
  }
  return sides;
}

/// The operand of a test atom of this kind, or of its negation.
std::optional<Expr> tested(const Expr& expr, Kind kind, bool negated) {
  if (negated && constant_part(expr) != 1) return std::nullopt;
  const Expr atom = negated ? 1 - expr : expr;
  if (!is_atom(atom, kind)) return std::nullopt;
  return atom.node()->operands[0];
}

/// left <= right + k, with k on either side.
void add_shifted(std::vector<Operands>& result, const Expr& left, const Expr& right,
                 const Expr& k) {
  add_unique(result, {left, right + k});
  add_unique(result, {left - k, right});
}

}  // namespace

std::vector<Operands> at_most(const Expr& expr) {
  std::vector<Operands> result;
  if (const auto p = tested(expr, Kind::kNonNegative, false)) {
    const Sides s = sides_of(*p);
    add_shifted(result, s.right, s.left, s.constant);
  } else if (const auto q = tested(expr, Kind::kNonNegative, true)) {
    const Sides s = sides_of(*q);
    add_shifted(result, s.left, s.right, -Expr(s.constant) - 1);
  }
  return result;
}

std::vector<Operands> below(const Expr& expr) {
  std::vector<Operands> result;
  for (const Operands& sides : at_most(expr)) {
    add_unique(result, {sides.left, sides.right + 1});
    add_unique(result, {sides.left - 1, sides.right});
  }
  return result;
}

namespace {

std::vector<Operands> compared(const Expr& expr, bool negated) {
  std::vector<Operands> result;
  if (const auto p = tested(expr, Kind::kZero, negated)) {
    const Sides s = sides_of(*p);
    add_shifted(result, s.left, s.right, -Expr(s.constant));
  }
  return result;
}

}  // namespace

std::vector<Operands> equalities(const Expr& expr) { return compared(expr, false); }

std::vector<Operands> differences(const Expr& expr) { return compared(expr, true); }

std::vector<Operands> alternatives(const Expr& expr) {
  std::vector<Operands> result;
  if (!is_truth_value(expr)) return result;
  for (const Node* test : tests_of(expr)) {
    const auto split = split_linear(expr, test);
    if (!split) continue;
    // t or r is t + r - t * r; with t negated it is 1 - t + t * r.
    if (split->coefficient == 1 - split->rest && is_truth_value(split->rest) &&
        !split->rest.is_constant())
      result.push_back({from_atom(test), split->rest});
    if (split->rest.is_constant(1) && is_truth_value(split->coefficient + 1) &&
        !split->coefficient.is_constant())
      result.push_back({1 - from_atom(test), split->coefficient + 1});
  }
  return result;
}

std::vector<Choice> choices(const Expr& expr) {
  std::vector<Choice> result;
  for (const Node* test : tests_of(expr)) {
    const auto split = split_linear(expr, test);
    if (!split || split->coefficient.is_constant(1) || split->coefficient.is_constant(-1)) continue;
    result.push_back({from_atom(test), split->coefficient + split->rest, split->rest});
  }
  return result;
}

std::optional<Expr> quotient_as_test(const Expr& expr) {
  if (!is_atom(expr, Kind::kFloorDiv)) return std::nullopt;
  const Expr &value = expr.node()->operands[0], &divisor = expr.node()->operands[1];
  const symbolic::Interval bounds = expr.bounds();
  if (divisor.bounds().lo <= 0 || !bounds.is_finite() || bounds.hi != bounds.lo + 1)
    return std::nullopt;
  return bounds.lo + symbolic::greater_equal(value, divisor * bounds.hi);
}

}  // namespace luminal::rules
