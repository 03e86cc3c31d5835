// The builders that move, repeat and pick axes. Each writes its own small map over the domain and
// composes it with the view; the normal form does the rest.
#include <utility>
#include <vector>

#include "luminal/graph/view.h"
#include "luminal/support/check.h"
#include "luminal/support/error.h"

namespace luminal::graph {

namespace {

// Throws unless 0 <= axis < rank.
void check_axis(std::string_view operation, int axis, const Shape& domain) {
  if (axis < 0 || axis >= static_cast<int>(domain.size()))
    throw UserError(operation, "axis {} is out of range for shape {} of rank {}", axis,
                    graph::to_string(domain), domain.size());
}

// The expression of every axis of `domain`: the index of the identity.
std::vector<Expr> all_axes(const Shape& domain) {
  std::vector<Expr> axes;
  for (size_t k = 0; k < domain.size(); ++k)
    axes.push_back(Expr::axis(static_cast<int>(k), domain[k]));
  return axes;
}

// Extents that subtraction gives are never negative: what is refuted to be positive is empty.
Expr clamp_to_empty(const Expr& extent) { return provably_less(extent, 0) ? Expr(0) : extent; }

}  // namespace

View View::through(Shape domain, std::vector<Expr> index) const {
  std::optional<View> result = compose(*this, View(domain_, std::move(domain), std::move(index)));
  LUMINAL_CHECK(result.has_value(), "a map without conditions always composes");
  return *std::move(result);
}

View View::permute(std::span<const int> axes) const {
  if (axes.size() != domain_.size())
    throw UserError("permute", "{} axes given for shape {} of rank {}; name every axis once",
                    axes.size(), graph::to_string(domain_), rank());
  Shape domain;
  std::vector<Expr> index(domain_.size());
  std::vector<bool> seen(domain_.size(), false);
  for (size_t k = 0; k < axes.size(); ++k) {
    check_axis("permute", axes[k], domain_);
    const auto from = static_cast<size_t>(axes[k]);
    if (seen[from])
      throw UserError("permute", "axis {} is named twice; name every axis of shape {} once",
                      axes[k], graph::to_string(domain_));
    seen[from] = true;
    domain.push_back(domain_[from]);
    index[from] = Expr::axis(static_cast<int>(k), domain_[from]);
  }
  return through(std::move(domain), std::move(index));
}

View View::insert_axis(int position, Expr extent) const {
  if (position < 0 || position > rank())
    throw UserError("insert_axis", "position {} is not in 0..{} for shape {}", position, rank(),
                    graph::to_string(domain_));
  if (provably_less(extent, 0)) throw UserError("insert_axis", "extent {} is negative", extent);
  Shape domain = domain_;
  domain.insert(domain.begin() + position, extent);
  std::vector<Expr> index = all_axes(domain);
  index.erase(index.begin() + position);
  return through(std::move(domain), std::move(index));
}

View View::squeeze(int axis) const {
  check_axis("squeeze", axis, domain_);
  if (domain_[static_cast<size_t>(axis)] != Expr(1))
    throw UserError("squeeze",
                    "axis {} of shape {} has extent {}, only axes of extent 1 can be removed; "
                    "select one position of it instead",
                    axis, graph::to_string(domain_), domain_[static_cast<size_t>(axis)]);
  return select(axis, 0);
}

View View::expand(const Shape& shape) const {
  if (shape.size() < domain_.size())
    throw UserError("expand", "shape {} has fewer axes than {}; expanding never removes axes",
                    graph::to_string(shape), graph::to_string(domain_));
  const size_t added = shape.size() - domain_.size();
  std::vector<Expr> index;
  for (size_t k = 0; k < shape.size(); ++k)
    if (provably_less(shape[k], 0))
      throw UserError("expand", "axis {} of shape {} is negative", k, graph::to_string(shape));
  for (size_t k = 0; k < domain_.size(); ++k) {
    const Expr& to = shape[added + k];
    if (domain_[k] == to)
      index.push_back(Expr::axis(static_cast<int>(added + k), to));
    else if (domain_[k] == Expr(1))
      index.push_back(0);
    else
      throw UserError("expand",
                      "cannot stretch axis {} of shape {} from {} to {} of shape {}; only axes of "
                      "extent 1 stretch",
                      k, graph::to_string(domain_), domain_[k], to, graph::to_string(shape));
  }
  return through(shape, std::move(index));
}

View View::slice(int axis, Expr begin, Expr end, int64_t step) const {
  check_axis("slice", axis, domain_);
  const auto k = static_cast<size_t>(axis);
  const Expr& extent = domain_[k];
  if (step == 0) throw UserError("slice", "step of axis {} is 0; it must move", axis);
  // Going down, the last element that may be read first is extent - 1 and the end may be -1.
  const Expr lowest = step > 0 ? 0 : -1;
  const Expr highest = extent + lowest;
  for (const auto& [what, bound] : {std::pair("begin", begin), std::pair("end", end)})
    if (provably_less(bound, lowest) || provably_less(highest, bound))
      throw UserError("slice", "{} {} is not in {}..{} for axis {} of shape {}; clip it first",
                      what, bound, lowest, highest, axis, graph::to_string(domain_));
  Shape domain = domain_;
  const Expr distance = step > 0 ? end - begin : begin - end;
  domain[k] = clamp_to_empty(ceil_div(distance, step > 0 ? Expr(step) : -Expr(step)));
  std::vector<Expr> index = all_axes(domain);
  index[k] = begin + index[k] * step;
  return through(std::move(domain), std::move(index));
}

View View::select(int axis, Expr position) const {
  check_axis("select", axis, domain_);
  const auto k = static_cast<size_t>(axis);
  if (provably_less(position, 0) || provably_less(domain_[k] - 1, position))
    throw UserError("select", "position {} is not in 0..{} for axis {} of shape {}", position,
                    (domain_[k] - 1), axis, graph::to_string(domain_));
  Shape domain = domain_;
  domain.erase(domain.begin() + axis);
  std::vector<Expr> index = all_axes(domain);
  index.insert(index.begin() + axis, position);
  return through(std::move(domain), std::move(index));
}

View View::flip(int axis) const {
  check_axis("flip", axis, domain_);
  const auto k = static_cast<size_t>(axis);
  std::vector<Expr> index = all_axes(domain_);
  index[k] = domain_[k] - 1 - index[k];
  return through(domain_, std::move(index));
}

std::optional<View> View::pad(int axis, Expr before, Expr after, const Scalar& fill) const {
  check_axis("pad", axis, domain_);
  const auto k = static_cast<size_t>(axis);
  Shape domain = domain_;
  domain[k] = domain_[k] + before + after;
  if (provably_less(domain[k], 0))
    throw UserError("pad", "cropping {} and {} elements leaves axis {} of shape {} with extent {}",
                    (-before), (-after), axis, graph::to_string(domain_), domain[k]);
  std::vector<Expr> index = all_axes(domain);
  index[k] = index[k] - before;
  std::vector<Condition> conditions{{index[k], domain_[k]}};
  return compose(*this,
                 View(domain_, std::move(domain), std::move(index), std::move(conditions), fill));
}

View View::window(int axis, Expr size, Expr stride, Expr dilation) const {
  check_axis("window", axis, domain_);
  const auto k = static_cast<size_t>(axis);
  for (const auto& [what, value] :
       {std::pair("size", size), std::pair("stride", stride), std::pair("dilation", dilation)})
    if (provably_less(value, 1))
      throw UserError("window", "{} of axis {} is {}; it must be at least 1", what, axis, value);
  const Expr reach = (size - 1) * dilation + 1;
  if (provably_less(domain_[k], reach))
    throw UserError("window",
                    "a window of {} elements {} apart reaches over {}, more than axis {} of shape "
                    "{}; pad it first",
                    size, dilation, reach, axis, graph::to_string(domain_));
  Shape domain = domain_;
  domain[k] = floor_div(domain_[k] - reach, stride) + 1;
  domain.push_back(size);
  std::vector<Expr> index = all_axes(domain);
  index[k] = index[k] * stride + index.back() * dilation;
  index.pop_back();
  return through(std::move(domain), std::move(index));
}

View View::diagonal(int axis_a, int axis_b, int64_t offset) const {
  check_axis("diagonal", axis_a, domain_);
  check_axis("diagonal", axis_b, domain_);
  if (axis_a == axis_b)
    throw UserError("diagonal", "axis {} is named twice; a diagonal needs two axes", axis_a);
  const auto a = static_cast<size_t>(axis_a), b = static_cast<size_t>(axis_b);
  // The diagonal starts at the edge of the one axis and `offset` into the other.
  const int64_t begin_a = offset < 0 ? -offset : 0, begin_b = offset < 0 ? 0 : offset;
  const Expr length = clamp_to_empty(min(domain_[a] - begin_a, domain_[b] - begin_b));
  Shape domain;
  std::vector<Expr> index(domain_.size());
  for (size_t k = 0; k < domain_.size(); ++k) {
    if (k == a || k == b) continue;
    index[k] = Expr::axis(static_cast<int>(domain.size()), domain_[k]);
    domain.push_back(domain_[k]);
  }
  const Expr along = Expr::axis(static_cast<int>(domain.size()), length);
  domain.push_back(length);
  index[a] = along + begin_a;
  index[b] = along + begin_b;
  return through(std::move(domain), std::move(index));
}

}  // namespace luminal::graph
