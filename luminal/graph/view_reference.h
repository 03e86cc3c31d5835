// Tests only: the movement ops done step by step on plain data, as plainly as possible, and views
// evaluated position by position, so that the two can be compared.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "luminal/graph/view.h"

namespace luminal::graph::reference {

using Position = std::vector<int64_t>;

/// Row-major data. Each value says which element of the source it is; kFill is none of them.
struct Plain {
  std::vector<int64_t> extents;
  std::vector<int64_t> values;
  bool operator==(const Plain&) const = default;
};
inline constexpr int64_t kFill = -1;

/// 0, 1, 2, ... in the given extents.
Plain numbered(std::vector<int64_t> extents);
/// Calls `visit` for every position in row-major order.
void for_each_position(const std::vector<int64_t>& extents,
                       const std::function<void(const Position&)>& visit);
/// The value at every position of `extents` is the input's at what `from` gives, or kFill.
Plain pick(const Plain& input, std::vector<int64_t> extents,
           const std::function<std::optional<Position>(const Position&)>& from);

Plain permute(const Plain& input, const std::vector<int>& axes);
Plain insert_axis(const Plain& input, int position, int64_t extent);
Plain expand(const Plain& input, const std::vector<int64_t>& extents);
Plain slice(const Plain& input, int axis, int64_t begin, int64_t end, int64_t step);
Plain select(const Plain& input, int axis, int64_t position);
Plain flip(const Plain& input, int axis);
Plain pad(const Plain& input, int axis, int64_t before, int64_t after);
Plain reshape(const Plain& input, std::vector<int64_t> extents);
Plain window(const Plain& input, int axis, int64_t size, int64_t stride, int64_t dilation);
Plain diagonal(const Plain& input, int axis_a, int axis_b, int64_t offset);

/// What a view of constant shapes reads. Throws InternalError if it reads outside of its source.
Plain evaluate(const View& view);
/// The extents of a constant shape.
std::vector<int64_t> extents_of(const Shape& shape);
Shape shape_of(const std::vector<int64_t>& extents);

}  // namespace luminal::graph::reference
