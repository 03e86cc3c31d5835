#include "luminal/graph/view_conditions.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "luminal/symbolic/quotients.h"

namespace luminal::graph {

namespace {

using symbolic::Affine;
using symbolic::AffineTerm;

bool is_proved(const Condition& condition) {
  return provably_ge(condition.value, 0) && provably_less(condition.value, condition.extent);
}

bool is_refuted(const Condition& condition) {
  return provably_less(condition.value, 0) || provably_ge(condition.value, condition.extent) ||
         provably_ge(0, condition.extent);
}

// The smallest and largest value over the axes, as expressions of the named dims.
struct Range {
  Expr low;
  Expr high;
};

std::optional<Range> range_over_axes(const Affine& affine) {
  Range range{affine.constant, affine.constant};
  for (const AffineTerm& term : affine.terms) {
    const Expr travel = term.coefficient * (term.axis.axis_extent() - 1);
    if (provably_ge(term.coefficient, 0))
      range.high += travel;
    else if (provably_ge(0, term.coefficient))
      range.low += travel;
    else
      return std::nullopt;
  }
  return range;
}

// The greatest common divisor of the coefficients, 0 if one is symbolic.
int64_t common_factor(const Affine& affine) {
  int64_t factor = 0;
  for (const AffineTerm& term : affine.terms) {
    const std::optional<int64_t> coefficient = term.coefficient.constant_value();
    if (!coefficient) return 0;
    factor = std::gcd(factor, *coefficient);
  }
  return factor;
}

// 0 <= g*u + c < n says ceil(-c / g) <= u <= floor((n - 1 - c) / g).
Condition divided(const Condition& condition, const Affine& affine, int64_t factor) {
  const Expr low = ceil_div(-affine.constant, factor);
  const Expr high = floor_div(condition.extent - 1 - affine.constant, factor);
  Expr value = -low;
  for (const AffineTerm& term : affine.terms)
    value += term.axis * (*term.coefficient.constant_value() / factor);
  return {value, high - low + 1};
}

// One way to write one condition: positive leading coefficient, coprime coefficients, and where
// only one of the two bounds matters, a value that starts at 0 or an extent that the value reaches.
Condition simplified(Condition condition) {
  std::optional<Affine> affine = as_affine(condition.value);
  if (!affine || affine->terms.empty()) return condition;
  if (provably_less(affine->terms.front().coefficient, 0)) {
    condition.value = condition.extent - 1 - condition.value;
    affine = as_affine(condition.value);
    if (!affine) return condition;
  }
  if (const int64_t factor = common_factor(*affine); factor > 1) {
    condition = divided(condition, *affine, factor);
    affine = as_affine(condition.value);
    if (!affine) return condition;
  }
  const std::optional<Range> range = range_over_axes(*affine);
  if (!range) return condition;
  if (provably_ge(range->low, 0)) {
    if (provably_less(range->high, condition.extent)) return {0, 1};
    return {condition.value - range->low, condition.extent - range->low};
  }
  if (provably_less(range->high, condition.extent)) condition.extent = range->high + 1;
  return condition;
}

std::optional<Expr> decided_max(const Expr& a, const Expr& b) {
  if (provably_ge(a, b)) return a;
  if (provably_ge(b, a)) return b;
  return std::nullopt;
}

// One condition that says both, if their values differ by an amount without axes and it is decided
// which bound is the tighter one.
std::optional<Condition> intersection(const Condition& a, const Condition& b) {
  const Expr difference = b.value - a.value;
  if (!difference.axes().empty()) return std::nullopt;
  const std::optional<Expr> low = decided_max(0, -difference);
  const std::optional<Expr> negated_high = decided_max(-a.extent, difference - b.extent);
  if (!low || !negated_high) return std::nullopt;
  return Condition{a.value - *low, -*negated_high - *low};
}

// Merges one pair; true if there was one.
bool intersect_one_pair(std::vector<Condition>& conditions) {
  for (size_t i = 0; i < conditions.size(); ++i)
    for (size_t j = i + 1; j < conditions.size(); ++j)
      if (std::optional<Condition> both = intersection(conditions[i], conditions[j])) {
        conditions[i] = simplified(*both);
        conditions.erase(conditions.begin() + static_cast<std::ptrdiff_t>(j));
        return true;
      }
  return false;
}

bool comes_before(const Condition& a, const Condition& b) {
  const std::strong_ordering order = compare(a.value, b.value);
  return order != 0 ? order < 0 : compare(a.extent, b.extent) < 0;
}

// The id of the axis that stands for a condition's value; no domain has as many axes.
constexpr int64_t kConditionAxis = 2'000'000;

// A way to name a condition's value: where value = rest +- axis, `axis` = +-(named - rest).
struct Naming {
  Expr axis;
  Expr inverse;
  Expr named;
};

std::optional<Naming> naming_of(const Condition& condition) {
  const std::optional<Affine> affine = as_affine(condition.value);
  if (!affine || !condition.extent.axes().empty()) return std::nullopt;
  for (const auto& [axis, coefficient] : affine->terms) {
    if (!coefficient.is_constant(1) && !coefficient.is_constant(-1)) continue;
    const Expr named = Expr::axis(kConditionAxis, condition.extent);
    return Naming{axis, coefficient * (named - (condition.value - coefficient * axis)), named};
  }
  return std::nullopt;
}

}  // namespace

void simplify_under(const std::vector<Condition>& conditions, std::vector<Expr>& index) {
  for (const Condition& condition : conditions) {
    const std::optional<Naming> naming = naming_of(condition);
    if (!naming) continue;
    for (Expr& expr : index) {
      if (!expr.depends_on(naming->axis) || symbolic::quotients(expr).empty()) continue;
      expr = substitute(expr, {{naming->axis, naming->inverse}});
      if (naming->named.is_axis()) expr = substitute(expr, {{naming->named, condition.value}});
    }
  }
}

std::vector<Condition> normalize_conditions(std::vector<Condition> conditions) {
  for (Condition& condition : conditions)
    if (!is_refuted(condition)) condition = simplified(condition);
  while (intersect_one_pair(conditions)) {
  }
  if (std::any_of(conditions.begin(), conditions.end(), is_refuted)) return {never()};
  std::erase_if(conditions, is_proved);
  std::sort(conditions.begin(), conditions.end(), comes_before);
  return conditions;
}

}  // namespace luminal::graph
