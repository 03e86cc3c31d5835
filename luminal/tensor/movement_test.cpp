#include "luminal/tensor/movement.h"

#include <gtest/gtest.h>

#include <cmath>

#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::counted;
using test::counting;
using test::Data;
using test::expect_error;
using test::expect_type;
using test::expect_values;
using test::matrix;
using test::run;
using test::vector;

/// Data for an input "x" that counts from 0.
Data x_of(Extents extents) { return {.inputs = {{"x", counting(f32, std::move(extents))}}}; }

TEST(Movement, AddsNoNodes) {
  Graph g;
  Tensor x = counted(g, {4, 6});
  const size_t before = g.ir().size();
  unfold(flip(pad(transpose(reshape(slice(x, 1, {.begin = 2}), {2, 8})), 0, {1, 1}), {0}), 0, 3);
  roll(repeat(tile(expand(unsqueeze(x, 0), {5, 4, 6}), {2, 1}), 3, 0), 1, 1);
  EXPECT_EQ(g.ir().size(), before);
  EXPECT_TRUE(contiguous(x).is(x));
  contiguous(transpose(x));
  EXPECT_EQ(g.ir().size(), before + 1);
}

TEST(Movement, MovesEveryDtype) {
  Graph g;
  for (const graph::DTypeInfo& row : graph::kDTypes) {
    Tensor x = matrix(g, {2, 3}, {0, 1, 1, 0, 0, 1}, row.dtype);
    Tensor y = pad(flip(transpose(x), {0}), 1, {1, 0}, PadMode::kConstant, 1);
    EXPECT_EQ(y.dtype(), row.dtype);
    expect_values(run(y), {3, 3}, {1, 1, 1, 1, 1, 0, 1, 0, 0});
    expect_values(run(contiguous(y)), {3, 3}, {1, 1, 1, 1, 1, 0, 1, 0, 0});
    expect_values(run(concat({x, slice(x, 0, {.begin = 1})}, 0)), {3, 3},
                  {0, 1, 1, 0, 0, 1, 0, 0, 1});
  }
}

TEST(Movement, TakesManyAxes) {
  Graph g;
  Tensor x = counted(g, {2, 1, 2, 1, 2, 1, 2, 1, 2});
  Tensor turned = permute(x, {8, 7, 6, 5, 4, 3, 2, 1, 0});
  std::vector<double> expected;
  for (int i = 0; i < 32; ++i)
    expected.push_back((i & 1) * 16 + (i & 2) * 4 + (i & 4) + (i & 8) / 4 + (i & 16) / 16);
  expect_values(run(turned), {2, 1, 2, 1, 2, 1, 2, 1, 2}, expected);
  expect_values(run(reshape(turned, {4, 8})), {4, 8}, expected);
}

TEST(Movement, ReshapeFindsTheMissingExtent) {
  Graph g;
  Tensor x = counted(g, {2, 6});
  expect_values(run(reshape(x, {3, -1})), {3, 4}, test::numbers(x));
  expect_values(run(reshape(transpose(x), {-1})), {12}, {0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11});
  expect_values(run(reshape(vector(g, {5}), {})), {}, {5});
  expect_values(run(reshape(g.constant(Array(f32, {0, 3})), {3, 0})), {3, 0}, {});
  expect_error([&] { reshape(x, {-1, -1}); }, "reshape: only one extent may be -1, got [-1, -1]");
  expect_error([&] { reshape(x, {5, -1}); }, "12 elements are not a known multiple of 5");
  expect_error([&] { reshape(x, {5, 2}); }, "reshape: [2, 6] has 12 elements, [5, 2] has 10");
  expect_error([&] { reshape(g.constant(Array(f32, {0})), {0, -1}); }, "cannot find the extent -1");
}

TEST(Movement, ReshapeOfSymbolicShapes) {
  Graph g;
  Dim n = g.dim("n");
  Tensor x = g.input("x", {n, 6});
  expect_type(reshape(x, {-1}), "f32[6*n]");
  Tensor y = reshape(x, {n * 2, -1});
  expect_type(y, "f32[2*n, 3]");
  for (int64_t extent : {0, 1, 2})
    expect_values(run(transpose(y), x_of({extent, 6})), {3, 2 * extent}, [&] {
      std::vector<double> expected;
      for (int64_t column = 0; column < 3; ++column)
        for (int64_t row = 0; row < 2 * extent; ++row)
          expected.push_back(static_cast<double>(row * 3 + column));
      return expected;
    }());
  expect_error([&] { reshape(x, {4, -1}); }, "6*n elements are not a known multiple of 4");
}

