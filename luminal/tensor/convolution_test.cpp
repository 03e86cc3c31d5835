#include "luminal/tensor/convolution.h"

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

/// A two-dimensional convolution by its definition.
struct Convolution {
  int64_t batch = 1, channels = 1, height = 1, width = 1;
  int64_t out = 1, kernel_height = 1, kernel_width = 1;
  int64_t groups = 1, stride = 1, padding = 0, dilation = 1;

  int64_t positions(int64_t extent, int64_t kernel) const {
    return (extent + 2 * padding - (kernel - 1) * dilation - 1) / stride + 1;
  }
  Extents input() const { return {batch, channels, height, width}; }
  Extents weight() const { return {out, channels / groups, kernel_height, kernel_width}; }
  Extents result() const {
    return {batch, out, positions(height, kernel_height), positions(width, kernel_width)};
  }

  std::vector<double> apply(const std::vector<double>& x, const std::vector<double>& w) const {
    std::vector<double> y;
    const int64_t per_group = channels / groups;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t o = 0; o < out; ++o)
        for (int64_t i = 0; i < result()[2]; ++i)
          for (int64_t j = 0; j < result()[3]; ++j) {
            double total = 0;
            for (int64_t c = 0; c < per_group; ++c)
              for (int64_t p = 0; p < kernel_height; ++p)
                for (int64_t q = 0; q < kernel_width; ++q) {
                  const int64_t row = i * stride - padding + p * dilation;
                  const int64_t column = j * stride - padding + q * dilation;
                  if (row < 0 || row >= height || column < 0 || column >= width) continue;
                  const int64_t channel = o / (out / groups) * per_group + c;
                  const int64_t at = ((b * channels + channel) * height + row) * width + column;
                  const int64_t from = ((o * per_group + c) * kernel_height + p) * kernel_width + q;
                  total += x[static_cast<size_t>(at)] * w[static_cast<size_t>(from)];
                }
            y.push_back(total);
          }
    return y;
  }

  ConvOptions options() const {
    return {.stride = {stride},
            .padding = {{padding, padding}},
            .dilation = {dilation},
            .groups = groups};
  }
};

TEST(Convolution, MatchesTheDefinition) {
  const Convolution cases[] = {
      {.height = 3, .width = 3, .kernel_height = 2, .kernel_width = 2},
      {.batch = 2,
       .channels = 3,
       .height = 5,
       .width = 4,
       .out = 2,
       .kernel_height = 3,
       .kernel_width = 2},
      {.channels = 2,
       .height = 7,
       .width = 6,
       .out = 3,
       .kernel_height = 3,
       .kernel_width = 3,
       .stride = 2,
       .padding = 1},
      {.channels = 4,
       .height = 5,
       .width = 5,
       .out = 6,
       .kernel_height = 2,
       .kernel_width = 2,
       .groups = 2},
      {.channels = 3,
       .height = 6,
       .width = 6,
       .out = 3,
       .kernel_height = 3,
       .kernel_width = 3,
       .groups = 3,
       .padding = 2,
       .dilation = 2},
      {.batch = 2, .channels = 2, .height = 1, .width = 1, .out = 2},
  };
  Graph g;
  for (const Convolution& c : cases) {
    const Array x = test::array(
        f64, c.input(), test::scattered(static_cast<size_t>(graph::element_count(c.input())), 1));
    const Array w = test::array(
        f64, c.weight(), test::scattered(static_cast<size_t>(graph::element_count(c.weight())), 2));
    Tensor y = conv2d(g.constant(x), g.constant(w), {}, c.options());
    expect_values(run(y), c.result(), c.apply(x.to_vector<double>(), w.to_vector<double>()), 1e-13);
  }
}

