#include "luminal/tensor/normalization.h"

#include <gtest/gtest.h>

#include <cmath>

#include "luminal/tensor/arithmetic.h"
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

constexpr double kInf = INFINITY;

/// Rows of a matrix, each transformed by `function`.
template <typename Function>
std::vector<double> by_rows(std::vector<double> values, size_t width, Function function) {
  for (size_t begin = 0; begin < values.size(); begin += width)
    function(std::span(values).subspan(begin, width));
  return values;
}

void softmax_row(std::span<double> row) {
  double total = 0;
  for (double& value : row) total += value = std::exp(value);
  for (double& value : row) value /= total;
}

void center(std::span<double> row) {
  double total = 0;
  for (double value : row) total += value;
  for (double& value : row) value -= total / static_cast<double>(row.size());
}

void scale_to_unit(std::span<double> row, double epsilon) {
  double squares = 0;
  for (double value : row) squares += value * value;
  for (double& value : row) value /= std::sqrt(squares / static_cast<double>(row.size()) + epsilon);
}

const std::vector<double> kValues = test::scattered(15, 21, -3, 3);

TEST(Normalization, SoftmaxFollowsItsFormula) {
  Graph g;
  const std::vector<double> expected = by_rows(kValues, 5, softmax_row);
  expect_values(run(softmax(matrix(g, {3, 5}, kValues))), {3, 5}, expected, 1e-6);
  expect_values(run(softmax(matrix(g, {3, 5}, kValues, f64), 1)), {3, 5}, expected, 1e-15);
  std::vector<double> logs = expected;
  for (double& value : logs) value = std::log(value);
  expect_values(run(log_softmax(matrix(g, {3, 5}, kValues))), {3, 5}, logs, 1e-6);
  expect_values(run(softmax(matrix(g, {2, 2}, {0, 1, 0, 1}), 0)), {2, 2}, {0.5, 0.5, 0.5, 0.5});
}

TEST(Normalization, SoftmaxOfExtremeRows) {
  Graph g;
  Tensor x = matrix(g, {4, 2}, {1000, 1000, -kInf, 0, -kInf, -kInf, NAN, 1});
  expect_values(softmax(x), {0.5, 0.5, 0, 1, NAN, NAN, NAN, NAN});
  const double half = -std::log(2.0);
  expect_values(log_softmax(x), {half, half, -kInf, 0, NAN, NAN, NAN, NAN}, 1e-6);
  expect_values(log_softmax(vector(g, {0, -1000})), {0, -1000});
  expect_values(run(softmax(g.constant(Array(f32, {2, 0})))), {2, 0}, {});
  expect_values(softmax(vector(g, {-7})), {1});
}

// The difference from the maximum must be that of rounded products: a fused one is off by half a
// unit of a number as large as 10^19, and its power infinite.
TEST(Normalization, SoftmaxOfHugeScaledScores) {
  for (const DType dtype : {f32, bf16, f64}) {
    Graph g;
    std::vector<double> scores(40, 7.3e18);
    scores[17] = 9.9e18;
    std::vector<double> expected(40, 0.0);
    expected[17] = 1.0;
    expect_values(softmax(vector(g, scores, dtype) * 0.3), expected);
    scores[3] = 9.9e18;
    expected[3] = expected[17] = 0.5;
    expect_values(softmax(vector(g, scores, dtype) * 0.3), expected);
  }
}

TEST(Normalization, NarrowFloatsAreComputedWide) {
  Graph g;
  // In bf16 the sum of 1000 equal terms would stop at 256 of them.
  Tensor x = g.constant(Array(bf16, {1000}));
  expect_type(softmax(x), "bf16[1000]");
  EXPECT_EQ(test::numbers(softmax(x))[0], Scalar::of(bf16, 0.001).as_double());
  expect_type(layer_norm(x), "bf16[1000]");
  expect_type(softmax(vector(g, {1, 2}, i32)), "f32[2]");
}