TEST(Movement, PermuteTransposeSqueezeAndUnsqueeze) {
  Graph g;
  Tensor x = counted(g, {2, 1, 3});
  expect_type(permute(x, {2, 0, 1}), "f32[3, 2, 1]");
  expect_values(permute(x, {-1, 0, 1}), {0, 3, 1, 4, 2, 5});
  expect_values(transpose(squeeze(x)), {0, 3, 1, 4, 2, 5});
  expect_type(transpose(x, 0, 1), "f32[1, 2, 3]");
  expect_type(squeeze(x, {1, -2}), "f32[2, 3]");
  expect_type(unsqueeze(x, -1), "f32[2, 1, 3, 1]");
  expect_type(unsqueeze(g.constant(1.0), 0), "f32[1]");
  expect_error([&] { permute(x, {0, 1}); }, "permute: needs each of the 3 axes of [2, 1, 3] once");
  expect_error([&] { permute(x, {0, 1, -3}); }, "needs each of the 3 axes");
  expect_error([&] { squeeze(x, {0}); }, "squeeze: axis 0 of [2, 1, 3] has extent 2, not 1");
  expect_error([&] { transpose(vector(g, {1})); }, "transpose: axis -2");
  expect_error([&] { unsqueeze(x, 4); }, "unsqueeze: axis 4");
}

TEST(Movement, ExpandStretchesOnes) {
  Graph g;
  Tensor x = matrix(g, {2, 1}, {1, 2});
  expect_values(run(expand(x, {2, 3})), {2, 3}, {1, 1, 1, 2, 2, 2});
  expect_values(run(expand(x, {2, -1, 2})), {2, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2});
  expect_type(expand(x, {2, 0}), "f32[2, 0]");
  expect_error([&] { expand(x, {3, 3}); }, "expand: shapes [2, 1] and [3, 3] do not broadcast");
  expect_error(
      [&] {
        expand(counted(g, {2, 3}), {2, 1});
      },
      "expand: cannot expand [2, 3] to [2, 1]");
  expect_error([&] { expand(x, {-1, 2, 1}); }, "extent -1 of axis 0 has no axis of [2, 1] to keep");
}

TEST(Movement, FlattenSplitAndMergeDims) {
  Graph g;
  Tensor x = counted(g, {2, 3, 4});
  expect_type(flatten(x), "f32[24]");
  expect_type(flatten(x, 1), "f32[2, 12]");
  expect_type(flatten(g.constant(1.0)), "f32[1]");
  expect_type(split_dims(x, -1, {2, -1}), "f32[2, 3, 2, 2]");
  expect_values(
      run(merge_dims(transpose(x, 0, 1), 0)), {6, 4},
      {0, 1, 2, 3, 12, 13, 14, 15, 4, 5, 6, 7, 16, 17, 18, 19, 8, 9, 10, 11, 20, 21, 22, 23});
  expect_error([&] { flatten(x, 2, 1); }, "flatten: first axis 2 comes after last axis 1");
  expect_error([&] { split_dims(x, 0, {3, 1}); }, "split_dims: axis 0 of [2, 3, 4] has extent 2");
  expect_error([&] { merge_dims(x, 2, 2); }, "merge_dims: cannot merge 2 axes from axis 2");
}

