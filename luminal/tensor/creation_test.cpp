#include "luminal/tensor/creation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::expect_error;
using test::expect_named;
using test::expect_type;
using test::expect_values;
using test::matrix;
using test::run;
using test::vector;

TEST(Creation, ConstantsOfEveryDtype) {
  Graph g;
  for (const graph::DTypeInfo& row : graph::kDTypes) {
    expect_values(run(ones(g, {2, 1}, row.dtype)), {2, 1}, {1, 1});
    expect_values(run(zeros(g, {3}, row.dtype)), {3}, {0, 0, 0});
    EXPECT_EQ(full(g, {2}, 1, row.dtype).dtype(), row.dtype);
    expect_values(ones_like(zeros(g, {2}, row.dtype)), {1, 1});
  }
  expect_values(full(g, {2}, 0.1, f16), {0.0999755859375, 0.0999755859375});
  expect_values(full(g, {2}, -INFINITY), {-INFINITY, -INFINITY});
  expect_values(full(g, {}, 3), {3});
  expect_values(full_like(vector(g, {1, 2}, i8), -5), {-5, -5});
  expect_values(g.constant(2.5), {2.5});
}

TEST(Creation, FullRefusesIntegersThatDoNotFitAndNegativeExtents) {
  Graph g;
  expect_error([&] { full(g, {1}, 300, u8); }, "full: 300 does not fit u8");
  expect_error([&] { full_like(vector(g, {1}, u8), -1); }, "full_like: -1 does not fit u8");
  expect_error([&] { zeros(g, {2, -1}); }, "negative");
  expect_error([&] { eye(g, -1); }, "iota: axis 0 of shape [-1, -1] is negative");
}

TEST(Creation, FullOfSymbolicShapeAndValue) {
  Graph g;
  Dim n = g.dim("n");
  Tensor x = full(g, {n, 2}, n * 2, i32);
  expect_type(x, "i32[n, 2]");
  expect_values(run(x, {.dims = {{"n", 2}}}), {2, 2}, {4, 4, 4, 4});
  expect_values(run(x, {.dims = {{"n", 0}}}), {0, 2}, {});
}

TEST(Creation, Eye) {
  Graph g;
  expect_values(run(eye(g, 2)), {2, 2}, {1, 0, 0, 1});
  expect_values(run(eye(g, 2, 3, 1, i8)), {2, 3}, {0, 1, 0, 0, 0, 1});
  expect_values(run(eye(g, 3, 2, -1, boolean)), {3, 2}, {0, 0, 1, 0, 0, 1});
  Tensor x = eye(g, g.dim("n"));
  for (int64_t n : {0, 1, 3}) {
    std::vector<double> expected;
    for (int64_t i = 0; i < n * n; ++i) expected.push_back(i % (n + 1) == 0 ? 1 : 0);
    expect_values(run(x, {.dims = {{"n", n}}}), {n, n}, expected);
  }
}

TEST(Creation, IotaIsAnyExpressionOfThePosition) {
  Graph g;
  Tensor x = iota(
      g, {2, 3}, [](std::span<const Dim> i) { return i[0] * 10 + i[1]; }, i16);
  expect_type(x, "i16[2, 3]");
  expect_values(x, {0, 1, 2, 10, 11, 12});
}

TEST(Creation, ArangeCountsLikePython) {
  Graph g;
  expect_values(arange(g, 4), {0, 1, 2, 3});
  expect_values(arange(g, 0), {});
  expect_values(arange(g, -3), {});
  expect_values(arange(g, 2, 9, 3), {2, 5, 8});
  expect_values(arange(g, 9, 2, -3, i8), {9, 6, 3});
  expect_values(arange(g, 2, 9, -1), {});
  expect_values(arange(g, 3, f16), {0, 1, 2});
  expect_error([&] { arange(g, 0, 3, 0); }, "arange: the step must not be 0");
  Dim n = g.dim("n");
  Tensor x = arange(g, 1, n, 2);
  expect_values(run(x, {.dims = {{"n", 6}}}), {3}, {1, 3, 5});
  expect_values(run(x, {.dims = {{"n", 0}}}), {0}, {});
}

