#include "luminal/kernel/axes.h"

#include <algorithm>

#include "luminal/symbolic/node.h"
#include "luminal/symbolic/quotients.h"

namespace luminal::kernel {
namespace {

bool before(const Expr& a, const Expr& b) {
  if (a.axis_id() != b.axis_id()) return a.axis_id() < b.axis_id();
  return compare(a, b) < 0;
}

}  // namespace

AxisSet make_axis_set(std::span<const Expr> axes) {
  AxisSet set(axes.begin(), axes.end());
  std::sort(set.begin(), set.end(), before);
  set.erase(std::unique(set.begin(), set.end()), set.end());
  return set;
}

bool contains(const AxisSet& set, const Expr& axis) {
  return std::find(set.begin(), set.end(), axis) != set.end();
}

bool is_subset(const AxisSet& part, const AxisSet& whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end(), before);
}

bool intersects(const AxisSet& a, const AxisSet& b) {
  return std::any_of(a.begin(), a.end(), [&](const Expr& axis) { return contains(b, axis); });
}

AxisSet union_of(const AxisSet& a, const AxisSet& b) {
  AxisSet result;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result), before);
  return result;
}

AxisSet difference(const AxisSet& a, const AxisSet& b) {
  AxisSet result;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result), before);
  return result;
}

std::vector<WantedSplit> wanted_splits(const Expr& expr) {
  std::vector<WantedSplit> result;
  if (expr.axes().empty()) return result;
  for (const symbolic::Quotient& quotient : symbolic::quotients(expr)) {
    const std::optional<symbolic::Affine> affine = as_affine(quotient.numerator);
    if (!affine || !quotient.divisor.axes().empty()) continue;
    for (const symbolic::AffineTerm& term : affine->terms) {
      if (is_value_axis(term.axis)) continue;
      const std::optional<Expr> divisor = exact_div(quotient.divisor, term.coefficient);
      if (!divisor || !provably_ge(*divisor, 2)) continue;
      const Expr extent = term.axis.axis_extent();
      const std::optional<Expr> high = exact_div(extent, *divisor);
      if (!high || high->is_constant(1) || high->is_constant(0)) continue;
      // Splitting helps only if the division then goes away: (i + 1) / d does not.
      const Expr split = *divisor * Expr::axis(kFirstValueAxis - 2, *high) +
                         Expr::axis(kFirstValueAxis - 1, *divisor);
      const Expr after =
          substitute(floor_div(quotient.numerator, quotient.divisor), {{term.axis, split}});
      const size_t left = symbolic::quotients(after).size();
      const size_t inside = symbolic::quotients(quotient.numerator).size();
      if (left <= inside) result.push_back({term.axis, *divisor});
    }
  }
  return result;
}

std::vector<WantedSplit> wanted_test_splits(const Expr& test) {
  constexpr int64_t kMostParts = 4, kSmallestPart = 8;
  std::vector<WantedSplit> result;
  if (test.axes().size() != 1 || is_value_axis(test.axes()[0])) return result;
  const Expr atom = symbolic::is_test(test.node()) ? test : symbolic::logical_not(test);
  if (!symbolic::is_test(atom.node())) return result;
  const std::optional<symbolic::Affine> affine = as_affine(atom.node()->operands[0]);
  const Expr axis = test.axes()[0];
  const std::optional<int64_t> extent = axis.axis_extent().constant_value();
  if (!affine || !extent || !affine->constant.is_constant()) return result;
  const int64_t constant = *affine->constant.constant_value();
  const bool up = affine->coefficient(axis).is_constant(1);
  if (!up && !affine->coefficient(axis).is_constant(-1)) return result;
  const int64_t border = up ? -constant : constant + 1;  // the first position on the other side
  for (int64_t parts = 2; parts <= kMostParts; ++parts) {
    const int64_t part = *extent / parts;
    if (*extent % parts != 0 || part < kSmallestPart || border % part != 0) continue;
    if (border <= 0 || border >= *extent) continue;
    result.push_back({axis, part});
    break;
  }
  return result;
}

Expr simplified_test(const Expr& test) {
  const bool negated = !symbolic::is_test(test.node());
  const Expr atom = negated ? symbolic::logical_not(test) : test;
  if (atom.node()->kind != symbolic::Kind::kNonNegative) return test;
  const std::optional<symbolic::Affine> affine = as_affine(atom.node()->operands[0]);
  if (!affine) return test;
  for (const symbolic::AffineTerm& step : affine->terms) {
    const std::optional<int64_t> coefficient = step.coefficient.constant_value();
    if (!coefficient || *coefficient == 1 || *coefficient == -1) continue;
    const int64_t g = std::abs(*coefficient);
    // g * multiple + rest >= 0 is multiple >= 0 where 0 <= rest < g.
    Expr multiple = 0, rest = affine->constant;
    for (const symbolic::AffineTerm& term : affine->terms) {
      const std::optional<Expr> quotient = exact_div(term.coefficient, g);
      if (quotient)
        multiple += *quotient * term.axis;
      else
        rest += term.coefficient * term.axis;
    }
    const symbolic::Interval bounds = rest.bounds();
    if (!bounds.is_finite()) continue;
    const int64_t shift = bounds.lo >= 0 ? bounds.lo / g : -((-bounds.lo + g - 1) / g);
    if (bounds.hi - shift * g >= g) continue;
    const Expr simple = symbolic::greater_equal(multiple + shift, 0);
    return negated ? symbolic::logical_not(simple) : simple;
  }
  return test;
}

std::vector<Expr> conjuncts(const Expr& condition) {
  // A polynomial p over a test A (0 or 1) is p0 * (1 - A) + p1 * A; if one of the two vanishes, A
  // or its negation is a factor.
  for (const symbolic::Term& term : symbolic::terms_of(condition)) {
    for (const symbolic::Factor& factor : term.monomial) {
      if (!symbolic::is_test(factor.atom) || Expr(factor.atom) == condition) continue;
      Expr without = symbolic::constant_part(condition), with = without;
      for (const symbolic::Term& other : symbolic::terms_of(condition)) {
        symbolic::Monomial rest;
        for (const symbolic::Factor& kept : other.monomial)
          if (kept.atom != factor.atom) rest.push_back(kept);
        const Expr part = symbolic::from_term(other.coefficient, rest);
        with = with + part;
        if (rest.size() == other.monomial.size()) without = without + part;
      }
      const bool is_factor = without.is_constant(0), is_negated = with.is_constant(0);
      if (!is_factor && !is_negated) continue;
      const Expr atom(factor.atom);
      std::vector<Expr> result = conjuncts(is_factor ? with : without);
      std::erase_if(result, [](const Expr& test) { return test.is_constant(1); });
      result.push_back(is_factor ? atom : symbolic::logical_not(atom));
      return result;
    }
  }
  return {condition};
}

}  // namespace luminal::kernel
