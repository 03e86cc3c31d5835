#include "luminal/tensor/scan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

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

TEST(Scan, RunsAlongTheAxis) {
  Graph g;
  Tensor x = matrix(g, {2, 3}, {1, 2, 3, 4, 5, 6});
  expect_values(run(cumsum(x, 1)), {2, 3}, {1, 3, 6, 4, 9, 15});
  expect_values(run(cumsum(x, 0)), {2, 3}, {1, 2, 3, 5, 7, 9});
  expect_values(run(cumprod(x, -1)), {2, 3}, {1, 2, 6, 4, 20, 120});
  expect_values(cummax(vector(g, {1, 3, 2, 5, 4}), 0), {1, 3, 3, 5, 5});
  expect_values(cummin(vector(g, {4, 5, 2, 3, 1}), 0), {4, 4, 2, 2, 1});
}

TEST(Scan, OfEveryLengthMatchesALoop) {
  Graph g;
  for (size_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 48, 511, 512, 700, 4097}) {
    const std::vector<double> values = test::scattered(n, n + 1);
    std::vector<double> sums(n);
    std::partial_sum(values.begin(), values.end(), sums.begin());
    expect_values(cumsum(vector(g, values, f64), 0), sums, 1e-12);
  }
}

TEST(Scan, IntegersAndBoolInI64NarrowFloatsInF32) {
  Graph g;
  expect_type(cumsum(vector(g, {1, 1}, boolean), 0), "i64[2]");
  expect_integers(cumsum(vector(g, {100, 100, 100}, i8), 0), {100, 200, 300});
  Tensor ones = expand(g.constant(1.0, bf16), {300});
  expect_type(cumsum(ones, 0), "bf16[300]");
  expect_values({test::numbers(cumsum(ones, 0)).back()}, {300});
  expect_type(cummax(vector(g, {1}, u8), 0), "u8[1]");
}

TEST(Scan, ExtremesAreNotConfusedWithTheIdentity) {
  Graph g;
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  Tensor x = g.constant(test::integers(i64, {lowest, 3, lowest}));
  expect_integers(cummax(x, 0), {lowest, 3, 3});
  expect_integers(cummin(x, 0), {lowest, lowest, lowest});
  expect_values(cummax(vector(g, {-kInf, NAN, 5}), 0), {-kInf, NAN, NAN});
  expect_values(cummin(vector(g, {kInf, 2, NAN, 1}), 0), {kInf, 2, NAN, NAN});
  expect_values(cumsum(vector(g, {1, kInf, -kInf, 1}), 0), {1, kInf, NAN, NAN});
  expect_values(cumsum(vector(g, {1, NAN, 1}), 0), {1, NAN, NAN});
  expect_values(cummax(vector(g, {0, 1, 0}, boolean), 0), {0, 1, 1});
}

TEST(Scan, OfPaddedViews) {
  Graph g;
  Tensor x = pad(vector(g, {1, 2}), 0, {1, 1}, PadMode::kConstant, 7);
  expect_values(cumsum(x, 0), {7, 8, 10, 17});
  expect_values(cumprod(x, 0), {7, 7, 14, 98});
}

TEST(Scan, OfSymbolicExtent) {
  Graph g;
  Dim n = g.dim("n");
  Tensor y = cumsum(g.input("x", {n}, i32), 0);
  expect_type(y, "i64[n]");
  for (int64_t extent : {0, 1, 2, 3, 8, 17, 20}) {
    std::vector<double> expected(static_cast<size_t>(extent));
    std::iota(expected.begin(), expected.end(), 0.0);
    std::partial_sum(expected.begin(), expected.end(), expected.begin());
    expect_values(run(y, {.inputs = {{"x", test::counting(i32, {extent})}}}), {extent}, expected);
  }
}

TEST(Scan, OfALongAxisIsLinear) {
  // Prefixes of 200,000 elements one by one would be 20 billion.
  Graph g;
  const int64_t n = 200'000;
  Tensor x = g.input("x", {2, n, 1}, i32);
  const auto values =
      test::numbers(cumsum(x, 1), {.inputs = {{"x", test::counting(i32, {2, n, 1})}}});
  const int64_t last = n * (n - 1) / 2;
  EXPECT_EQ(values[static_cast<size_t>(n - 1)], static_cast<double>(last));
  EXPECT_EQ(values[static_cast<size_t>(n)], static_cast<double>(n));
}

TEST(Scan, OfInnerAxes) {
  Graph g;
  Tensor x = g.constant(test::counting(i64, {2, 3, 2}));
  expect_integers(cumsum(x, 1), {0, 1, 2, 4, 6, 9, 6, 7, 14, 16, 24, 27});
  expect_integers(cumsum(x, 0), {0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16});
  expect_integers(cummin(x, 1), {0, 1, 0, 1, 0, 1, 6, 7, 6, 7, 6, 7});
}

TEST(Scan, IsRecorded) {
  Graph g;
  Tensor x = matrix(g, {1, 3}, {1, 2, 3});
  expect_named(cumsum(x, -1), "cumsum(axis=1)", {x});
  expect_named(cumprod(x, 1), "cumprod(axis=1)", {x});
  expect_named(cummax(x, 1), "cummax(axis=1)", {x});
  expect_named(cummin(x, 1), "cummin(axis=1)", {x});
}

TEST(Scan, BadAxesAreNamed) {
  Graph g;
  expect_error([&] { cumsum(g.constant(1.0), 0); }, "cumsum: axis 0");
  expect_error([&] { cummax(vector(g, {1}), 1); }, "cummax: axis 1");
}

}  // namespace
}  // namespace luminal
