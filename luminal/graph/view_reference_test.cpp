#include "luminal/graph/view_reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "luminal/support/check.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::graph::reference {

namespace {

int64_t count_of(const std::vector<int64_t>& extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

int64_t linear(const Position& position, const std::vector<int64_t>& extents) {
  int64_t result = 0;
  for (size_t k = 0; k < extents.size(); ++k) {
    LUMINAL_CHECK(position[k] >= 0 && position[k] < extents[k], "position {} of axis {} in {}",
                  position[k], k, extents[k]);
    result = result * extents[k] + position[k];
  }
  return result;
}

}  // namespace

Plain numbered(std::vector<int64_t> extents) {
  Plain result{std::move(extents), {}};
  result.values.resize(static_cast<size_t>(count_of(result.extents)));
  std::iota(result.values.begin(), result.values.end(), 0);
  return result;
}

void for_each_position(const std::vector<int64_t>& extents,
                       const std::function<void(const Position&)>& visit) {
  Position position(extents.size(), 0);
  for (int64_t left = count_of(extents); left > 0; --left) {
    visit(position);
    for (size_t k = extents.size(); k-- > 0;) {
      if (++position[k] < extents[k]) break;
      position[k] = 0;
    }
  }
}

Plain pick(const Plain& input, std::vector<int64_t> extents,
           const std::function<std::optional<Position>(const Position&)>& from) {
  Plain result{std::move(extents), {}};
  for_each_position(result.extents, [&](const Position& position) {
    const std::optional<Position> source = from(position);
    result.values.push_back(
        source ? input.values[static_cast<size_t>(linear(*source, input.extents))] : kFill);
  });
  return result;
}

Plain permute(const Plain& input, const std::vector<int>& axes) {
  std::vector<int64_t> extents;
  for (int axis : axes) extents.push_back(input.extents[static_cast<size_t>(axis)]);
  return pick(input, extents, [&](const Position& to) {
    Position from(to.size());
    for (size_t k = 0; k < axes.size(); ++k) from[static_cast<size_t>(axes[k])] = to[k];
    return from;
  });
}

Plain insert_axis(const Plain& input, int position, int64_t extent) {
  std::vector<int64_t> extents = input.extents;
  extents.insert(extents.begin() + position, extent);
  return pick(input, extents, [&](Position to) {
    to.erase(to.begin() + position);
    return to;
  });
}

Plain expand(const Plain& input, const std::vector<int64_t>& extents) {
  const size_t added = extents.size() - input.extents.size();
  return pick(input, extents, [&](const Position& to) {
    Position from(to.begin() + static_cast<std::ptrdiff_t>(added), to.end());
    for (size_t k = 0; k < from.size(); ++k)
      if (input.extents[k] == 1) from[k] = 0;
    return from;
  });
}

Plain slice(const Plain& input, int axis, int64_t begin, int64_t end, int64_t step) {
  std::vector<int64_t> taken;
  for (int64_t at = begin; step > 0 ? at < end : at > end; at += step) taken.push_back(at);
  std::vector<int64_t> extents = input.extents;
  extents[static_cast<size_t>(axis)] = static_cast<int64_t>(taken.size());
  return pick(input, extents, [&](Position to) {
    int64_t& at = to[static_cast<size_t>(axis)];
    at = taken[static_cast<size_t>(at)];
    return to;
  });
}

Plain select(const Plain& input, int axis, int64_t position) {
  std::vector<int64_t> extents = input.extents;
  extents.erase(extents.begin() + axis);
  return pick(input, extents, [&](Position to) {
    to.insert(to.begin() + axis, position);
    return to;
  });
}

Plain flip(const Plain& input, int axis) {
  return pick(input, input.extents, [&](Position to) {
    int64_t& at = to[static_cast<size_t>(axis)];
    at = input.extents[static_cast<size_t>(axis)] - 1 - at;
    return to;
  });
}

Plain pad(const Plain& input, int axis, int64_t before, int64_t after) {
  const int64_t extent = input.extents[static_cast<size_t>(axis)];
  std::vector<int64_t> extents = input.extents;
  extents[static_cast<size_t>(axis)] += before + after;
  return pick(input, extents, [&](Position to) -> std::optional<Position> {
    int64_t& at = to[static_cast<size_t>(axis)];
    at -= before;
    if (at < 0 || at >= extent) return std::nullopt;
    return to;
  });
}

Plain reshape(const Plain& input, std::vector<int64_t> extents) {
  return {std::move(extents), input.values};
}

Plain window(const Plain& input, int axis, int64_t size, int64_t stride, int64_t dilation) {
  int64_t positions = 0;
  while (positions * stride + (size - 1) * dilation < input.extents[static_cast<size_t>(axis)])
    ++positions;
  std::vector<int64_t> extents = input.extents;
  extents[static_cast<size_t>(axis)] = positions;
  extents.push_back(size);
  return pick(input, extents, [&](Position to) {
    int64_t& at = to[static_cast<size_t>(axis)];
    at = at * stride + to.back() * dilation;
    to.pop_back();
    return to;
  });
}

Plain diagonal(const Plain& input, int axis_a, int axis_b, int64_t offset) {
  std::vector<int64_t> rest;
  for (size_t k = 0; k < input.extents.size(); ++k)
    if (static_cast<int>(k) != axis_a && static_cast<int>(k) != axis_b)
      rest.push_back(input.extents[k]);
  // The positions of the diagonal, found by looking at every pair.
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < input.extents[static_cast<size_t>(axis_a)]; ++i)
    for (int64_t j = 0; j < input.extents[static_cast<size_t>(axis_b)]; ++j)
      if (i + offset == j) pairs.emplace_back(i, j);
  rest.push_back(static_cast<int64_t>(pairs.size()));
  return pick(input, rest, [&](const Position& to) {
    const auto [i, j] = pairs[static_cast<size_t>(to.back())];
    Position from;
    size_t next = 0;
    for (int k = 0; k < static_cast<int>(input.extents.size()); ++k)
      from.push_back(k == axis_a ? i : k == axis_b ? j : to[next++]);
    return from;
  });
}

