#include "luminal/tensor/movement.h"

#include <gtest/gtest.h>

#include <cmath>

#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::counting;
using test::Data;
using test::expect_error;
using test::expect_named;
using test::expect_type;
using test::expect_values;
using test::matrix;
using test::run;
using test::vector;

/// Data for an input "x" that counts from 0.
Data x_of(Extents extents) { return {.inputs = {{"x", counting(f32, std::move(extents))}}}; }

/// What counting() holds.
std::vector<double> counted(int64_t count) { return counting(f64, {count}).to_vector<double>(); }

TEST(MovementJoin, ChunkAndSplit) {
  Graph g;
  Tensor x = vector(g, {0, 1, 2, 3, 4});
  std::vector<Tensor> pieces = chunk(x, 2, 0);
  ASSERT_EQ(pieces.size(), 2u);
  expect_values(pieces[0], {0, 1, 2});
  expect_values(pieces[1], {3, 4});
  EXPECT_EQ(chunk(x, 10, 0).size(), 5u);
  EXPECT_EQ(chunk(g.constant(Array(f32, {0})), 3, 0).size(), 1u);
  Dim n = g.dim("n");
  Tensor y = g.input("x", {n + 3});
  pieces = split(y, {n, 3}, 0);
  expect_type(pieces[0], "f32[n]");
  expect_type(pieces[1], "f32[3]");
  expect_values(run(pieces[1], x_of({5})), {3}, {2, 3, 4});
  expect_values(run(pieces[0], x_of({3})), {0}, {});
  expect_error([&] { chunk(x, 0, 0); }, "chunk: cannot cut into 0 pieces");
  expect_error([&] { chunk(y, 2, 0); }, "chunk: axis 0 has the symbolic extent n + 3");
  expect_error([&] { split(x, {2, 2}, 0); }, "split: the pieces add up to 4, but axis 0 of [5]");
  expect_error([&] { split(x, {-1, 6}, 0); }, "split: the extent -1 of a piece may be negative");
}

TEST(MovementJoin, ConcatJoinsAndPromotes) {
  Graph g;
  Tensor a = matrix(g, {1, 2}, {1, 2}, i8), b = matrix(g, {2, 2}, {3, 4, 5, 6}, f16);
  Tensor y = concat({a, b}, 0);
  expect_type(y, "f16[3, 2]");
  expect_values(y, {1, 2, 3, 4, 5, 6});
  expect_values(run(concat({b, b}, -1)), {2, 4}, {3, 4, 3, 4, 5, 6, 5, 6});
  expect_named(concat({b, b}, -1), "concat(axis=1)", {b, b});
  EXPECT_TRUE(concat({a}, 0).is(a));
  expect_values(
      concat({g.constant(Array(f32, {0})), vector(g, {1}), g.constant(Array(f32, {0}))}, 0), {1});
  expect_values(concat({vector(g, {NAN}), vector(g, {-INFINITY, 1})}, 0), {NAN, -INFINITY, 1});
  expect_error([&] { concat({}, 0); }, "concat: needs at least one tensor");
  expect_error([&] { concat({a, vector(g, {1})}, 0); }, "concat: shapes [1, 2] and [1] differ");
  expect_error(
      [&] {
        concat({a, b}, 1);
      },
      "concat: shapes [1, 2] and [2, 2] differ outside of axis 1");
}

TEST(MovementJoin, ConcatOfManyPartsGrowsLinearlyAndReadsEachOnce) {
  Graph g;
  std::vector<Tensor> parts;
  for (int k = 0; k < 33; ++k) parts.push_back(vector(g, {double(k), double(k)}));
  const size_t before = g.ir().size();
  Tensor y = concat(parts, 0);
  EXPECT_LE(g.ir().size() - before, 64u);
  std::vector<double> expected;
  for (int k = 0; k < 66; ++k) expected.push_back(k / 2);
  expect_values(y, expected);
}

TEST(MovementJoin, ConcatOfSymbolicExtents) {
  Graph g;
  Dim n = g.dim("n"), m = g.dim("m");
  Tensor x = g.input("x", {n}), z = g.input("z", {m});
  Tensor y = concat({x, z, x}, 0);
  expect_type(y, "f32[m + 2*n]");
  for (int64_t a : {0, 1, 3})
    for (int64_t b : {0, 1, 2}) {
      std::vector<double> expected = counted(a);
      for (double value : counted(b)) expected.push_back(value);
      for (double value : counted(a)) expected.push_back(value);
      Data data = x_of({a});
      data.inputs.emplace("z", counting(f32, {b}));
      expect_values(run(y, data), {2 * a + b}, expected);
    }
}

TEST(MovementJoin, StackMakesAnAxis) {
  Graph g;
  Tensor a = vector(g, {1, 2}), b = vector(g, {3, 4});
  expect_values(run(stack({a, b})), {2, 2}, {1, 2, 3, 4});
  expect_values(run(stack({a, b}, -1)), {2, 2}, {1, 3, 2, 4});
  expect_values(run(stack({g.constant(1.0), g.constant(2.0)})), {2}, {1, 2});
  expect_error([&] { stack({}); }, "stack: needs at least one tensor");
  expect_error([&] { stack({a, vector(g, {1})}); }, "stack: shapes [2] and [1] differ");
}

TEST(MovementJoin, UpdateSliceReplacesElementsFromAPositionOn) {
  Graph g;
  Tensor x = matrix(g, {3, 2}, {1, 2, 3, 4, 5, 6}), row = matrix(g, {1, 2}, {8, 9});
  expect_values(update_slice(x, 0, 1, row), {1, 2, 8, 9, 5, 6});
  expect_values(update_slice(x, -1, 0, matrix(g, {3, 1}, {7, 8, 9})), {7, 2, 8, 4, 9, 6});
  expect_values(update_slice(x, 0, 0, x + 1), {2, 3, 4, 5, 6, 7});
  expect_values(update_slice(x, 0, 3, g.constant(Array(f32, {0, 2}))), {1, 2, 3, 4, 5, 6});
  const Dim p = g.dim("p", 0, 9);
  Tensor y = update_slice(x, 0, p, concat({row, row}, 0));
  expect_values(run(y, {.dims = {{"p", 1}}}), {3, 2}, {1, 2, 8, 9, 8, 9});
  expect_values(run(y, {.dims = {{"p", 2}}}), {3, 2}, {1, 2, 3, 4, 8, 9});
  expect_error([&] { update_slice(x, 0, 3, row); },
               "update_slice: [3, 4) is not inside of axis 0 of f32[3, 2]");
  expect_error([&] { update_slice(x, 1, 0, row); },
               "update_slice: f32[1, 2] does not fit into f32[3, 2] along axis 1");
  expect_error([&] { update_slice(x, 2, 0, row); }, "update_slice: axis 2");
}

}  // namespace
}  // namespace luminal
