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

std::vector<Expr> conjuncts(const Expr& condition) {
  const symbolic::Node* node = condition.node();
  const bool product = node->kind == symbolic::Kind::kPolynomial && node->value == 0 &&
                       node->terms.size() == 1 && node->terms[0].coefficient == 1;
  if (!product) return {condition};
  std::vector<Expr> result;
  for (const symbolic::Factor& factor : node->terms[0].monomial) {
    if (!symbolic::is_test(factor.atom)) return {condition};
    result.push_back(Expr(factor.atom));
  }
  return result;
}

}  // namespace luminal::kernel
