#include "luminal/tensor/indexing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "luminal/tensor/movement.h"
#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::counted;
using test::expect_error;
using test::expect_named;
using test::expect_type;
using test::expect_values;
using test::matrix;
using test::run;
using test::vector;

TEST(Indexing, GatherReadsAlongTheAxis) {
  Graph g;
  Tensor x = matrix(g, {2, 3}, {10, 11, 12, 20, 21, 22});
  expect_values(run(gather(x, 1, matrix(g, {2, 2}, {2, 0, 1, 1}, i64))), {2, 2}, {12, 10, 21, 21});
  expect_values(run(gather(x, 0, matrix(g, {1, 3}, {1, 0, 1}, u8))), {1, 3}, {20, 11, 22});
  expect_values(run(gather(x, -1, matrix(g, {1, 1}, {2}, i8))), {1, 1}, {12});
  expect_values(run(gather(transpose(x), 0, matrix(g, {1, 2}, {2, 0}, i32))), {1, 2}, {12, 20});
  expect_values(run(gather(x, 1, g.constant(Array(i64, {2, 0})))), {2, 0}, {});
}

TEST(Indexing, GatherKeepsEveryDtype) {
  Graph g;
  for (const graph::DTypeInfo& row : graph::kDTypes) {
    Tensor y = gather(vector(g, {0, 1, 1}, row.dtype), 0, vector(g, {1, 0}, i32));
    EXPECT_EQ(y.dtype(), row.dtype);
    expect_values(y, {1, 0});
  }
}

TEST(Indexing, OutOfRangeIndicesAreErrorsThatNameThem) {
  Graph g;
  Tensor x = vector(g, {1, 2, 3});
  expect_error(
      [&] {
        run(gather(x, 0, vector(g, {0, 3}, i64)));
      },
      "gather: index 3 at position [1] is out of range: it must be 0 <= index < 3");
  expect_error([&] { run(gather(x, 0, vector(g, {-1}, i64))); },
               "gather: index -1 at position [0] is out of range");
  expect_error([&] { run(scatter(x, 0, vector(g, {5}, i64), vector(g, {1}))); },
               "scatter: index 5 at position [0] is out of range: it must be 0 <= index < 3");
  Tensor pairs = matrix(g, {2, 2}, {1, 2, 3, 4});
  expect_error([&] { run(gather_nd(pairs, vector(g, {7}, i64))); }, "gather: index 7 at position");
  // Row 0 has no column 2, though element 2 of the whole exists.
  expect_error([&] { run(gather_nd(pairs, vector(g, {0, 2}, i64))); }, "gather: index -1");
}

TEST(Indexing, TakeAlongBroadcasts) {
  Graph g;
  Tensor x = matrix(g, {2, 3}, {10, 11, 12, 20, 21, 22});
  expect_values(run(take_along(x, matrix(g, {1, 2}, {2, 0}, i64), 1)), {2, 2}, {12, 10, 22, 20});
  expect_values(run(take_along(matrix(g, {1, 3}, {1, 2, 3}), matrix(g, {2, 1}, {0, 2}, i64), 1)),
                {2, 1}, {1, 3});
  expect_error([&] { take_along(x, vector(g, {1}, i64), 0); },
               "take_along: index [1] and [2, 3] have different ranks");
}

TEST(Indexing, IndexSelectAndEmbeddingTakeSlices) {
  Graph g;
  Tensor x = counted(g, {3, 2});
  expect_values(run(index_select(x, 0, vector(g, {2, 0, 2}, i64))), {3, 2}, {4, 5, 0, 1, 4, 5});
  expect_values(run(index_select(x, 1, vector(g, {1}, u8))), {3, 1}, {1, 3, 5});
  expect_values(run(index_select(x, 1, matrix(g, {2, 2}, {0, 1, 1, 0}, i64))), {3, 2, 2},
                {0, 1, 1, 0, 2, 3, 3, 2, 4, 5, 5, 4});
  expect_values(run(index_select(x, 0, g.constant(1, i64))), {2}, {2, 3});
  Tensor ids = matrix(g, {1, 2}, {1, 0}, i32);
  expect_values(run(embedding(x, ids)), {1, 2, 2}, {2, 3, 0, 1});
  expect_named(embedding(x, ids), "embedding()", {x, ids});
  expect_named(index_select(x, -1, ids), "index_select(axis=1)", {x, ids});
  expect_error([&] { embedding(vector(g, {1}), ids); },
               "embedding: the table must be [rows, width], got [1]");
}

