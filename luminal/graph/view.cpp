#include "luminal/graph/view.h"

#include <algorithm>
#include <utility>

#include "luminal/graph/view_conditions.h"
#include "luminal/support/check.h"
#include "luminal/support/error.h"
#include "luminal/symbolic/quotients.h"

namespace luminal::graph {

using symbolic::Binding;

namespace {

// Our builders only ever use the axes of the domain, each with the domain's extent.
void check_axes(const Expr& expr, const Shape& domain) {
  for (const Expr& axis : expr.axes()) {
    const auto id = static_cast<size_t>(axis.axis_id());
    LUMINAL_CHECK(id < domain.size() && axis.axis_extent() == domain[id],
                  "axis {} of extent {} is no axis of the domain {}", axis, axis.axis_extent(),
                  to_string(domain));
  }
}

// Divisors in a view are extents of axes that were merged. Where one is 0 the merged axis was
// empty, and padding is all that can be read through it.
bool divides_by_zero(const std::vector<Expr>& index, const std::vector<Condition>& conditions,
                     std::span<const Binding> dims) {
  const auto has_zero_divisor = [&](const Expr& expr) {
    const std::vector<symbolic::Quotient> inside = symbolic::quotients(expr);
    return std::any_of(inside.begin(), inside.end(), [&](const symbolic::Quotient& quotient) {
      return symbolic::substitute(quotient.divisor, dims).is_constant(0);
    });
  };
  return std::any_of(index.begin(), index.end(), has_zero_divisor) ||
         std::any_of(conditions.begin(), conditions.end(), [&](const Condition& condition) {
           return has_zero_divisor(condition.value) || has_zero_divisor(condition.extent);
         });
}

}  // namespace

View::View(Shape source, Shape domain, std::vector<Expr> index, std::vector<Condition> conditions,
           Scalar fill)
    : source_(std::move(source)),
      domain_(std::move(domain)),
      index_(std::move(index)),
      conditions_(std::move(conditions)),
      fill_(fill) {
  LUMINAL_CHECK(index_.size() == source_.size(), "{} index expressions for the source {}",
                index_.size(), graph::to_string(source_));
  for (const Expr& expr : index_) check_axes(expr, domain_);
  for (const Condition& condition : conditions_) {
    check_axes(condition.value, domain_);
    check_axes(condition.extent, domain_);
  }
  normalize();
}

View View::identity(Shape shape) {
  std::vector<Expr> index;
  for (size_t k = 0; k < shape.size(); ++k)
    index.push_back(Expr::axis(static_cast<int64_t>(k), shape[k]));
  Shape source = shape;
  return View(std::move(source), std::move(shape), std::move(index));
}

void View::normalize() {
  // Where nothing is read, how it is read makes no difference.
  if (is_known_empty(domain_))
    conditions_.clear();
  else
    conditions_ = normalize_conditions(std::move(conditions_));
  if (is_known_empty(domain_) || fails_everywhere(conditions_)) {
    index_.assign(source_.size(), Expr(0));
  } else {
    for (size_t k = 0; k < source_.size(); ++k)
      if (source_[k].is_constant(1)) index_[k] = 0;
    simplify_under(conditions_, index_);
  }
  if (conditions_.empty()) fill_ = Scalar();
}

std::optional<View> View::compose(const View& inner, const View& outer) {
  LUMINAL_CHECK(outer.source_ == inner.domain_, "a view of {} cannot be seen through a view of {}",
                graph::to_string(inner.domain_), graph::to_string(outer.source_));
  std::vector<Binding> bindings;
  for (size_t k = 0; k < inner.domain_.size(); ++k)
    if (const Expr axis = inner.axis(static_cast<int>(k)); axis.is_axis())
      bindings.push_back({axis, outer.index_[k]});

  std::vector<Expr> index;
  for (const Expr& expr : inner.index_) index.push_back(symbolic::substitute(expr, bindings));
  if (fails_everywhere(outer.conditions_))
    return View(inner.source_, outer.domain_, std::move(index), outer.conditions_, outer.fill_);

  std::vector<Condition> conditions;
  for (const Condition& condition : inner.conditions_)
    conditions.push_back({symbolic::substitute(condition.value, bindings),
                          symbolic::substitute(condition.extent, bindings)});
  conditions = normalize_conditions(std::move(conditions));
  if (!conditions.empty() && !outer.conditions_.empty() && inner.fill_ != outer.fill_)
    return std::nullopt;
  const Scalar& fill = conditions.empty() ? outer.fill_ : inner.fill_;
  conditions.insert(conditions.end(), outer.conditions_.begin(), outer.conditions_.end());
  return View(inner.source_, outer.domain_, std::move(index), std::move(conditions), fill);
}

namespace {

/// Does a condition limit an axis that the index uses, or fail everywhere?
bool is_guarded(const Expr& index, const std::vector<Condition>& conditions) {
  if (fails_everywhere(conditions)) return true;
  for (const Condition& condition : conditions)
    for (const Expr& axis : index.axes())
      if (condition.value.depends_on(axis)) return true;
  return false;
}

}  // namespace

View View::substitute(std::span<const Binding> dims) const {
  const auto replaced = [&](const Shape& shape) {
    Shape result;
    for (const Expr& extent : shape) result.push_back(symbolic::substitute(extent, dims));
    return result;
  };
  Shape source = replaced(source_), domain = replaced(domain_);
  std::vector<Expr> index(source.size());
  if (is_known_empty(domain)) return View(std::move(source), std::move(domain), std::move(index));
  if (divides_by_zero(index_, conditions_, dims)) {
    if (conditions_.empty())
      throw UserError("view", "{} reads from an axis of extent 0", to_string());
    return View(std::move(source), std::move(domain), std::move(index), {never()}, fill_);
  }
  for (size_t k = 0; k < index.size(); ++k) index[k] = symbolic::substitute(index_[k], dims);
  std::vector<Condition> conditions;
  for (const Condition& condition : conditions_)
    conditions.push_back({symbolic::substitute(condition.value, dims),
                          symbolic::substitute(condition.extent, dims)});
  View result(std::move(source), std::move(domain), index, std::move(conditions), fill_);
  // That an axis happens to have extent 1 is no reason to trust an index that no condition guards:
  // whoever evaluates the view shall see that it reads outside.
  for (size_t k = 0; k < index.size(); ++k)
    if (result.source_[k].is_constant(1) && !source_[k].is_constant(1) &&
        !is_guarded(index[k], result.conditions_))
      result.index_[k] = index[k];
  return result;
}

void View::add_to(support::Hasher& hasher) const {
  const auto add_all = [&](const auto& exprs) {
    hasher.add(exprs.size());
    for (const Expr& expr : exprs) hasher.add(expr.hash());
  };
  add_all(source_);
  add_all(domain_);
  add_all(index_);
  hasher.add(conditions_.size());
  for (const Condition& condition : conditions_)
    hasher.add(condition.value.hash()).add(condition.extent.hash());
  if (!conditions_.empty()) fill_.add_to(hasher);
}

}  // namespace luminal::graph
