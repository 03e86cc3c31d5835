#include "luminal/tensor/movement.h"

#include <algorithm>
#include <numeric>

#include "luminal/support/error.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/reduction.h"

namespace luminal {
namespace {

using graph::normalize_axis;
using graph::View;

const View& view(const Tensor& x) { return x.edge().view; }

size_t at(int axis) { return static_cast<size_t>(axis); }

/// x read through an index map over its own axes: `remap` gives the position along `axis` for a
/// result of `extent`.
template <typename Remap>
Tensor remap_axis(const Tensor& x, int axis, const Dim& extent, Remap remap) {
  Shape domain = x.shape();
  domain[at(axis)] = extent;
  std::vector<Dim> index;
  for (int k = 0; k < x.rank(); ++k) index.push_back(Dim::axis(k, domain[at(k)]));
  index[at(axis)] = remap(index[at(axis)]);
  View outer(x.shape(), domain, std::move(index));
  return build::with_view(x, View::compose(view(x), outer).value());
}

/// Replaces the one -1 in `shape` by what makes its element count `total`.
Shape fill_in_extent(std::string_view operation, Shape shape, const Dim& total) {
  auto missing = shape.end();
  Dim known = 1;
  for (auto extent = shape.begin(); extent != shape.end(); ++extent) {
    if (*extent != Dim(-1)) {
      known = known * *extent;
    } else if (missing == shape.end()) {
      missing = extent;
    } else {
      throw UserError(operation, "only one extent may be -1, got {}", graph::to_string(shape));
    }
  }
  if (missing == shape.end()) return shape;
  std::optional<Dim> extent = known == Dim(0) ? std::nullopt : symbolic::exact_div(total, known);
  if (!extent)
    throw UserError(operation,
                    "cannot find the extent -1 in {}: {} elements are not a known multiple of {}",
                    graph::to_string(shape), total, known);
  *missing = *extent;
  return shape;
}

/// A bound of a Python range as a position: negative ones count from the end, all are clipped to
/// [lowest, highest].
Dim resolve_bound(const Dim& bound, const Dim& extent, const Dim& lowest, const Dim& highest) {
  const Dim position = bound.bounds().hi < 0 ? bound + extent : bound;
  return symbolic::min(symbolic::max(position, lowest), highest);
}

Tensor slice_forward(const Tensor& x, int axis, const Dim& begin, const Dim& end, int64_t step) {
  return build::with_view(x, view(x).slice(axis, begin, symbolic::max(begin, end), step));
}

Tensor pad_constant(const Tensor& x, int axis, const Padding& padding, const Value& value) {
  build::check_fits("pad", value, x.dtype());
  const Scalar fill = std::visit(
      [&](const auto& number) -> Scalar {
        if constexpr (std::is_same_v<std::decay_t<decltype(number)>, Dim>) {
          if (auto constant = number.constant_value()) return Scalar::of(x.dtype(), *constant);
          throw UserError("pad", "the fill must be a number, got the dim {}", number);
        } else {
          return Scalar::of(x.dtype(), number);
        }
      },
      value.variant());
  return build::pad_axis(x, axis, padding.before, padding.after, fill);
}

void check_pad_fits(const Tensor& x, int axis, const Padding& padding, const Dim& limit,
                    std::string_view mode) {
  for (const Dim& amount : {padding.before, padding.after}) {
    if (amount.bounds().lo < 0)
      throw UserError("pad", "{} padding cannot crop, got {}", mode, amount);
    if (symbolic::provably_less(limit, amount))
      throw UserError("pad", "{} padding of {} is too large for axis {} of shape {}", mode, amount,
                      axis, graph::to_string(x.shape()));
  }
}

Tensor pad_by_position(const Tensor& x, int axis, const Padding& padding, PadMode mode) {
  const Dim n = x.dim(axis);
  const Dim extent = n + padding.before + padding.after;
  switch (mode) {
    case PadMode::kReflect:
      check_pad_fits(x, axis, padding, n - 1, "reflect");
      return remap_axis(x, axis, extent, [&](const Dim& i) {
        const Dim from_start = symbolic::max(i - padding.before, padding.before - i);
        const Dim from_end = n - 1 - from_start;
        return n - 1 - symbolic::max(from_end, -from_end);
      });
    case PadMode::kReplicate:
      check_pad_fits(x, axis, padding, symbolic::kUnbounded, "replicate");
      if (n == Dim(0))
        throw UserError("pad", "cannot replicate an empty axis of shape {}",
                        graph::to_string(x.shape()));
      return remap_axis(x, axis, extent, [&](const Dim& i) {
        return symbolic::min(symbolic::max(i - padding.before, 0), n - 1);
      });
    default:
      check_pad_fits(x, axis, padding, n, "circular");
      if (n == Dim(0)) return x;
      return remap_axis(x, axis, extent,
                        [&](const Dim& i) { return symbolic::mod(i - padding.before, n); });
  }
}

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) {
  const Shape full = fill_in_extent("reshape", shape, x.size());
  if (!symbolic::provably_equal(graph::element_count(full), x.size()))
    throw UserError("reshape", "{} has {} elements, {} has {}", graph::to_string(x.shape()),
                    x.size(), graph::to_string(full), graph::element_count(full));
  return build::with_view(x, view(x).reshape(full));
}

Tensor permute(const Tensor& x, const std::vector<int>& axes) {
  std::vector<int> order;
  for (int axis : axes) order.push_back(normalize_axis("permute", axis, x.rank()));
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (static_cast<int>(order.size()) != x.rank() ||
      std::unique(sorted.begin(), sorted.end()) != sorted.end())
    throw UserError("permute", "needs each of the {} axes of {} once", x.rank(),
                    graph::to_string(x.shape()));
  return build::with_view(x, view(x).permute(order));
}

Tensor transpose(const Tensor& x, int axis_a, int axis_b) {
  std::vector<int> order(at(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[at(normalize_axis("transpose", axis_a, x.rank()))],
            order[at(normalize_axis("transpose", axis_b, x.rank()))]);
  return permute(x, order);
}

Tensor expand(const Tensor& x, const Shape& shape) {
  Shape full = shape;
  for (size_t k = 0; k < full.size(); ++k) {
    if (full[k] != Dim(-1)) continue;
    const size_t from_end = full.size() - k;
    if (from_end > x.shape().size())
      throw UserError("expand", "extent -1 of axis {} has no axis of {} to keep", k,
                      graph::to_string(x.shape()));
    full[k] = x.shape()[x.shape().size() - from_end];
  }
  return build::expand_to("expand", x, full);
}

Tensor squeeze(const Tensor& x) {
  std::vector<int> axes;
  for (int k = 0; k < x.rank(); ++k)
    if (x.dim(k) == Dim(1)) axes.push_back(k);
  return squeeze(x, axes);
}

Tensor squeeze(const Tensor& x, const std::vector<int>& axes) {
  std::vector<int> sorted;
  for (int axis : axes) sorted.push_back(normalize_axis("squeeze", axis, x.rank()));
  std::sort(sorted.rbegin(), sorted.rend());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  Tensor result = x;
  for (int axis : sorted) {
    if (x.dim(axis) != Dim(1))
      throw UserError("squeeze", "axis {} of {} has extent {}, not 1", axis,
                      graph::to_string(x.shape()), x.dim(axis));
    result = build::with_view(result, view(result).squeeze(axis));
  }
  return result;
}

Tensor unsqueeze(const Tensor& x, int axis) {
  return build::with_view(x,
                          view(x).insert_axis(normalize_axis("unsqueeze", axis, x.rank() + 1), 1));
}

Tensor flatten(const Tensor& x, int first, int last) {
  if (x.rank() == 0) return unsqueeze(x, 0);
  const int begin = normalize_axis("flatten", first, x.rank());
  const int end = normalize_axis("flatten", last, x.rank());
  if (begin > end)
    throw UserError("flatten", "first axis {} comes after last axis {}", first, last);
  return merge_dims(x, begin, end - begin + 1);
}

Tensor split_dims(const Tensor& x, int axis, const Shape& extents) {
  const int position = normalize_axis("split_dims", axis, x.rank());
  const Shape full = fill_in_extent("split_dims", extents, x.dim(position));
  if (!symbolic::provably_equal(graph::element_count(full), x.dim(position)))
    throw UserError("split_dims", "axis {} of {} has extent {}, but {} has {} elements", axis,
                    graph::to_string(x.shape()), x.dim(position), graph::to_string(full),
                    graph::element_count(full));
  return build::with_view(x, view(x).split(position, full));
}

Tensor merge_dims(const Tensor& x, int first, int count) {
  const int begin = normalize_axis("merge_dims", first, x.rank());
  if (count < 1 || begin + count > x.rank())
    throw UserError("merge_dims", "cannot merge {} axes from axis {} of {}", count, first,
                    graph::to_string(x.shape()));
  return build::with_view(x, view(x).merge(begin, count));
}

Tensor slice(const Tensor& x, int axis, const Range& range) {
  const int k = normalize_axis("slice", axis, x.rank());
  const Dim extent = x.dim(k);
  if (range.step == 0) throw UserError("slice", "the step must not be 0");
  if (range.step > 0) {
    return slice_forward(
        x, k, range.begin ? resolve_bound(*range.begin, extent, 0, extent) : Dim(0),
        range.end ? resolve_bound(*range.end, extent, 0, extent) : extent, range.step);
  }
  const Dim last = extent - 1;
  const Dim begin = range.begin ? resolve_bound(*range.begin, extent, -1, last) : last;
  const Dim end = range.end ? resolve_bound(*range.end, extent, -1, last) : Dim(-1);
  return slice_forward(flip(x, {k}), k, last - begin, last - end, -range.step);
}

Tensor slice(const Tensor& x, const std::vector<Range>& ranges) {
  if (static_cast<int>(ranges.size()) > x.rank())
    throw UserError("slice", "{} ranges for a tensor of shape {}", ranges.size(),
                    graph::to_string(x.shape()));
  Tensor result = x;
  for (size_t k = 0; k < ranges.size(); ++k) result = slice(result, static_cast<int>(k), ranges[k]);
  return result;
}

Tensor select(const Tensor& x, int axis, const Dim& position) {
  const int k = normalize_axis("select", axis, x.rank());
  const Dim extent = x.dim(k);
  const Dim resolved = position.bounds().hi < 0 ? position + extent : position;
  if (resolved.bounds().hi < 0 || symbolic::provably_ge(resolved, extent))
    throw UserError("select", "position {} is outside axis {} of shape {}", position, axis,
                    graph::to_string(x.shape()));
  return build::with_view(x, view(x).select(k, resolved));
}

Tensor pad(const Tensor& x, const std::vector<Padding>& paddings, PadMode mode,
           const Value& value) {
  const int count = static_cast<int>(paddings.size());
  if (count > x.rank())
    throw UserError("pad", "{} paddings for a tensor of shape {}", count,
                    graph::to_string(x.shape()));
  Tensor result = x;
  for (int k = 0; k < count; ++k)
    result = pad(result, x.rank() - count + k, paddings[at(k)], mode, value);
  return result;
}

Tensor pad(const Tensor& x, int axis, const Padding& padding, PadMode mode, const Value& value) {
  const int k = normalize_axis("pad", axis, x.rank());
  if (padding.before == Dim(0) && padding.after == Dim(0)) return x;
  return mode == PadMode::kConstant ? pad_constant(x, k, padding, value)
                                    : pad_by_position(x, k, padding, mode);
}

Tensor flip(const Tensor& x, const std::vector<int>& axes) {
  Tensor result = x;
  for (int axis : Axes(axes).resolve("flip", x.rank()))
    result = build::with_view(result, view(result).flip(axis));
  return result;
}

Tensor roll(const Tensor& x, const Dim& shift, int axis) {
  const int k = normalize_axis("roll", axis, x.rank());
  const Dim extent = x.dim(k);
  if (extent == Dim(0)) return x;
  return remap_axis(x, k, extent, [&](const Dim& i) { return symbolic::mod(i - shift, extent); });
}

Tensor repeat(const Tensor& x, int64_t count, int axis) {
  const int k = normalize_axis("repeat", axis, x.rank());
  if (count < 0) throw UserError("repeat", "cannot repeat {} times", count);
  if (count == 0) return slice(x, k, {.end = 0});
  return remap_axis(x, k, x.dim(k) * count,
                    [&](const Dim& i) { return symbolic::floor_div(i, count); });
}

Tensor tile(const Tensor& x, const std::vector<int64_t>& counts) {
  Tensor result = x;
  while (result.rank() < static_cast<int>(counts.size())) result = unsqueeze(result, 0);
  const int first = result.rank() - static_cast<int>(counts.size());
  for (size_t k = 0; k < counts.size(); ++k) {
    const int axis = first + static_cast<int>(k);
    const Dim extent = result.dim(axis);
    if (counts[k] < 0) throw UserError("tile", "cannot repeat axis {} {} times", axis, counts[k]);
    if (extent == Dim(0)) continue;
    result = remap_axis(result, axis, extent * counts[k],
                        [&](const Dim& i) { return symbolic::mod(i, extent); });
  }
  return result;
}

Tensor unfold(const Tensor& x, int axis, const Dim& size, const Dim& stride, const Dim& dilation) {
  const int k = normalize_axis("unfold", axis, x.rank());
  const Dim reach = (size - 1) * dilation + 1;
  if (symbolic::provably_less(x.dim(k), reach))
    throw UserError("unfold",
                    "a window over {} elements is larger than axis {} of {}; pad it first", reach,
                    axis, graph::to_string(x.shape()));
  return build::with_view(x, view(x).window(k, size, stride, dilation));
}

Tensor diagonal(const Tensor& x, int64_t offset, int axis_a, int axis_b) {
  const int a = normalize_axis("diagonal", axis_a, x.rank());
  const int b = normalize_axis("diagonal", axis_b, x.rank());
  if (a == b)
    throw UserError("diagonal", "needs two different axes of {}, got {} twice",
                    graph::to_string(x.shape()), a);
  // Slicing clips, so that a diagonal beyond the corner is empty for symbolic extents too.
  const Tensor from_corner =
      offset >= 0 ? slice(x, b, {.begin = offset}) : slice(x, a, {.begin = -offset});
  return build::with_view(x, view(from_corner).diagonal(a, b, 0));
}

Tensor contiguous(const Tensor& x) { return build::materialize(x); }

}  // namespace luminal