TEST(Indexing, GatherNdTakesTuples) {
  Graph g;
  Tensor x = counted(g, {2, 3, 2});
  expect_values(run(gather_nd(x, matrix(g, {2, 2}, {0, 1, 1, 2}, i64))), {2, 2}, {2, 3, 10, 11});
  expect_values(run(gather_nd(x, matrix(g, {1, 3}, {1, 0, 1}, i8))), {1}, {7});
  expect_values(run(gather_nd(x, vector(g, {1}, i64))), {3, 2}, {6, 7, 8, 9, 10, 11});
  expect_error(
      [&] {
        gather_nd(x, matrix(g, {1, 4}, {0, 0, 0, 0}, i64));
      },
      "gather_nd: the last axis of index [1, 4] must hold 1 to 3 coordinates into [2, 3, 2]");
}

TEST(Indexing, ScatterWritesInOrder) {
  Graph g;
  Tensor x = vector(g, {1, 2, 3});
  Tensor index = vector(g, {0, 2, 0}, i64), updates = vector(g, {10, 20, 30});
  expect_values(scatter(x, 0, index, updates), {30, 2, 20});
  expect_values(scatter(x, 0, index, updates, ScatterMode::kAdd), {41, 2, 23});
  expect_values(scatter(x, 0, index, updates, ScatterMode::kMul), {300, 2, 60});
  expect_values(scatter(x, 0, index, updates, ScatterMode::kMax), {30, 2, 20});
  expect_values(scatter(x, 0, index, updates, ScatterMode::kMin), {1, 2, 3});
  expect_named(scatter(x, 0, index, updates, ScatterMode::kAdd), "scatter(axis=0, mode=add)",
               {x, index, updates});
}

TEST(Indexing, ScatterAlongAnyAxisAndIntoPartOfTheRest) {
  Graph g;
  Tensor x = counted(g, {2, 3});
  expect_values(
      run(scatter(x, 0, matrix(g, {1, 3}, {1, 0, 1}, i64), matrix(g, {1, 3}, {-1, -2, -3}))),
      {2, 3}, {0, -2, 2, -1, 4, -3});
  expect_values(run(scatter(x, 1, matrix(g, {1, 2}, {2, 0}, i64), matrix(g, {1, 2}, {-1, -2}))),
                {2, 3}, {-2, 1, -1, 3, 4, 5});
  expect_values(run(scatter(x, 1, matrix(g, {2, 1}, {0, 2}, i64), g.constant(9.0))), {2, 3},
                {9, 1, 2, 3, 4, 9});
  expect_values(
      scatter(vector(g, {1, NAN}), 0, vector(g, {1}, i64), vector(g, {5}), ScatterMode::kMax),
      {1, NAN});
}

TEST(Indexing, IndexPutAndScatterNdWriteSlices) {
  Graph g;
  Tensor x = g.constant(Array(i32, {3, 2}));
  expect_values(run(index_put(x, 0, vector(g, {2, 0}, i64), matrix(g, {2, 2}, {1, 2, 3, 4}, i32))),
                {3, 2}, {3, 4, 0, 0, 1, 2});
  expect_values(run(index_put(x, 1, vector(g, {1}, i64), g.constant(7, i32))), {3, 2},
                {0, 7, 0, 7, 0, 7});
  expect_values(run(scatter_nd(x, matrix(g, {2, 2}, {0, 1, 2, 0}, i64), vector(g, {5, 6}, i32))),
                {3, 2}, {0, 5, 0, 0, 6, 0});
  expect_values(
      run(scatter_nd(x, matrix(g, {2, 1}, {1, 1}, i64), g.constant(2, i32), ScatterMode::kAdd)),
      {3, 2}, {0, 0, 4, 4, 0, 0});
  expect_values(run(scatter_nd(x, vector(g, {2}, i64), vector(g, {8, 9}, i32))), {3, 2},
                {0, 0, 0, 0, 8, 9});
  expect_error(
      [&] {
        index_put(x, 0, matrix(g, {1, 1}, {0}, i64), x);
      },
      "index_put: the index must have one axis, got [1, 1]");
}

