// Convolutions as generated code: of an image that was laid out for it, and as products whose
// windows are packed as they are read.
#include <limits>

#include "checks.h"
#include "luminal/kernel/derive.h"

namespace luminal::codegen {
namespace {

/// Sizes of a convolution over two axes.
struct Sizes {
  int64_t batch, in, out, height, width, kernel, stride, padding, dilation, groups;
};

Tensor convolution(Graph& g, const Sizes& sizes, DType dtype) {
  Tensor x = g.input("x", {sizes.batch, sizes.in, sizes.height, sizes.width}, dtype);
  Tensor w = g.input("w", {sizes.out, sizes.in / sizes.groups, sizes.kernel, sizes.kernel}, dtype);
  return conv2d(x, w, g.input("b", {sizes.out}, dtype),
                {.stride = {sizes.stride},
                 .padding = {Padding{sizes.padding, sizes.padding}},
                 .dilation = {sizes.dilation},
                 .groups = sizes.groups});
}

std::string to_string(const Sizes& sizes, DType dtype) {
  return fmt::format(
      "{} batch {} channels {} to {} of {}x{} kernel {} stride {} padding {} dilation {} groups {}",
      dtype, sizes.batch, sizes.in, sizes.out, sizes.height, sizes.width, sizes.kernel,
      sizes.stride, sizes.padding, sizes.dilation, sizes.groups);
}

constexpr Sizes kSizes[] = {{1, 3, 8, 9, 9, 3, 1, 0, 1, 1},   {2, 3, 5, 11, 20, 3, 1, 1, 1, 1},
                            {1, 4, 8, 40, 17, 3, 2, 1, 1, 1}, {1, 6, 12, 9, 5, 3, 1, 1, 1, 3},
                            {1, 4, 4, 14, 14, 5, 1, 2, 1, 4}, {1, 2, 3, 20, 33, 3, 1, 2, 2, 1},
                            {1, 1, 7, 3, 2, 3, 1, 1, 1, 1}};

/// Rows of every length relative to vectors, strides beyond the window, single filter rows, images
/// of one row or column, large windows, padded rows of 512 bytes.
constexpr Sizes kMoreSizes[] = {
    {1, 2, 17, 16, 16, 3, 1, 1, 1, 1}, {3, 5, 1, 7, 7, 3, 1, 1, 1, 1},
    {1, 8, 8, 15, 31, 3, 1, 1, 1, 8},  {2, 6, 12, 13, 28, 3, 2, 1, 1, 6},
    {1, 3, 10, 23, 24, 7, 2, 3, 1, 1}, {1, 2, 9, 30, 29, 2, 3, 0, 1, 1},
    {1, 3, 20, 32, 32, 8, 8, 0, 1, 1}, {1, 2, 6, 20, 20, 3, 3, 1, 1, 1},
    {1, 2, 6, 21, 20, 3, 2, 2, 2, 1},  {1, 2, 40, 5, 100, 5, 1, 4, 1, 1},
    {1, 13, 3, 1, 40, 3, 1, 1, 1, 1},  {1, 13, 3, 40, 1, 3, 1, 1, 1, 1},
    {1, 3, 70, 7, 7, 3, 1, 1, 1, 1},   {2, 4, 34, 16, 14, 3, 2, 1, 1, 2},
    {1, 230, 3, 6, 5, 3, 1, 1, 1, 1},  {1, 3, 20, 4, 126, 3, 1, 1, 1, 1},
    {2, 2, 17, 5, 255, 3, 2, 1, 1, 1}};

TEST(ConvolutionKernel, WindowsStridesPaddingAndGroups) {
  const Sizes dense{2, 6, 12, 7, 7, 1, 1, 0, 1, 1};
  std::vector<Sizes> all(std::begin(kSizes), std::end(kSizes));
  all.push_back(dense);
  size_t turn = 0;
  for (const Sizes& sizes : all)
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      SCOPED_TRACE(to_string(sizes, dtype));
      Graph g;
      const kernel::test::Closeness near{dtype == DType::kF32 ? 1e-4 : 5e-2, 1e-2};
      const kernel::test::Sample sample = sample_of({relu(convolution(g, sizes, dtype))});
      // Windows are the same in every dtype, so the second one goes by turns.
      if (dtype == DType::kF32)
        check_all(sample, near);
      else
        check_in_turn(sample, turn++, near);
      if (HasFailure()) return;
    }
}

TEST(ConvolutionKernel, ImagesAreLaidOutForEveryFormOfWindow) {
  std::vector<Sizes> all(std::begin(kSizes), std::end(kSizes));
  all.insert(all.end(), std::begin(kMoreSizes), std::end(kMoreSizes));
  for (const Sizes& sizes : all)
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      SCOPED_TRACE(to_string(sizes, dtype));
      Graph g;
      const kernel::test::Closeness near{dtype == DType::kF32 ? 1e-4 : 5e-2, 1e-2};
      check_windows(sample_of({relu(convolution(g, sizes, dtype))}), near);
      if (HasFailure()) return;
    }
}

