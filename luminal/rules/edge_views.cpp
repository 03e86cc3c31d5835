#include "luminal/rules/edge_views.h"

#include "luminal/support/check.h"

namespace luminal::rules {
namespace {

void mark_axes(const Expr& expr, std::vector<bool>& used) {
  for (const Expr& axis : expr.axes()) used[static_cast<size_t>(axis.axis_id())] = true;
}

}  // namespace

std::optional<Access> composed(const Access& inner, const Access& outer) {
  if (inner.domain() != outer.view.source()) return std::nullopt;
  std::optional<View> view = View::compose(inner.view, outer.view);
  if (!view) return std::nullopt;
  return Access{*std::move(view), inner.dtype};
}

std::vector<bool> used_axes(const View& view) {
  std::vector<bool> used(static_cast<size_t>(view.rank()), false);
  for (const Expr& expr : view.index()) mark_axes(expr, used);
  for (const graph::Condition& condition : view.conditions()) {
    mark_axes(condition.value, used);
    mark_axes(condition.extent, used);
  }
  return used;
}

std::optional<Access> with_axes(const Access& access, const Shape& domain,
                                std::span<const int> to) {
  LUMINAL_CHECK(to.size() == access.domain().size(), "one new place per axis, got {} for {}",
                to.size(), access.domain().size());
  std::vector<Expr> index;
  for (const int k : to)
    index.push_back(k < 0 ? Expr(0) : Expr::axis(k, domain[static_cast<size_t>(k)]));
  return composed(access, {View(access.domain(), domain, std::move(index)), access.dtype});
}

std::optional<Access> composed_before(const Access& inner, const Access& outer) {
  const size_t known = outer.view.source().size();
  if (inner.domain().size() < known || !outer.view.conditions().empty()) return std::nullopt;
  Shape domain = outer.domain();
  std::vector<Expr> index = outer.view.index();
  for (size_t k = known; k < inner.domain().size(); ++k) {
    index.push_back(Expr::axis(static_cast<int64_t>(domain.size()), inner.domain()[k]));
    domain.push_back(inner.domain()[k]);
  }
  Shape source = outer.view.source();
  for (size_t k = known; k < inner.domain().size(); ++k) source.push_back(inner.domain()[k]);
  return composed(inner,
                  {View(std::move(source), std::move(domain), std::move(index)), inner.dtype});
}

std::optional<Compacted> compacted(std::span<const Access> views) {
  Compacted result;
  const Shape& old = views[0].domain();
  std::vector<bool> used(old.size(), false);
  for (const Access& access : views) {
    const std::vector<bool> by_this = used_axes(access.view);
    for (size_t k = 0; k < used.size(); ++k) used[k] = used[k] || by_this[k];
  }
  std::vector<int> to(old.size(), -1);
  std::vector<Expr> projection;
  for (size_t k = 0; k < old.size(); ++k) {
    if (!used[k]) continue;
    to[k] = static_cast<int>(result.axes.size());
    result.axes.push_back(static_cast<int>(k));
    result.domain.push_back(old[k]);
    projection.push_back(Expr::axis(static_cast<int64_t>(k), old[k]));
  }
  for (const Access& access : views) {
    std::optional<Access> view = with_axes(access, result.domain, to);
    if (!view) return std::nullopt;
    result.views.push_back(*std::move(view));
  }
  result.projection = View(result.domain, old, std::move(projection));
  return result;
}

Expr volume(std::span<const Expr> extents) {
  Expr product = 1;
  for (const Expr& extent : extents) product *= extent;
  return product;
}

bool provably_le(const Expr& a, const Expr& b) { return symbolic::provably_ge(b, a); }

std::optional<Range> range_of(const Expr& expr) {
  const std::optional<symbolic::Affine> affine = symbolic::as_affine(expr);
  if (!affine) return std::nullopt;
  Range range{affine->constant, affine->constant};
  for (const auto& [axis, coefficient] : affine->terms) {
    const Expr reach = coefficient * (axis.axis_extent() - 1);
    if (symbolic::provably_ge(coefficient, 0))
      range.last += reach;
    else if (provably_le(coefficient, 0))
      range.first += reach;
    else
      return std::nullopt;
  }
  return range;
}

}  // namespace luminal::rules