TEST(Movement, SliceFollowsPython) {
  Graph g;
  Tensor x = vector(g, {0, 1, 2, 3, 4});
  expect_values(slice(x, 0, {.begin = 1, .end = 3}), {1, 2});
  expect_values(slice(x, 0, {.begin = -2}), {3, 4});
  expect_values(slice(x, 0, {.end = -1}), {0, 1, 2, 3});
  expect_values(slice(x, 0, {.begin = 1, .step = 2}), {1, 3});
  expect_values(slice(x, 0, {.step = -1}), {4, 3, 2, 1, 0});
  expect_values(slice(x, 0, {.begin = 3, .end = 0, .step = -2}), {3, 1});
  expect_values(slice(x, 0, {.begin = -1, .end = -6, .step = -3}), {4, 1});
  expect_values(slice(x, 0, {.begin = 4, .end = 2}), {});
  expect_values(slice(x, 0, {.begin = 2, .end = 4, .step = -1}), {});
  expect_values(slice(x, 0, {.begin = -99, .end = 99}), {0, 1, 2, 3, 4});
  expect_values(slice(x, 0, {.begin = 99, .end = -99, .step = -4}), {4, 0});
  expect_values(slice(x, 0, {.begin = 99}), {});
  expect_values(run(slice(counted(g, {3, 4}), {{.begin = 1}, {.step = 3}})), {2, 2}, {4, 7, 8, 11});
  expect_error([&] { slice(x, 0, {.step = 0}); }, "slice: the step must not be 0");
  expect_error([&] { slice(x, {{}, {}}); }, "slice: 2 ranges for a tensor of shape [5]");
}

TEST(Movement, SliceOfSymbolicExtentsFollowsPythonAtEveryExtent) {
  Graph g;
  Dim n = g.dim("n");
  Tensor x = g.input("x", {n});
  struct Bounds {
    std::optional<int64_t> begin, end;
    int64_t step;
  };
  const Bounds cases[] = {{1, {}, 1},  {-2, {}, 1},  {{}, -1, 1},  {{}, 3, 1},   {1, -1, 1},
                          {2, {}, 2},  {{}, {}, -1}, {-2, {}, -1}, {{}, 1, -1},  {5, 1, -2},
                          {-3, -1, 1}, {0, 0, 1},    {4, 2, 1},    {{}, -3, -1}, {-1, {}, -3}};
  for (const Bounds& c : cases) {
    Range range{.step = c.step};
    if (c.begin) range.begin = *c.begin;
    if (c.end) range.end = *c.end;
    Tensor y = slice(x, 0, range);
    for (int64_t extent : {0, 1, 2, 3, 7}) {
      auto clip = [&](int64_t bound, int64_t low, int64_t high) {
        return std::min(std::max(bound < 0 ? bound + extent : bound, low), high);
      };
      std::vector<double> expected;
      if (c.step > 0) {
        const int64_t end = c.end ? clip(*c.end, 0, extent) : extent;
        for (int64_t i = c.begin ? clip(*c.begin, 0, extent) : 0; i < end; i += c.step)
          expected.push_back(static_cast<double>(i));
      } else {
        const int64_t end = c.end ? clip(*c.end, -1, extent - 1) : -1;
        for (int64_t i = c.begin ? clip(*c.begin, -1, extent - 1) : extent - 1; i > end;
             i += c.step)
          expected.push_back(static_cast<double>(i));
      }
      SCOPED_TRACE(fmt::format("[{}:{}:{}] of {}", c.begin.value_or(-99), c.end.value_or(-99),
                               c.step, extent));
      expect_values(run(y, x_of({extent})), {static_cast<int64_t>(expected.size())}, expected);
    }
  }
}

TEST(Movement, SliceByDimsGivesDims) {
  Graph g;
  Dim past = g.dim("past"), seq = g.dim("seq");
  Tensor x = g.input("x", {past + seq});
  expect_type(slice(x, 0, {.begin = past}), "f32[seq]");
  expect_type(slice(x, 0, {.end = past}), "f32[past]");
  Data data = x_of({5});
  data.dims = {{"past", 3}, {"seq", 2}};
  expect_values(run(slice(x, 0, {.begin = past}), data), {2}, {3, 4});
}

TEST(Movement, SelectTakesOnePosition) {
  Graph g;
  Tensor x = counted(g, {2, 3});
  expect_values(run(select(x, 1, 2)), {2}, {2, 5});
  expect_values(run(select(x, 0, -1)), {3}, {3, 4, 5});
  expect_error([&] { select(x, 1, 3); }, "select: position 3 is outside axis 1 of shape [2, 3]");
  expect_error([&] { select(x, 1, -4); }, "select: position -4 is outside");
  Dim p = g.dim("p", 0, 2);
  expect_values(run(select(x, 1, p), {.dims = {{"p", 1}}}), {2}, {1, 4});
  Dim n = g.dim("n", 1);
  expect_values(run(select(g.input("x", {n}), 0, -1), x_of({4})), {}, {3});
}