/// The code of a convolution for vectors of 16 floats, wherever this runs.
Recognised<CpuKernel> code_of(const Sizes& sizes) {
  Graph g;
  const kernel::test::Sample sample = sample_of({convolution(g, sizes, DType::kF32)});
  const kernel::GraphProgram program(sample.graph);
  kernel::Arena arena;
  const kernel::Cut cut = kernel::smallest_cut(program, *kernel::topological_order(program));
  const auto derived = kernel::derive(arena, program, cut, program.output(0));
  return convolution_kernel(arena, std::get<kernel::Kernel>(derived), cpu_target("znver4"),
                            {.threads = 2, .reassociate = false});
}

Schedule chosen(const Sizes& sizes) {
  const auto code = code_of(sizes);
  return code ? code->schedule : Schedule("gemm", {});
}

TEST(ConvolutionKernel, FiltersRunAlongTheLanesWherePixelsDoNotFillThem) {
  const auto along = [](const Sizes& sizes) { return chosen(sizes).at("along"); };
  EXPECT_EQ(along({1, 32, 64, 14, 14, 3, 1, 1, 1, 1}), 1);
  EXPECT_EQ(along({1, 32, 64, 7, 7, 3, 1, 1, 1, 1}), 1);
  EXPECT_EQ(along({1, 64, 128, 56, 56, 3, 2, 1, 1, 1}), 1);
  // Vectors are full, or there are no filters to fill them.
  EXPECT_EQ(along({1, 16, 17, 64, 64, 3, 1, 1, 1, 1}), 0);
  EXPECT_EQ(along({1, 16, 3, 14, 14, 3, 1, 1, 1, 1}), 0);
  EXPECT_EQ(along({1, 16, 16, 14, 14, 3, 1, 1, 1, 8}), 0);
}

TEST(ConvolutionKernel, ThreadsHaveRowsOfALargeImageOrPanelsOfALargeFilter) {
  const Schedule rows = chosen({1, 64, 128, 56, 56, 3, 2, 1, 1, 1});
  EXPECT_EQ(rows.at("order"), 0);
  EXPECT_EQ(rows.at("chunk"), 0);
  const Schedule panels = chosen({1, 256, 512, 14, 14, 3, 2, 1, 1, 1});
  EXPECT_EQ(panels.at("order"), 1);
  EXPECT_EQ(panels.at("chunk"), 0);
}

/// What is dealt out as it gets done, or channel by channel, is laid out by any thread.
TEST(ConvolutionKernel, ThreadsLayOutTheRowsThatTheyRead) {
  for (const int64_t size : {56, 112}) {
    const auto code = code_of({1, 64, 128, size, size, 3, 2, 1, 1, 1});
    ASSERT_TRUE(code);
    SCOPED_TRACE(size);
    EXPECT_EQ(code->schedule.at("order"), 0);
    EXPECT_EQ(code->schedule.at("chunk"), 0);
    ASSERT_GE(code->launches.size(), 2U);
    const CpuLaunch& image = code->launches.end()[-2];
    EXPECT_EQ(image.chunk, 0);
    EXPECT_EQ(*image.items.constant_value() % (size + 1), 0);  // the first line is padding
  }
}

