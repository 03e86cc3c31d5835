#include "luminal/tensor/sorting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "luminal/tensor/movement.h"
#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::expect_error;
using test::expect_integers;
using test::expect_named;
using test::expect_type;
using test::expect_values;
using test::matrix;
using test::run;
using test::vector;

constexpr double kInf = INFINITY;

TEST(Sorting, IsStableBothWays) {
  Graph g;
  Tensor x = vector(g, {3, 1, 2, 1, 3});
  expect_type(argsort(x), "i64[5]");
  expect_integers(argsort(x), {1, 3, 2, 0, 4});
  expect_integers(argsort(x, 0, true), {0, 4, 2, 1, 3});
  Sorted sorted = sort(x, 0, true);
  expect_values(sorted.values, {3, 3, 2, 1, 1});
  expect_integers(sorted.indices, {0, 4, 2, 1, 3});
}

TEST(Sorting, CountsNanAsLargest) {
  Graph g;
  Tensor x = vector(g, {NAN, kInf, -kInf, 0, NAN});
  expect_integers(argsort(x), {2, 3, 1, 0, 4});
  expect_integers(argsort(x, -1, true), {0, 4, 1, 3, 2});
  expect_values(sort(x).values, {-kInf, 0, kInf, NAN, NAN});
}

TEST(Sorting, RunsAlongAnyAxis) {
  Graph g;
  Tensor x = matrix(g, {2, 3}, {3, 1, 2, 0, 5, 4});
  expect_values(run(sort(x, 0).values), {2, 3}, {0, 1, 2, 3, 5, 4});
  expect_values(run(sort(x, 1).values), {2, 3}, {1, 2, 3, 0, 4, 5});
  Tensor cube = g.constant(test::array(f32, {2, 2, 2}, {7, 6, 5, 4, 3, 2, 1, 0}));
  expect_values(run(sort(cube, 1).values), {2, 2, 2}, {5, 4, 7, 6, 1, 0, 3, 2});
  expect_values(run(sort(transpose(x), 0).values), {3, 2}, {1, 0, 2, 4, 3, 5});
}

TEST(Sorting, EveryKindOfDtype) {
  Graph g;
  expect_values(sort(vector(g, {127, -128, 0}, i8)).values, {-128, 0, 127});
  expect_values(sort(vector(g, {128, 0, 255}, u8)).values, {0, 128, 255});
  expect_values(sort(vector(g, {1, 0, 1}, boolean)).values, {0, 1, 1});
  expect_values(sort(vector(g, {1.5, -2, 0.5}, bf16), 0, true).values, {1.5, 0.5, -2});
}

TEST(Sorting, LongRowsMatchTheStandardLibrary) {
  Graph g;
  std::vector<double> values = test::scattered(500, 8);
  Tensor x = vector(g, values, f64);
  std::sort(values.begin(), values.end());
  expect_values(sort(x).values, values);
  expect_values(topk(x, 3).values, {values[499], values[498], values[497]});
}

TEST(Sorting, TopkTakesTheLargestOrSmallestInOrder) {
  Graph g;
  Tensor x = matrix(g, {2, 4}, {1, 9, 9, 3, 4, 2, 8, NAN});
  Sorted best = topk(x, 2);
  expect_values(run(best.values), {2, 2}, {9, 9, NAN, 8});
  expect_integers(best.indices, {1, 2, 3, 2});
  expect_values(run(topk(x, 1, -1, false).values), {2, 1}, {1, 2});
  expect_values(run(topk(x, 1, 0).values), {1, 4}, {4, 9, 9, NAN});
  expect_values(run(topk(x, 0).values), {2, 0}, {});
  expect_named(best.values, "topk(axis=1, k=2, largest=true)", {x});
  expect_named(sort(x).values, "sort(axis=1, descending=false)", {x});
}

TEST(Sorting, SymbolicExtents) {
  Graph g;
  Dim n = g.dim("n", 2);
  Tensor x = g.input("x", {n});
  Sorted best = topk(x, 2);
  expect_type(best.values, "f32[2]");
  expect_values(run(best.values, {.inputs = {{"x", test::array(f32, {3}, {4, 1, 5})}}}), {2},
                {5, 4});
  Tensor y = g.input("y", {g.dim("m")});
  expect_values(run(sort(y).values, {.inputs = {{"y", Array(f32, {0})}, {"x", Array(f32, {2})}}}),
                {0}, {});
}

TEST(Sorting, Errors) {
  Graph g;
  Tensor x = vector(g, {1, 2});
  expect_error([&] { topk(x, 3); }, "topk: cannot take 3 of 2 elements along axis -1");
  expect_error([&] { topk(x, -1); }, "topk: cannot take -1 of 2 elements");
  expect_error([&] { sort(x, 1); }, "sort: axis 1");
  expect_error([&] { argsort(g.constant(1.0)); }, "argsort: axis -1");
}

}  // namespace
}  // namespace luminal