TEST(Creation, ArangeOfFractionsRoundsOnce) {
  Graph g;
  Tensor x = arange_fractions(g, 0, 1, 0.1);
  expect_type(x, "f32[10]");
  for (int k = 0; k < 10; ++k)
    EXPECT_EQ(test::numbers(x)[static_cast<size_t>(k)],
              static_cast<double>(static_cast<float>(k * 0.1)));
  expect_values(arange_fractions(g, 1, 0, -0.25, f64), {1, 0.75, 0.5, 0.25});
  expect_values(arange_fractions(g, 1, 0, 1), {});
  expect_error([&] { arange_fractions(g, 0, 1, 0); },
               "arange: cannot go from 0 to 1 in steps of 0");
  expect_error([&] { arange_fractions(g, 0, INFINITY, 1); }, "arange: cannot go");
}

TEST(Creation, LinspaceIncludesBothEndsExactly) {
  Graph g;
  expect_values(linspace(g, 0, 1, 5), {0, 0.25, 0.5, 0.75, 1});
  expect_values(linspace(g, 5, 5, 3), {5, 5, 5});
  expect_values(linspace(g, 3, 7, 1), {3});
  expect_values(linspace(g, -1e308, 1e308, 3, f64), {-1e308, 0, 1e308});
  expect_values(linspace(g, 3, 7, 0), {});
  expect_values(linspace(g, 1, -1, 3, f16), {1, 0, -1});
  for (int64_t count : {7, 10, 49}) {
    const std::vector<double> values = test::numbers(linspace(g, 0.1, 0.9, count, f64));
    EXPECT_EQ(values.front(), 0.1);
    EXPECT_EQ(values.back(), 0.9);
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  }
  expect_error([&] { linspace(g, 0, 1, -1); }, "linspace: cannot make -1 values");
}

TEST(Creation, TrilAndTriuZeroOneSide) {
  Graph g;
  Tensor x = matrix(g, {2, 3}, {1, 2, 3, 4, 5, 6});
  expect_values(tril(x), {1, 0, 0, 4, 5, 0});
  expect_values(tril(x, 1), {1, 2, 0, 4, 5, 6});
  expect_values(tril(x, -1), {0, 0, 0, 4, 0, 0});
  expect_values(triu(x), {1, 2, 3, 0, 5, 6});
  expect_values(triu(x, 5), {0, 0, 0, 0, 0, 0});
  expect_values(tril(matrix(g, {2, 2}, {1, NAN, 2, 3})), {1, 0, 2, 3});
  expect_values(triu(matrix(g, {2, 2}, {1, 1, 1, 1}, boolean), 1), {0, 1, 0, 0});
  expect_values(run(tril(g.constant(test::counting(i8, {2, 2, 2})))), {2, 2, 2},
                {0, 0, 2, 3, 4, 0, 6, 7});
  expect_named(triu(x, -1), "triu(offset=-1)", {x});
  expect_error([&] { tril(vector(g, {1})); }, "tril: needs at least two axes, got shape [1]");
}

TEST(Creation, OneHot) {
  Graph g;
  Tensor x = vector(g, {0, 2, 5, -1}, i8);
  Tensor y = one_hot(x, 3);
  expect_type(y, "i64[4, 3]");
  expect_values(y, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0});
  expect_named(y, "one_hot(classes=3)", {x});
  expect_type(one_hot(x, g.dim("c"), bf16), "bf16[4, c]");
  expect_values(one_hot(g.constant(1, i64), 2, boolean), {0, 1});
  expect_error([&] { one_hot(vector(g, {1.0}), 3); }, "one_hot: needs integer classes, got f32");
}

}  // namespace
}  // namespace luminal
