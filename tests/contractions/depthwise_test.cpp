// Convolutions of single filters over images that are read where they lie.
#include <limits>

#include "checks.h"

namespace luminal::codegen {
namespace {

struct Sizes {
  int64_t batch, channels, height, width, rows, columns, stride, dilation;
  int64_t above, below, left, right;
};

/// Rows of every length relative to vectors, images as small as a window, windows of one row or
/// column, padding that differs on every side or is larger than the window.
constexpr Sizes kSizes[] = {
    {1, 3, 9, 9, 3, 3, 1, 1, 1, 1, 1, 1},   {2, 5, 14, 14, 3, 3, 1, 1, 1, 1, 1, 1},
    {1, 2, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1}, {1, 2, 7, 33, 5, 5, 1, 1, 2, 2, 2, 2},
    {1, 2, 13, 16, 3, 3, 2, 1, 1, 0, 0, 2}, {1, 2, 11, 20, 3, 3, 1, 2, 2, 2, 2, 2},
    {1, 1, 4, 5, 3, 3, 1, 1, 0, 0, 0, 0},   {1, 4, 1, 40, 1, 3, 1, 1, 0, 0, 1, 1},
    {1, 3, 6, 1, 3, 1, 1, 1, 1, 1, 0, 0},   {3, 2, 5, 17, 2, 4, 1, 1, 0, 3, 4, 0},
    {1, 2, 8, 128, 3, 3, 1, 1, 1, 1, 1, 1}, {1, 2, 6, 200, 3, 3, 1, 1, 1, 1, 1, 1},
};

std::string to_string(const Sizes& s) {
  return fmt::format("{} x {} of {}x{} window {}x{} stride {} dilation {} padding {} {} {} {}",
                     s.batch, s.channels, s.height, s.width, s.rows, s.columns, s.stride,
                     s.dilation, s.above, s.below, s.left, s.right);
}

Tensor convolution(Graph& g, const Sizes& s, DType dtype = DType::kF32) {
  const Tensor x = g.input("x", {s.batch, s.channels, s.height, s.width}, dtype);
  const Tensor w = g.input("w", {s.channels, 1, s.rows, s.columns}, dtype);
  return conv2d(x, w, g.input("b", {s.channels}, dtype),
                {.stride = {s.stride, 1},
                 .padding = {Padding{s.above, s.below}, Padding{s.left, s.right}},
                 .dilation = {s.dilation},
                 .groups = s.channels});
}

/// Whether rows of pixels are few enough vectors of this machine to be written out.
bool fits(int64_t width, DType dtype = DType::kF32) {
  const int bits = dtype == DType::kF64 || dtype == DType::kI64 ? 64 : 32;  // sums have
  return width <= 8 * host_target().lanes(bits);
}

/// Checks a sample on all targets; gives how many kernels read images in place on this machine's
/// own.
int check_in_place(const kernel::test::Sample& sample,
                   const kernel::test::Closeness& closeness = {1e-4, 1e-4}) {
  return check_family(sample, {.depthwise = true, .counted = kDepthwiseFamily}, closeness);
}

TEST(DepthwiseKernel, ImagesOfEverySizeAndPadding) {
  for (const Sizes& sizes : kSizes) {
    SCOPED_TRACE(to_string(sizes));
    Graph g;
    EXPECT_EQ(check_in_place(sample_of({relu(convolution(g, sizes))})), fits(sizes.width) ? 1 : 0);
    if (HasFailure()) return;
  }
}

TEST(DepthwiseKernel, EveryDtype) {
  for (const DType dtype :
       {DType::kF64, DType::kF16, DType::kBF16, DType::kI8, DType::kI32, DType::kI64, DType::kU8}) {
    SCOPED_TRACE(fmt::format("{}", dtype));
    Graph g;
    const bool narrow = dtype == DType::kF16 || dtype == DType::kBF16;
    const Sizes sizes{2, 3, 9, 19, 3, 3, 1, 1, 1, 1, 1, 1};
    EXPECT_EQ(
        check_in_place(sample_of({convolution(g, sizes, dtype)}), {narrow ? 5e-2 : 1e-6, 1e-2}),
        fits(sizes.width, dtype) ? 1 : 0);
    if (HasFailure()) return;
  }
}

// Every second step of a window begins within a byte.
TEST(DepthwiseKernel, PixelsTwoToAByteAreLaidOutFirst) {
  for (const DType dtype : {DType::kU4, DType::kI4}) {
    Graph g;
    const Tensor x = cast(g.input("x", {1, 4, 9, 34}, dtype), DType::kF32);
    const Tensor y = conv2d(x, g.input("w", {4, 1, 3, 3}), {}, {.groups = 4});
    EXPECT_EQ(check_in_place(sample_of({y})), 0) << fmt::format("{}", dtype);
  }
}

TEST(DepthwiseKernel, PixelsMayBeAFewElementsApart) {
  const bool shuffles = host_target().has(runtime::CpuFeature::kAvx512bw) &&
                        host_target().has(runtime::CpuFeature::kAvx512vl);
  for (const int64_t stride : {2, 3, 4})
    for (const int64_t width : {5, 77})
      for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16, DType::kI8}) {
        SCOPED_TRACE(fmt::format("{} of {} by {}", dtype, width, stride));
        Graph g;
        const Tensor x = g.input("x", {1, 3, 10, width}, dtype);
        const Tensor w = g.input("w", {3, 1, 3, 3}, dtype);
        const Tensor y =
            conv2d(x, w, {},
                   {.stride = {2, stride}, .padding = {Padding{1, 0}, Padding{1, 2}}, .groups = 3});
        EXPECT_EQ(check_in_place(sample_of({y}), {dtype == DType::kBF16 ? 5e-2 : 1e-4, 1e-2}),
                  shuffles ? 1 : 0);
        if (HasFailure()) return;
      }
}

