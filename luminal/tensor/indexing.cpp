#include "luminal/tensor/indexing.h"

#include <numeric>

#include "luminal/support/error.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/creation.h"
#include "luminal/tensor/movement.h"

namespace luminal {
namespace {

using graph::Op;
using graph::View;

size_t at(int axis) { return static_cast<size_t>(axis); }

void check_index(std::string_view operation, const Tensor& x, const Tensor& index) {
  build::check_same_graph(operation, std::vector{x, index});
  if (!graph::is_integer(index.dtype()))
    throw UserError(operation, "indices must be integers, got {}; cast them to i64", index.dtype());
}

/// Slices the axes of x other than `axis` to the extents of `index`, which must not be larger.
Tensor trim_to_index(std::string_view operation, const Tensor& x, int axis, const Tensor& index) {
  bool fits = index.rank() == x.rank();
  Tensor region = x;
  for (int k = 0; fits && k < x.rank(); ++k) {
    if (k == axis || index.dim(k) == x.dim(k)) continue;
    fits = !symbolic::provably_less(x.dim(k), index.dim(k));
    if (fits) region = slice(region, k, {.end = index.dim(k)});
  }
  if (!fits)
    throw UserError(operation,
                    "index {} must have the rank of {} and be no larger outside of axis {}",
                    graph::to_string(index.shape()), graph::to_string(x.shape()), axis);
  return region;
}

std::vector<int> axis_moved_last(int rank, int axis) {
  std::vector<int> order;
  for (int k = 0; k < rank; ++k)
    if (k != axis) order.push_back(k);
  order.push_back(axis);
  return order;
}

Tensor move_axis_last(const Tensor& x, int axis) {
  return permute(x, axis_moved_last(x.rank(), axis));
}

Tensor move_last_axis_to(const Tensor& x, int axis) {
  std::vector<int> order(at(x.rank() - 1));
  std::iota(order.begin(), order.end(), 0);
  order.insert(order.begin() + axis, x.rank() - 1);
  return permute(x, order);
}

/// `region`, which is x's first elements along every axis, written back into x.
Tensor write_back(const Tensor& x, const Tensor& region) {
  if (x.shape() == region.shape()) return region;
  Tensor padded = region;
  for (int k = 0; k < x.rank(); ++k) padded = pad(padded, k, {0, x.dim(k) - region.dim(k)});
  Tensor inside = iota(
      x.graph(), x.shape(),
      [&](std::span<const Dim> i) {
        Dim all = 1;
        for (size_t k = 0; k < i.size(); ++k) all = all * symbolic::less(i[k], region.shape()[k]);
        return all;
      },
      boolean);
  return where(inside, padded, x);
}

Tensor apply_scatter(const Tensor& base, const Tensor& index, const Tensor& updates,
                     ScatterMode mode) {
  return build::apply(Op::kScatter, {base, index, updates}, graph::ScatterAttribute{mode});
}

std::string mode_name(ScatterMode mode) { return std::string(graph::name(mode)); }

/// x with slices along `axis` replaced. Only the number of the update that stays is scattered, so
/// that whole slices are read and written where they lie instead of being turned around.
Tensor put_slices(const Tensor& x, int axis, const Tensor& index, const Tensor& slices) {
  const Graph graph = x.graph();
  const Tensor numbers = iota(
      graph, index.shape(), [](std::span<const Dim> i) { return i[0]; }, i64);
  const Tensor chosen =
      apply_scatter(full(graph, {x.dim(axis)}, -1, i64), index, numbers, ScatterMode::kSet);
  Tensor replaced = greater_equal(chosen, 0);
  for (int k = axis + 1; k < x.rank(); ++k) replaced = unsqueeze(replaced, -1);
  return where(replaced, index_select(slices, axis, maximum(chosen, 0)), x);
}

/// Positions in the merged first axes of x from index tuples [..., k]; -1 where a coordinate is out
/// of range, so that running it is an error.
Tensor linear_positions(std::string_view operation, const Tensor& x, const Tensor& index) {
  check_index(operation, x, index);
  const std::optional<int64_t> count =
      index.rank() > 0 ? index.dim(-1).constant_value() : std::nullopt;
  if (!count || *count < 1 || *count > x.rank())
    throw UserError(operation, "the last axis of index {} must hold 1 to {} coordinates into {}",
                    graph::to_string(index.shape()), x.rank(), graph::to_string(x.shape()));
  Tensor wide = cast(index, i64);
  if (*count == 1) return select(wide, -1, 0);  // the gather itself checks one coordinate
  Tensor linear, valid;
  for (int k = 0; k < *count; ++k) {
    Tensor coordinate = select(wide, -1, k);
    Tensor inside = logical_and(greater_equal(coordinate, 0), less(coordinate, x.dim(k)));
    linear = k == 0 ? coordinate : linear * x.dim(k) + coordinate;
    valid = k == 0 ? inside : logical_and(valid, inside);
  }
  return where(valid, linear, -1);
}

}  // namespace

Tensor gather(const Tensor& x, int axis, const Tensor& index) {
  check_index("gather", x, index);
  const int k = graph::normalize_axis("gather", axis, x.rank());
  Tensor region = trim_to_index("gather", x, k, index);
  // Data has the index's axes and, last, the gathered one; of its own axes `axis` is not read.
  Shape domain = index.shape();
  domain.push_back(x.dim(k));
  std::vector<Dim> position;
  for (int a = 0; a < x.rank(); ++a) position.push_back(Dim::axis(a, domain[at(a)]));
  position[at(k)] = Dim::axis(x.rank(), x.dim(k));
  View outer(region.shape(), domain, std::move(position));
  Tensor data = build::with_view(region, View::compose(region.edge().view, outer).value());
  return build::named("gather", {x, index}, {{"axis", static_cast<int64_t>(k)}},
                      build::apply(Op::kGather, {index, data}));
}

Tensor take_along(const Tensor& x, const Tensor& index, int axis) {
  check_index("take_along", x, index);
  const int k = graph::normalize_axis("take_along", axis, x.rank());
  if (index.rank() != x.rank())
    throw UserError("take_along", "index {} and {} have different ranks",
                    graph::to_string(index.shape()), graph::to_string(x.shape()));
  Shape others = x.shape(), index_others = index.shape();
  others[at(k)] = index_others[at(k)] = 1;
  Shape shape = build::broadcast_shape("take_along", std::array{others, index_others});
  Shape data_shape = shape, index_shape = shape;
  data_shape[at(k)] = x.dim(k);
  index_shape[at(k)] = index.dim(k);
  return gather(expand(x, data_shape), k, expand(index, index_shape));
}

Tensor index_select(const Tensor& x, int axis, const Tensor& index) {
  check_index("index_select", x, index);
  const int k = graph::normalize_axis("index_select", axis, x.rank());
  const int inserted = index.rank();
  Shape shape(x.shape().begin(), x.shape().begin() + k);
  shape.insert(shape.end(), index.shape().begin(), index.shape().end());
  shape.insert(shape.end(), x.shape().begin() + k + 1, x.shape().end());
  Tensor spread = index;
  for (int a = k + 1; a < x.rank(); ++a) spread = unsqueeze(spread, -1);
  spread = expand(spread, shape);
  Shape domain = shape;
  domain.push_back(x.dim(k));
  std::vector<Dim> position;
  for (int a = 0; a < x.rank(); ++a) {
    const int target = a < k ? a : a == k ? static_cast<int>(shape.size()) : a - 1 + inserted;
    position.push_back(Dim::axis(target, domain[at(target)]));
  }
  View outer(x.shape(), domain, std::move(position));
  Tensor data = build::with_view(x, View::compose(x.edge().view, outer).value());
  return build::named("index_select", {x, index}, {{"axis", static_cast<int64_t>(k)}},
                      build::apply(Op::kGather, {spread, data}));
}

Tensor embedding(const Tensor& table, const Tensor& ids) {
  if (table.rank() != 2)
    throw UserError("embedding", "the table must be [rows, width], got {}",
                    graph::to_string(table.shape()));
  check_index("embedding", table, ids);
  return build::named("embedding", {table, ids}, {}, index_select(table, 0, ids));
}

Tensor gather_nd(const Tensor& x, const Tensor& index) {
  Tensor positions = linear_positions("gather_nd", x, index);
  const int count = static_cast<int>(index.dim(-1).constant_value().value());
  return build::named("gather_nd", {x, index}, {},
                      index_select(merge_dims(x, 0, count), 0, positions));
}

Tensor scatter(const Tensor& x, int axis, const Tensor& index, const Tensor& updates,
               ScatterMode mode) {
  check_index("scatter", x, index);
  const int k = graph::normalize_axis("scatter", axis, x.rank());
  Tensor region = trim_to_index("scatter", x, k, index);
  Tensor values = build::expand_to("scatter", cast(updates, x.dtype()), index.shape());
  Tensor written = apply_scatter(move_axis_last(region, k), move_axis_last(index, k),
                                 move_axis_last(values, k), mode);
  return build::named("scatter", {x, index, updates},
                      {{"axis", static_cast<int64_t>(k)}, {"mode", mode_name(mode)}},
                      write_back(x, move_last_axis_to(written, k)));
}

Tensor index_put(const Tensor& x, int axis, const Tensor& index, const Tensor& updates,
                 ScatterMode mode) {
  check_index("index_put", x, index);
  const int k = graph::normalize_axis("index_put", axis, x.rank());
  if (index.rank() != 1)
    throw UserError("index_put", "the index must have one axis, got {}",
                    graph::to_string(index.shape()));
  Shape slices = x.shape();
  slices[at(k)] = index.dim(0);
  Tensor values = build::expand_to("index_put", cast(updates, x.dtype()), slices);
  const auto finish = [&](const Tensor& written) {
    return build::named("index_put", {x, index, updates},
                        {{"axis", static_cast<int64_t>(k)}, {"mode", mode_name(mode)}}, written);
  };
  // Some slice has to be there, since one is read even where none is chosen.
  if (mode == ScatterMode::kSet && x.rank() > 1 && index.dim(0).bounds().lo > 0)
    return finish(put_slices(x, k, index, values));
  values = move_axis_last(values, k);
  Tensor written = apply_scatter(move_axis_last(x, k), expand(index, values.shape()), values, mode);
  return finish(move_last_axis_to(written, k));
}

Tensor scatter_nd(const Tensor& x, const Tensor& index, const Tensor& updates, ScatterMode mode) {
  Tensor positions = linear_positions("scatter_nd", x, index);
  const int count = static_cast<int>(index.dim(-1).constant_value().value());
  Tensor rows = merge_dims(x, 0, count);  // [positions, rest...]
  Shape shape = positions.shape();
  shape.insert(shape.end(), rows.shape().begin() + 1, rows.shape().end());
  Tensor values = build::expand_to("scatter_nd", cast(updates, x.dtype()), shape);
  Tensor flat_index = flatten(positions);
  values = positions.rank() == 0 ? unsqueeze(values, 0) : merge_dims(values, 0, positions.rank());
  return build::named("scatter_nd", {x, index, updates}, {{"mode", mode_name(mode)}},
                      reshape(index_put(rows, 0, flat_index, values, mode), x.shape()));
}

}  // namespace luminal