TEST(Convolution, OneAndThreeDimensions) {
  Graph g;
  Tensor x = matrix(g, {1, 1, 4}, {1, 2, 3, 4}), w = matrix(g, {1, 1, 2}, {10, 1});
  expect_values(run(conv1d(x, w)), {1, 1, 3}, {12, 23, 34});
  expect_values(run(conv1d(x, w, vector(g, {0.5}), {.padding = {{1, 0}}})), {1, 1, 4},
                {1.5, 12.5, 23.5, 34.5});
  Tensor cube = g.constant(test::counting(f32, {1, 1, 2, 2, 2}));
  expect_values(run(conv3d(cube, g.constant(test::counting(f32, {1, 1, 2, 2, 2})))),
                {1, 1, 1, 1, 1}, {140});
  expect_values(run(conv(cube, g.constant(test::array(f32, {1, 1, 1, 1, 1}, {2})))),
                {1, 1, 2, 2, 2}, {0, 2, 4, 6, 8, 10, 12, 14});
}

TEST(Convolution, NarrowFloatsSumWideAndIntegersStay) {
  Graph g;
  Tensor ones = g.constant(test::array(bf16, {1, 1, 600}, std::vector<double>(600, 1)));
  Tensor y = conv1d(ones, ones);
  expect_type(y, "bf16[1, 1, 1]");
  expect_values(y, {600});
  Tensor bytes = matrix(g, {1, 1, 2}, {100, 100}, i8);
  expect_type(conv1d(bytes, bytes), "i8[1, 1, 1]");
  expect_type(conv1d(bytes, ones, {}, {.padding = {{600, 600}}}), "bf16[1, 1, 603]");
}

TEST(Convolution, SymbolicBatchAndExtent) {
  Graph g;
  Dim b = g.dim("b"), n = g.dim("n", 1);
  Tensor x = g.input("x", {b, 1, n});
  Tensor y = conv1d(x, matrix(g, {1, 1, 3}, {1, 1, 1}), {}, {.padding = {{1, 1}}});
  expect_type(y, "f32[b, 1, n]");
  expect_values(run(y, {.inputs = {{"x", test::counting(f32, {1, 1, 4})}}}), {1, 1, 4},
                {1, 3, 6, 5});
  expect_values(run(y, {.inputs = {{"x", test::counting(f32, {2, 1, 1})}}}), {2, 1, 1}, {0, 1});
  expect_values(run(y, {.inputs = {{"x", Array(f32, {0, 1, 3})}}}), {0, 1, 3}, {});
}