Plain evaluate(const View& view) {
  std::vector<Expr> slots, exprs = view.index();
  std::vector<size_t> slot_axes;
  for (int k = 0; k < view.rank(); ++k)
    if (view.axis(k).is_axis()) {
      slots.push_back(view.axis(k));
      slot_axes.push_back(static_cast<size_t>(k));
    }
  for (const Condition& condition : view.conditions()) {
    exprs.push_back(condition.value);
    exprs.push_back(condition.extent);
  }
  const symbolic::CompiledExpr program(exprs, slots);
  const std::vector<int64_t> source = extents_of(view.source());
  Plain result{extents_of(view.domain()), {}};
  std::vector<int64_t> arguments(slots.size()), values(exprs.size());
  for_each_position(result.extents, [&](const Position& position) {
    for (size_t k = 0; k < slot_axes.size(); ++k) arguments[k] = position[slot_axes[k]];
    program.run(arguments, values);
    bool holds = true;
    for (size_t k = source.size(); k < values.size(); k += 2)
      holds = holds && 0 <= values[k] && values[k] < values[k + 1];
    const auto end = values.begin() + static_cast<std::ptrdiff_t>(source.size());
    result.values.push_back(holds ? linear(Position(values.begin(), end), source) : kFill);
  });
  return result;
}

std::vector<int64_t> extents_of(const Shape& shape) {
  std::vector<int64_t> extents;
  for (const Expr& extent : shape) extents.push_back(extent.constant_value().value());
  return extents;
}

Shape shape_of(const std::vector<int64_t>& extents) {
  Shape shape;
  for (int64_t extent : extents) shape.push_back(extent);
  return shape;
}

namespace {

TEST(ViewReference, WindowsAndDiagonalsOfASmallMatrixAreAsWrittenByHand) {
  const Plain matrix = numbered({2, 4});  // 0 1 2 3 / 4 5 6 7
  EXPECT_EQ(window(matrix, 1, 2, 2, 1), (Plain{{2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7}}));
  EXPECT_EQ(window(matrix, 1, 2, 1, 2), (Plain{{2, 2, 2}, {0, 2, 1, 3, 4, 6, 5, 7}}));
  EXPECT_EQ(diagonal(matrix, 0, 1, 1), (Plain{{2}, {1, 6}}));
  EXPECT_EQ(diagonal(matrix, 1, 0, -1), (Plain{{2}, {1, 6}}));
}

TEST(ViewReference, PaddingAndSlicingAreAsWrittenByHand) {
  const Plain row = numbered({3});
  EXPECT_EQ(pad(row, 0, 1, 2), (Plain{{6}, {kFill, 0, 1, 2, kFill, kFill}}));
  EXPECT_EQ(pad(row, 0, -1, 1), (Plain{{3}, {1, 2, kFill}}));
  EXPECT_EQ(slice(row, 0, 2, -1, -2), (Plain{{2}, {2, 0}}));
}

}  // namespace
}  // namespace luminal::graph::reference