TEST(Normalization, MeanAndStdNorm) {
  Graph g;
  Tensor x = matrix(g, {3, 5}, kValues, f64);
  expect_values(mean_norm(x), by_rows(kValues, 5, center), 1e-14);
  expect_values(std_norm(x, -1, 0.25),
                by_rows(kValues, 5, [](auto row) { scale_to_unit(row, 0.25); }), 1e-14);
  expect_values(mean_norm(matrix(g, {2, 2}, {1, 2, 3, 6}), {0, 1}), {-2, -1, 0, 3});
}

TEST(Normalization, LayerNormWithAndWithoutWeights) {
  Graph g;
  Tensor x = matrix(g, {3, 5}, kValues, f64);
  auto normal = [](std::span<double> row) {
    center(row);
    scale_to_unit(row, 1e-5);
  };
  std::vector<double> expected = by_rows(kValues, 5, normal);
  expect_values(layer_norm(x), expected, 1e-14);
  Tensor weight = vector(g, {1, 2, 3, 4, 5}, f64), bias = vector(g, {5, 4, 3, 2, 1}, f64);
  for (size_t i = 0; i < 15; ++i)
    expected[i] = expected[i] * static_cast<double>(i % 5 + 1) + 5 - static_cast<double>(i % 5);
  Tensor y = layer_norm(x, weight, bias);
  expect_values(y, expected, 1e-13);
  expect_named(y, "layer_norm(axes=[1], bias=true, epsilon=1e-05, weight=true)", {x, weight, bias});
  expect_named(layer_norm(x, weight),
               "layer_norm(axes=[1], bias=false, epsilon=1e-05, weight=true)", {x, weight});
  expect_type(layer_norm(matrix(g, {1, 5}, {1, 2, 3, 4, 5}, f16), weight, bias), "f16[1, 5]");
  expect_error(
      [&] {
        layer_norm(x, vector(g, {1, 2}));
      },
      "layer_norm: weight [2] does not match the last axes of [3, 5]");
  expect_error(
      [&] {
        layer_norm(vector(g, {1, 2}), matrix(g, {1, 2}, {1, 2}));
      },
      "weight [1, 2] does not match");
}

TEST(Normalization, LayerNormOverSeveralAxes) {
  Graph g;
  Tensor x = matrix(g, {1, 2, 2}, {1, 2, 3, 4}, f64);
  const double scale = 1 / std::sqrt(1.25 + 1e-5);
  expect_values(layer_norm(x, {1, 2}), {-1.5 * scale, -0.5 * scale, 0.5 * scale, 1.5 * scale},
                1e-14);
  Tensor weight = matrix(g, {2, 2}, {1, 0, 2, -1}, f64);
  expect_values(layer_norm(x, weight), {-1.5 * scale, 0, scale, -1.5 * scale}, 1e-14);
}

TEST(Normalization, RmsNorm) {
  Graph g;
  Tensor x = matrix(g, {3, 5}, kValues);
  expect_values(rms_norm(x), by_rows(kValues, 5, [](auto row) { scale_to_unit(row, 1e-6); }), 1e-6);
  Tensor weight = vector(g, {2, 2, 2, 2, 2}, bf16);
  Tensor y = rms_norm(x, weight, 1e-5);
  expect_type(y, "f32[3, 5]");
  expect_named(y, "rms_norm(epsilon=1e-05)", {x, weight});
  expect_values(rms_norm(vector(g, {0, 0})), {0, 0});
  expect_error([&] { rms_norm(x, vector(g, {1})); },
               "rms_norm: weight [1] does not match the last axis of [3, 5]");
  expect_error([&] { rms_norm(g.constant(1.0)); }, "rms_norm: needs at least one axis");
}