TEST(ConvolutionKernel, APixelIsMadeOfItsOwnWindow) {
  for (const double odd :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 3e38})
    for (const Sizes& sizes :
         {Sizes{1, 2, 18, 9, 11, 3, 1, 1, 1, 1}, Sizes{1, 2, 5, 9, 11, 3, 2, 1, 1, 1}}) {
      SCOPED_TRACE(fmt::format("{} {}", odd, to_string(sizes, DType::kF32)));
      Graph g;
      kernel::test::Sample sample = sample_of({convolution(g, sizes, DType::kF32)});
      graph::Array& image = sample.inputs.at("x");
      for (const int64_t at : {0, 3 * 11 + 4, 99 + 5 * 11 + 10}) kernel::store(image, at, {odd, 0});
      check_windows(sample, {1e-4, 1e-2});
      if (HasFailure()) return;
    }
}

TEST(ConvolutionKernel, EveryDtype) {
  for (const DType dtype :
       {DType::kF64, DType::kF16, DType::kI8, DType::kI32, DType::kI64, DType::kU8}) {
    SCOPED_TRACE(fmt::format("{}", dtype));
    Graph g;
    const kernel::test::Closeness near{dtype == DType::kF16 ? 1e-2 : 1e-6, 1e-3};
    check_windows(sample_of({convolution(g, {2, 4, 9, 11, 20, 3, 1, 1, 1, 1}, dtype)}), near);
    Graph h;
    check_windows(sample_of({convolution(h, {1, 4, 4, 11, 13, 3, 2, 1, 1, 4}, dtype)}), near);
    if (HasFailure()) return;
  }
}

TEST(ConvolutionKernel, PaddingMayDifferOnEverySide) {
  Graph g;
  const Tensor x = g.input("x", {2, 3, 12, 19});
  const Tensor w = g.input("w", {6, 3, 4, 3});
  check_windows(sample_of({conv2d(x, w, {}, {.padding = {Padding{0, 3}, Padding{2, 1}}})}));
  check_windows(sample_of({conv2d(x, w, {}, {.padding = {Padding{2, 0}, Padding{0, 5}}})}));
  check_windows(sample_of({conv2d(x, w, {}, {.stride = {2, 1}, .padding = {Padding{1, 0}}})}));
  check_windows(sample_of({conv2d(x, w, {}, {.stride = {1, 3}, .dilation = {2, 1}})}));
}

TEST(ConvolutionKernel, WhatIsDoneBeforeAndAfterIsFused) {
  Graph g;
  const Tensor x = g.input("x", {2, 3, 10, 14});
  const Tensor w = g.input("w", {3, 3, 3, 3});
  const Tensor scale = g.input("s", {3, 1, 1});
  const Tensor y = conv2d(relu(x * scale), w * 2.0, {}, {.padding = {Padding{1, 1}}});
  check_windows(sample_of({tanh(y + x)}));
  // Several results of one kernel are stored with one sum.
  check_windows(sample_of({permute(y, {0, 1, 3, 2})}));
}

void check_all_plainly(const kernel::test::Sample& sample) { check_all(sample); }
void check_windows_plainly(const kernel::test::Sample& sample) { check_windows(sample); }

TEST(ConvolutionKernel, OneAndThreeAxes) {
  for (const auto& run : {check_all_plainly, check_windows_plainly}) {
    Graph g;
    run(sample_of({conv1d(g.input("x", {2, 5, 50}), g.input("w", {6, 5, 4}))}));
    run(sample_of({conv3d(g.input("v", {1, 2, 5, 6, 7}), g.input("u", {4, 2, 2, 3, 3}))}));
    run(sample_of({conv3d(g.input("a", {2, 3, 5, 9, 9}), g.input("c", {2, 3, 3, 3, 3}), {},
                          {.stride = {2}, .padding = {Padding{1, 1}}})}));
  }
  // Rows longer than one block.
  Graph g;
  check_windows(sample_of({conv1d(g.input("l", {1, 2, 3000}), g.input("k", {3, 2, 5}))}));
}

TEST(ConvolutionKernel, SymbolicBatch) {
  Graph g;
  Tensor x = g.input("x", {g.dim("b"), 3, 10, 18});
  Tensor y = relu(conv2d(x, g.input("w", {8, 3, 3, 3}), {}, {.padding = {Padding{1, 1}}}));
  for (const int64_t batch : {0, 1, 3}) {
    check_all(sample_of({y}, {{"b", batch}}));
    check_windows(sample_of({y}, {{"b", batch}}));
  }
}

}  // namespace
}  // namespace luminal::codegen