TEST(DepthwiseKernel, WhatIsDoneBeforeAndAfterIsFused) {
  Graph g;
  const Tensor x = g.input("x", {2, 3, 10, 14});
  const Tensor w = g.input("w", {3, 1, 3, 3});
  const Tensor scale = g.input("s", {3, 1, 1});
  const Tensor y = conv2d(exp(x * scale), w * 2.0, {}, {.padding = {Padding{1, 1}}, .groups = 3});
  EXPECT_EQ(check_in_place(sample_of({tanh(y + x)})), 1);
}

TEST(DepthwiseKernel, AnyNumberOfImages) {
  for (const int64_t batch : {0, 1, 5}) {
    Graph g;
    const Tensor x = g.input("x", {g.dim("n"), 4, 7, 6});
    const Tensor y =
        conv2d(x, g.input("w", {4, 1, 3, 3}), {}, {.padding = {Padding{1, 1}}, .groups = 4});
    EXPECT_EQ(check_in_place(sample_of({y}, {{"n", batch}})), 1) << batch;
  }
}

TEST(DepthwiseKernel, APixelIsMadeOfItsOwnWindow) {
  for (const double odd :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 3e38}) {
    Graph g;
    kernel::test::Sample sample =
        sample_of({convolution(g, {1, 2, 9, 11, 3, 3, 1, 1, 1, 1, 1, 1})});
    graph::Array& image = sample.inputs.at("x");
    for (const int64_t at : {0, 3 * 11 + 4, 99 + 5 * 11 + 10}) kernel::store(image, at, {odd, 0});
    EXPECT_EQ(check_in_place(sample, {1e-4, 1e-2}), 1) << odd;
  }
}

TEST(DepthwiseKernel, OtherConvolutionsGoAnotherWay) {
  Graph g;
  const Tensor x = g.input("x", {1, 4, 12, 12});
  const auto count = [](const Tensor& y) { return check_in_place(sample_of({y})); };
  EXPECT_EQ(count(conv2d(x, g.input("w", {4, 1, 3, 3}), {}, {.stride = {1, 5}, .groups = 4})), 0);
  EXPECT_EQ(count(conv2d(x, g.input("v", {8, 1, 3, 3}), {}, {.groups = 4})), 0);
  EXPECT_EQ(count(conv2d(x, g.input("u", {4, 2, 3, 3}), {}, {.groups = 2})), 0);
  EXPECT_EQ(count(conv2d(x, g.input("t", {4, 1, 6, 6}), {}, {.groups = 4})), 0);
}

}  // namespace
}  // namespace luminal::codegen