TEST(Movement, PadWithEachMode) {
  Graph g;
  Tensor x = vector(g, {1, 2, 3});
  expect_values(pad(x, 0, {2, 1}), {0, 0, 1, 2, 3, 0});
  expect_values(pad(x, 0, {1, 1}, PadMode::kConstant, -INFINITY), {-INFINITY, 1, 2, 3, -INFINITY});
  expect_values(pad(x, 0, {2, 2}, PadMode::kReflect), {3, 2, 1, 2, 3, 2, 1});
  expect_values(pad(x, 0, {2, 4}, PadMode::kReplicate), {1, 1, 1, 2, 3, 3, 3, 3, 3});
  expect_values(pad(x, 0, {3, 1}, PadMode::kCircular), {1, 2, 3, 1, 2, 3, 1});
  expect_values(pad(x, 0, {-1, 2}), {2, 3, 0, 0});
  expect_values(pad(x, 0, {1, -2}), {0, 1});
  expect_values(pad(vector(g, {1, 0}, boolean), 0, {1, 0}, PadMode::kConstant, true), {1, 1, 0});
  EXPECT_TRUE(pad(x, 0, {0, 0}).is(x));
  expect_values(run(pad(matrix(g, {1, 2}, {1, 2}), {{1, 0}, {0, 1}}, PadMode::kConstant, 9)),
                {2, 3}, {9, 9, 9, 1, 2, 9});
}

TEST(Movement, PadOfAPaddedTensorKeepsBothFills) {
  Graph g;
  Tensor x =
      pad(pad(vector(g, {1}), 0, {1, 1}, PadMode::kConstant, 5), 0, {1, 1}, PadMode::kConstant, 7);
  expect_values(x, {7, 5, 1, 5, 7});
  expect_values(pad(x, 0, {1, 1}, PadMode::kReflect), {5, 7, 5, 1, 5, 7, 5});
}

TEST(Movement, PadOfSymbolicExtents) {
  Graph g;
  Dim n = g.dim("n");
  Tensor x = g.input("x", {n});
  Tensor constant = pad(x, 0, {1, n}), replicate = pad(x, 0, {1, 2}, PadMode::kReplicate);
  expect_type(constant, "f32[2*n + 1]");
  expect_values(run(constant, x_of({2})), {5}, {0, 0, 1, 0, 0});
  expect_values(run(constant, x_of({0})), {1}, {0});
  expect_values(run(replicate, x_of({2})), {5}, {0, 0, 1, 1, 1});
  expect_values(run(replicate, x_of({1})), {4}, {0, 0, 0, 0});
  expect_values(run(pad(x, 0, {2, 1}, PadMode::kReflect), x_of({3})), {6}, {2, 1, 0, 1, 2, 1});
  expect_values(run(pad(x, 0, {2, 1}, PadMode::kCircular), x_of({2})), {5}, {0, 1, 0, 1, 0});
}

TEST(Movement, PadErrors) {
  Graph g;
  Tensor x = vector(g, {1, 2, 3});
  expect_error(
      [&] {
        pad(x, 0, {3, 0}, PadMode::kReflect);
      },
      "pad: reflect padding of 3 is too large");
  expect_error(
      [&] {
        pad(x, 0, {4, 0}, PadMode::kCircular);
      },
      "circular padding of 4 is too large");
  expect_error(
      [&] {
        pad(x, 0, {-1, 0}, PadMode::kReplicate);
      },
      "replicate padding cannot crop, got -1");
  expect_error(
      [&] {
        pad(g.constant(Array(f32, {0})), 0, {1, 0}, PadMode::kReplicate);
      },
      "cannot replicate an empty axis");
  expect_error(
      [&] {
        pad(g.constant(Array(f32, {0})), 0, {1, 0}, PadMode::kCircular);
      },
      "circular padding of 1 is too large");
  expect_error([&] { pad(x, {{1, 1}, {1, 1}}); }, "pad: 2 paddings for a tensor of shape [3]");
  expect_error([&] { pad(x, 0, {-2, -2}); }, "pad: cropping 2 and 2 elements");
  expect_error(
      [&] {
        pad(x, 0, {1, 1}, PadMode::kConstant, g.dim("n"));
      },
      "pad: the fill must be a number, got the dim n");
}