TEST(Convolution, IsRecordedWithItsWindows) {
  Graph g;
  Tensor x = matrix(g, {1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), w = matrix(g, {2, 1, 2}, {1, 2, 3, 4});
  Tensor bias = vector(g, {1, 2});
  expect_named(
      conv1d(x, w, bias, {.stride = {2}, .padding = {{1, 0}}, .groups = 2}),
      "conv(bias=true, dilation=[1], groups=2, padding_after0=0, padding_before0=1, stride=[2], "
      "window0=2)",
      {x, w, bias});
}

TEST(Convolution, Errors) {
  Graph g;
  Tensor x = g.input("x", {1, 4, 5, 5}), w = g.input("w", {6, 4, 3, 3});
  expect_error([&] { conv1d(x, w); },
               "conv1d: needs x [batch, channels, 1 spatial axes], got [1, 4, 5, 5]");
  expect_error(
      [&] {
        conv2d(x, g.input("w1", {6, 4, 3}));
      },
      "conv: needs x [batch, channels, spatial...]");
  expect_error(
      [&] {
        conv2d(x, g.input("w2", {6, 3, 3, 3}));
      },
      "wants 3 input channels in 1 groups");
  expect_error([&] { conv2d(x, w, {}, {.groups = 4}); },
               "4 input and 6 output channels do not divide into 4 groups");
  expect_error([&] { conv2d(x, w, g.input("b", {5})); }, "conv: bias must be [6], got [5]");
  expect_error(
      [&] {
        conv2d(x, g.input("w3", {6, 4, 6, 6}));
      },
      "conv: the window reaches over 6 elements");
  expect_error([&] { conv2d(x, w, {}, {.stride = {0}}); },
               "conv: the stride must be at least 1, got 0");
  expect_error([&] { conv2d(x, w, {}, {.dilation = {0}}); },
               "conv: the dilation must be at least 1, got 0");
  expect_error(
      [&] {
        conv2d(x, w, {}, {.stride = {1, 1, 1}});
      },
      "conv: stride has 3 entries for 2 spatial axes");
  expect_error(
      [&] {
        conv2d(x, w, {}, {.padding = {{-1, 0}}});
      },
      "conv: the padding must not be negative");
  expect_error(
      [&] {
        conv1d(g.input("p", {1, 1, 2}, boolean), g.input("q", {1, 1, 1}, boolean));
      },
      "is not defined for bool");
}

TEST(Pooling, TakesTheLargestAndTheMean) {
  Graph g;
  Tensor x = matrix(g, {2, 4}, {1, 5, 2, 4, -3, -1, -2, -8});
  expect_values(run(max_pool(x, {2})), {2, 2}, {5, 4, -1, -2});
  expect_values(run(avg_pool(x, {2})), {2, 2}, {3, 3, -2, -5});
  expect_values(run(max_pool(x, {2, 2})), {1, 2}, {5, 4});
  expect_values(run(max_pool(x, {3}, {.stride = {1}})), {2, 2}, {5, 5, -1, -1});
  expect_values(run(avg_pool(x, {2}, {.stride = {1}, .dilation = {2}})), {2, 2},
                {1.5, 4.5, -2.5, -4.5});
}

TEST(Pooling, PaddingNeverWinsAndCountsOnlyIfAsked) {
  Graph g;
  Tensor x = vector(g, {-4, -2});
  expect_values(max_pool(x, {2}, {.stride = {1}, .padding = {{1, 1}}}), {-4, -2, -2});
  expect_values(avg_pool(x, {2}, {.stride = {1}, .padding = {{1, 1}}}), {-2, -3, -1});
  expect_values(avg_pool(x, {2}, {.stride = {1}, .padding = {{1, 1}}, .count_padding = false}),
                {-4, -3, -2});
  expect_values(max_pool(vector(g, {-128, 3}, i8), {2}, {.stride = {1}, .padding = {{1, 0}}}),
                {-128, 3});
  expect_values(max_pool(vector(g, {NAN, 1, 2}), {2}, {.stride = {1}}), {NAN, 2});
}

TEST(Pooling, DtypesNamesAndErrors) {
  Graph g;
  Tensor x = vector(g, {1, 2, 3, 4}, u8);
  expect_type(max_pool(x, {2}), "u8[2]");
  expect_type(avg_pool(x, {2}), "f32[2]");
  expect_named(max_pool(x, {2}),
               "max_pool(dilation=[1], padding_after0=0, padding_before0=0, stride=[2], window0=2)",
               {x});
  expect_error([&] { max_pool(x, {0}); }, "max_pool: window extents must be at least 1, got 0");
  expect_error(
      [&] {
        avg_pool(x, {2, 2});
      },
      "avg_pool: a window of 2 axes does not fit a tensor of shape [4]");
  expect_error([&] { max_pool(x, {5}); }, "max_pool: the window reaches over 5 elements");
}

TEST(Pooling, SymbolicExtents) {
  Graph g;
  Tensor y = max_pool(g.input("x", {g.dim("n")}), {2});
  for (int64_t n : {2, 3, 6}) {
    std::vector<double> expected;
    for (int64_t i = 1; i < n; i += 2) expected.push_back(static_cast<double>(i));
    expect_values(run(y, {.inputs = {{"x", test::counting(f32, {n})}}}), {n / 2}, expected);
  }
  expect_values(run(y, {.inputs = {{"x", Array(f32, {0})}}}), {0}, {});
}

}  // namespace
}  // namespace luminal