TEST(Indexing, TheLastOfSeveralSlicesStays) {
  Graph g;
  Tensor x = matrix(g, {3, 2}, {1, NAN, 3, 4, 5, 6});
  Tensor index = vector(g, {1, 2, 1}, i64);
  expect_values(run(index_put(x, 0, index, matrix(g, {3, 2}, {7, 8, 9, NAN, 11, 12}))), {3, 2},
                {1, NAN, 11, 12, 9, NAN});
  expect_values(run(index_put(x, 1, vector(g, {0, 0}, i32), vector(g, {7, 8}))), {3, 2},
                {8, NAN, 8, 4, 8, 6});
  expect_values(run(index_put(x, 0, vector(g, {}, i64), g.constant(1.0))), {3, 2},
                {1, NAN, 3, 4, 5, 6});
  Tensor cube = g.constant(Array(i8, {2, 3, 2}));
  expect_values(run(index_put(cube, 1, vector(g, {2, 0}, i64), vector(g, {1, 2}, i8))), {2, 3, 2},
                {1, 2, 0, 0, 1, 2, 1, 2, 0, 0, 1, 2});
  expect_error([&] { run(index_put(x, 0, vector(g, {3}, i64), g.constant(1.0))); },
               "scatter: index 3 at position [0] is out of range: it must be 0 <= index < 3");
}

TEST(Indexing, SymbolicDims) {
  Graph g;
  Dim n = g.dim("n"), m = g.dim("m");
  Tensor x = g.input("x", {n, 2}), ids = g.input("ids", {m}, i64);
  Tensor rows = embedding(x, ids);
  Tensor sums = index_put(x, 0, ids, rows, ScatterMode::kAdd);
  expect_type(rows, "f32[m, 2]");
  expect_type(sums, "f32[n, 2]");
  auto data = [](int64_t height, const std::vector<int64_t>& index) {
    return test::Data{
        .inputs = {{"x", test::counting(f32, {height, 2})}, {"ids", test::integers(i64, index)}}};
  };
  expect_values(run(rows, data(3, {2, 0})), {2, 2}, {4, 5, 0, 1});
  expect_values(run(rows, data(0, {})), {0, 2}, {});
  expect_values(run(sums, data(2, {1, 1})), {2, 2}, {0, 1, 6, 9});
  expect_values(run(sums, data(2, {})), {2, 2}, {0, 1, 2, 3});
}

TEST(Indexing, Errors) {
  Graph g;
  Tensor x = counted(g, {2, 3});
  expect_error(
      [&] {
        gather(x, 0, matrix(g, {1, 1}, {0}));
      },
      "gather: indices must be integers, got f32");
  expect_error([&] { gather(x, 0, vector(g, {0}, i64)); },
               "gather: index [1] must have the rank of [2, 3]");
  expect_error(
      [&] {
        gather(x, 1, matrix(g, {3, 1}, {0, 0, 0}, i64));
      },
      "no larger outside of axis 1");
  expect_error([&] { gather(x, 2, matrix(g, {1, 1}, {0}, i64)); }, "gather: axis 2");
  expect_error(
      [&] {
        scatter(x, 1, matrix(g, {2, 1}, {0, 0}, i64), vector(g, {1, 2, 3}));
      },
      "scatter: ");
  expect_error([&] { index_select(x, 0, vector(g, {1}, boolean)); },
               "index_select: indices must be integers, got bool");
}

}  // namespace
}  // namespace luminal