TEST(Movement, FlipRollRepeatAndTile) {
  Graph g;
  Tensor x = matrix(g, {2, 3}, {1, 2, 3, 4, 5, 6});
  expect_values(flip(x, {0, 1}), {6, 5, 4, 3, 2, 1});
  expect_values(roll(x, 1, 1), {3, 1, 2, 6, 4, 5});
  expect_values(roll(x, -4, 1), {2, 3, 1, 5, 6, 4});
  expect_values(run(repeat(x, 2, 1)), {2, 6}, {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  expect_values(run(repeat(x, 0, 0)), {0, 3}, {});
  expect_values(run(tile(vector(g, {1, 2}), {2, 3})), {2, 6}, {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2});
  expect_values(run(tile(x, {2})), {2, 6}, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  expect_values(run(tile(x, {0, 1})), {0, 3}, {});
  expect_error([&] { repeat(x, -1, 0); }, "repeat: cannot repeat -1 times");
  expect_error([&] { tile(x, {-1}); }, "tile: cannot repeat axis 1 -1 times");
}

TEST(Movement, FlipRollRepeatAndTileOfSymbolicExtents) {
  Graph g;
  Tensor x = g.input("x", {g.dim("n")});
  for (int64_t n : {0, 1, 4}) {
    std::vector<double> flipped, rolled, repeated, tiled;
    for (int64_t i = 0; i < n; ++i) {
      flipped.push_back(static_cast<double>(n - 1 - i));
      rolled.push_back(static_cast<double>((i + n - 1 % n) % n));
    }
    for (int64_t i = 0; i < 2 * n; ++i) {
      repeated.push_back(static_cast<double>(i / 2));
      tiled.push_back(static_cast<double>(i % n));
    }
    expect_values(run(flip(x, {0}), x_of({n})), {n}, flipped);
    expect_values(run(roll(x, 1, 0), x_of({n})), {n}, rolled);
    expect_values(run(repeat(x, 2, 0), x_of({n})), {2 * n}, repeated);
    expect_values(run(tile(x, {2}), x_of({n})), {2 * n}, tiled);
  }
}

TEST(Movement, UnfoldMakesWindows) {
  Graph g;
  Tensor x = vector(g, {0, 1, 2, 3, 4});
  expect_values(run(unfold(x, 0, 3)), {3, 3}, {0, 1, 2, 1, 2, 3, 2, 3, 4});
  expect_values(run(unfold(x, 0, 2, 2)), {2, 2}, {0, 1, 2, 3});
  expect_values(run(unfold(x, 0, 2, 1, 3)), {2, 2}, {0, 3, 1, 4});
  expect_error([&] { unfold(x, 0, 6); }, "unfold: a window over 6 elements is larger than axis 0");
  expect_error([&] { unfold(x, 0, 2, 0); }, "stride of axis 0 is 0");
  Tensor y = unfold(g.input("x", {g.dim("n")}), 0, 2);
  expect_values(run(y, x_of({3})), {2, 2}, {0, 1, 1, 2});
  expect_values(run(y, x_of({2})), {1, 2}, {0, 1});
  expect_values(run(y, x_of({1})), {0, 2}, {});
}

TEST(Movement, DiagonalOfTwoAxes) {
  Graph g;
  Tensor x = counted(g, {3, 4});
  expect_values(diagonal(x), {0, 5, 10});
  expect_values(diagonal(x, 2), {2, 7});
  expect_values(diagonal(x, -2), {8});
  expect_values(run(diagonal(x, 9)), {0}, {});
  expect_values(run(diagonal(counted(g, {2, 3, 2}), 0, 0, 2)), {3, 2}, {0, 7, 2, 9, 4, 11});
  expect_error([&] { diagonal(x, 0, 1, -1); }, "diagonal: needs two different axes");
  Dim n = g.dim("n");
  Tensor y = diagonal(g.input("x", {n, n}), 2);
  expect_values(run(y, x_of({4, 4})), {2}, {2, 7});
  expect_values(run(y, x_of({1, 1})), {0}, {});
}

TEST(Movement, FillMustFitTheDtypeAndAxesAreFlippedOnce) {
  Graph g;
  Tensor x = vector(g, {1, 2}, u8);
  expect_error([&] { pad(x, {{1, 0}}, PadMode::kConstant, 300); }, "pad: 300 does not fit u8");
  expect_error([&] { flip(x, {0, -1}); }, "flip: axis 0 is named twice");
}

}  // namespace
}  // namespace luminal