TEST(Normalization, GroupNormTakesChannelsInGroups) {
  Graph g;
  const std::vector<double> values = test::scattered(24, 31);
  Tensor x = matrix(g, {2, 4, 3}, values, f64);
  std::vector<double> expected = by_rows(values, 6, [](auto row) {
    center(row);
    scale_to_unit(row, 1e-5);
  });
  expect_values(run(group_norm(x, 2)), {2, 4, 3}, expected, 1e-14);
  Tensor weight = vector(g, {1, 2, 3, 4}, f64), bias = vector(g, {0, 1, 0, 1}, f64);
  for (size_t i = 0; i < 24; ++i) {
    const double channel = static_cast<double>(i / 3 % 4);
    expected[i] = expected[i] * (channel + 1) + std::fmod(channel, 2);
  }
  Tensor y = group_norm(x, 2, weight, bias);
  expect_values(y, expected, 1e-13);
  expect_named(y, "group_norm(bias=true, epsilon=1e-05, groups=2, weight=true)", {x, weight, bias});
  expect_error([&] { group_norm(x, 3); }, "group_norm: 4 channels do not divide into 3 groups");
  expect_error([&] { group_norm(x, 0); }, "do not divide into 0 groups");
  expect_error([&] { group_norm(x, 2, vector(g, {1})); },
               "group_norm: needs one value per channel, [4], got shape [1]");
  expect_error([&] { group_norm(vector(g, {1}), 1); }, "needs a batch axis and a channel axis");
}

TEST(Normalization, BatchNormUsesGivenStatistics) {
  Graph g;
  Tensor x = matrix(g, {1, 2, 2}, {1, 2, 3, 4});
  Tensor mean = vector(g, {1, 3}), variance = vector(g, {4, 0.25});
  expect_values(batch_norm(x, mean, variance, {}, {}, 0), {0, 0.5, 0, 2});
  Tensor weight = vector(g, {2, 1}), bias = vector(g, {0, 10});
  Tensor y = batch_norm(x, mean, variance, weight, bias, 0);
  expect_values(run(y), {1, 2, 2}, {0, 1, 10, 12});
  expect_named(y, "batch_norm(bias=true, epsilon=0, weight=true)",
               {x, mean, variance, weight, bias});
  expect_error([&] { batch_norm(x, vector(g, {1}), variance); },
               "needs one value per channel, [2]");
}

TEST(Normalization, NormalizeByAnyNorm) {
  Graph g;
  Tensor x = matrix(g, {2, 2}, {3, 4, 0, 0});
  expect_values(normalize(x), {0.6f, 0.8f, 0, 0}, 1e-7);
  expect_values(normalize(x, 1), {3.0 / 7, 4.0 / 7, 0, 0}, 1e-7);
  expect_values(normalize(x, kInf, 0), {1, 1, 0, 0});
  expect_named(normalize(x, 1, -1), "normalize(axes=[1], epsilon=1e-12, p=1)", {x});
}

TEST(Normalization, SymbolicAxes) {
  Graph g;
  Tensor x = g.input("x", {2, g.dim("n")});
  Tensor y = layer_norm(x), z = softmax(x);
  expect_type(y, "f32[2, n]");
  for (int64_t n : {0, 1, 4}) {
    const test::Data data{.inputs = {{"x", Array(f32, {2, n})}}};
    const auto count = static_cast<size_t>(2 * n);
    expect_values(run(y, data), {2, n}, std::vector<double>(count, 0.0));
    expect_values(run(z, data), {2, n},
                  std::vector<double>(count, n == 0 ? 0 : 1 / static_cast<double>(n)));
  }
}

TEST(Normalization, SoftmaxIsRecorded) {
  Graph g;
  Tensor x = matrix(g, {3, 5}, kValues, f16);
  expect_named(softmax(x), "softmax(axis=1)", {x});
  expect_named(log_softmax(x, 0), "log_softmax(axis=0)", {x});
  expect_error([&] { softmax(x, 2); }, "softmax: axis 2");
  expect_error([&] { softmax(g.constant(1.0)); }, "softmax: axis -1");
}

}  // namespace
}  // namespace luminal
