// Split, merge and reshape: maps that regroup the row-major order of elements.
#include <utility>
#include <vector>

#include "luminal/graph/view.h"
#include "luminal/support/error.h"

namespace luminal::graph {

namespace {

// An axis of either side, of any extent but 1.
struct Dim {
  size_t axis;
  Expr extent;
};

std::vector<Dim> dims_but_ones(const Shape& shape) {
  std::vector<Dim> dims;
  for (size_t k = 0; k < shape.size(); ++k)
    if (!shape[k].is_constant(1)) dims.push_back({k, shape[k]});
  return dims;
}

Expr product(std::span<const Dim> dims) {
  Expr result = 1;
  for (const Dim& dim : dims) result *= dim.extent;
  return result;
}

// The fewest leading dims of both sides with equal products. If no proper part is seen to agree,
// all of them: the whole products are known to be equal.
std::pair<size_t, size_t> first_group(std::span<const Dim> from, std::span<const Dim> to) {
  for (size_t total = 2; total < from.size() + to.size(); ++total)
    for (size_t m = 1; m < total; ++m) {
      const size_t n = total - m;
      if (m <= from.size() && n <= to.size() &&
          provably_equal(product(from.first(m)), product(to.first(n))))
        return {m, n};
    }
  return {from.size(), to.size()};
}

// Index of the `from` dims at the row-major position that the axes of the `to` dims name.
void map_group(std::span<const Dim> from, std::span<const Dim> to, std::vector<Expr>& index) {
  Expr position = 0;
  for (const Dim& dim : to)
    position = position * dim.extent + Expr::axis(static_cast<int64_t>(dim.axis), dim.extent);
  for (size_t k = from.size(); k-- > 1;) {
    index[from[k].axis] = mod(position, from[k].extent);
    position = floor_div(position, from[k].extent);
  }
  if (!from.empty()) index[from[0].axis] = position;
}

// The map from `to` to `from`, both of the same number of elements.
std::vector<Expr> row_major_map(const Shape& from_shape, const Shape& to_shape) {
  std::vector<Expr> index(from_shape.size());
  if (is_known_empty(from_shape)) return index;
  const std::vector<Dim> from_dims = dims_but_ones(from_shape), to_dims = dims_but_ones(to_shape);
  std::span<const Dim> from = from_dims, to = to_dims;
  while (!from.empty() && !to.empty()) {
    const auto [m, n] = first_group(from, to);
    map_group(from.first(m), to.first(n), index);
    from = from.subspan(m);
    to = to.subspan(n);
  }
  // What is left on one side has a product of 1 in every run; its only position is 0.
  return index;
}

}  // namespace

View View::split(int axis, std::span<const Expr> extents) const {
  if (axis < 0 || axis >= rank())
    throw UserError("split", "axis {} is out of range for shape {} of rank {}", axis,
                    graph::to_string(domain_), rank());
  const Expr& extent = domain_[static_cast<size_t>(axis)];
  const Shape parts(extents.begin(), extents.end());
  for (const Expr& part : parts)
    if (provably_less(part, 0))
      throw UserError("split", "part {} of {} is negative", part, graph::to_string(parts));
  if (!provably_equal(element_count(parts), extent))
    throw UserError("split",
                    "the product of {} is {}, not the extent {} of axis {} of shape {}; pad or "
                    "slice the axis first",
                    graph::to_string(parts), element_count(parts), extent, axis,
                    graph::to_string(domain_));
  Shape shape(domain_.begin(), domain_.begin() + axis);
  shape.append(parts);
  shape.append(domain_.begin() + axis + 1, domain_.end());
  std::vector<Expr> index = row_major_map(domain_, shape);
  return through(std::move(shape), std::move(index));
}

View View::merge(int first, int count) const {
  if (count < 1) throw UserError("merge", "cannot merge {} axes; name at least one", count);
  if (first < 0 || first >= rank() || count > rank() - first)
    throw UserError("merge", "axes {}..{} are out of range for shape {} of rank {}", first,
                    int64_t{first} + count - 1, graph::to_string(domain_), rank());
  const auto begin = domain_.begin() + first, end = begin + count;
  Shape shape(domain_.begin(), begin);
  shape.push_back(element_count(Shape(begin, end)));
  shape.append(end, domain_.end());
  std::vector<Expr> index = row_major_map(domain_, shape);
  return through(std::move(shape), std::move(index));
}

View View::reshape(const Shape& shape) const {
  for (size_t k = 0; k < shape.size(); ++k)
    if (provably_less(shape[k], 0))
      throw UserError("reshape", "axis {} of shape {} is negative", k, graph::to_string(shape));
  const Expr from = element_count(domain_), to = element_count(shape);
  if (!provably_equal(from, to))
    throw UserError("reshape", "{} has {} elements, {} has {}; they must be equal",
                    graph::to_string(domain_), from, graph::to_string(shape), to);
  return through(shape, row_major_map(domain_, shape));
}

}  // namespace luminal::graph
