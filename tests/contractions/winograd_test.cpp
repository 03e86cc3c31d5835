// Convolutions with 3x3 windows by squares of pixels, which takes fewer products.
#include <limits>

#include "checks.h"

namespace luminal::codegen {
namespace {

struct Sizes {
  int64_t batch, in, out, height, width, above, below, left, right;
};

std::string to_string(const Sizes& s) {
  return fmt::format("{} x {} to {} of {}x{} padding {} {} {} {}", s.batch, s.in, s.out, s.height,
                     s.width, s.above, s.below, s.left, s.right);
}

/// Odd and even images, rows shorter and longer than a vector of squares and than several, rows and
/// channels that are no multiple of a tile, images as small as a window, any padding.
constexpr Sizes kSizes[] = {
    {1, 3, 8, 9, 9, 1, 1, 1, 1},    {2, 5, 17, 14, 14, 1, 1, 1, 1}, {3, 4, 9, 7, 7, 1, 1, 1, 1},
    {1, 2, 5, 4, 40, 1, 1, 1, 1},   {1, 2, 5, 5, 33, 0, 0, 0, 0},   {1, 3, 40, 8, 67, 0, 2, 1, 0},
    {1, 1, 2, 3, 130, 1, 1, 1, 1},  {1, 2, 3, 4, 4, 0, 0, 0, 0},    {2, 1, 6, 2, 2, 1, 1, 1, 1},
    {1, 2, 15, 3, 29, 2, 2, 2, 2},  {1, 70, 4, 6, 6, 1, 1, 1, 1},   {1, 2, 3, 40, 3, 1, 0, 3, 2},
    {1, 2, 3, 12, 200, 1, 1, 1, 1},
};

Tensor convolution(Graph& g, const Sizes& s, DType dtype = DType::kF32) {
  const Tensor x = g.input("x", {s.batch, s.in, s.height, s.width}, dtype);
  const Tensor w = g.input("w", {s.out, s.in, 3, 3}, dtype);
  return conv2d(x, w, g.input("b", {s.out}, dtype),
                {.padding = {Padding{s.above, s.below}, Padding{s.left, s.right}}});
}

/// Checks a sample on all targets; gives how many kernels had fewer products on this machine's own.
int check_squares(const kernel::test::Sample& sample,
                  const kernel::test::Closeness& closeness = {1e-4, 1e-4}) {
  return check_family(sample, {.squares = true, .counted = kWinogradFamily}, closeness);
}

TEST(WinogradKernel, ImagesOfEverySizeAndPadding) {
  if (!host_target().has_fma()) GTEST_SKIP() << "no fma";
  for (const Sizes& sizes : kSizes) {
    SCOPED_TRACE(to_string(sizes));
    Graph g;
    EXPECT_EQ(check_squares(sample_of({relu(convolution(g, sizes))})), 1);
    if (HasFailure()) return;
  }
}

TEST(WinogradKernel, WhatIsDoneBeforeAndAfterIsFused) {
  if (!host_target().has_fma()) GTEST_SKIP() << "no fma";
  Graph g;
  const Tensor x = g.input("x", {2, 6, 11, 20});
  const Tensor w = g.input("w", {6, 6, 3, 3});
  const Tensor scale = g.input("s", {6, 1, 1});
  const Tensor y = conv2d(relu(x * scale), w * 2.0, {}, {.padding = {Padding{1, 1}}});
  EXPECT_EQ(check_squares(sample_of({relu(y + x)})), 1);
}

TEST(WinogradKernel, RowsOfAllImagesAreDealtOutWhateverTheirNumber) {
  if (!host_target().has_fma()) GTEST_SKIP() << "no fma";
  for (const int64_t batch : {0, 1, 5}) {
    Graph g;
    const Tensor x = g.input("x", {g.dim("n"), 3, 7, 6});
    const Tensor y = conv2d(x, g.input("w", {8, 3, 3, 3}), {}, {.padding = {Padding{1, 1}}});
    EXPECT_EQ(check_squares(sample_of({y}, {{"n", batch}})), 1) << batch;
  }
}

TEST(WinogradKernel, APixelIsMadeOfItsOwnWindow) {
  if (!host_target().has_fma()) GTEST_SKIP() << "no fma";
  for (const double odd : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), 1e30, 3e38}) {
    Graph g;
    kernel::test::Sample sample = sample_of({convolution(g, {1, 2, 3, 9, 11, 1, 1, 1, 1})});
    graph::Array& image = sample.inputs.at("x");
    for (const int64_t at : {0, 3 * 11 + 4, 99 + 5 * 11 + 10}) kernel::store(image, at, {odd, 0});
    // Absolutely, so that pixels far from the large ones have to be right.
    EXPECT_EQ(check_squares(sample, {1e-4, 1e-2}), 1) << odd;
  }
}

TEST(WinogradKernel, AFilterThatChangesIsTransformedWhereItIsUsedOften) {
  if (!host_target().has_fma()) GTEST_SKIP() << "no fma";
  const auto squares = [](const Sizes& sizes, bool constants) {
    int found = 0;
    Graph g;
    const Way way{.constants = constants,
                  .must_match = false,
                  .windows = true,
                  .by_cost = true,
                  .counted = kWinogradFamily,
                  .count = &found};
    check(sample_of({convolution(g, sizes)}), way, {1e-4, 1e-4});
    return found;
  };
  EXPECT_EQ(squares({1, 24, 40, 40, 48, 1, 1, 1, 1}, false), 1);
  EXPECT_EQ(squares({1, 32, 64, 14, 14, 1, 1, 1, 1}, false), 1);
  EXPECT_EQ(squares({1, 64, 64, 4, 4, 1, 1, 1, 1}, false), 0);
  EXPECT_EQ(squares({4, 32, 64, 14, 14, 1, 1, 1, 1}, true), 1);
}

/// Windows one after the other, steps of a window apart, and whatever else a filter is made of;
/// channels that fill vectors or not, along one axis or two.
TEST(WinogradKernel, FiltersLieInAnyOrder) {
  if (!host_target().has_fma()) GTEST_SKIP() << "no fma";
  for (const int64_t channels : {1, 5, 16, 35}) {
    SCOPED_TRACE(channels);
    Graph g;
    const Tensor x = g.input("x", {1, channels, 6, 9});
    const auto count = [&](const Tensor& w) {
      return check_squares(sample_of({conv2d(x, w, {}, {.padding = {Padding{1, 1}}})}));
    };
    EXPECT_EQ(count(g.input("u", {5, channels, 3, 3})), 1);
    EXPECT_EQ(count(permute(g.input("v", {3, 3, channels, 5}), {3, 2, 0, 1})), 1);
    EXPECT_EQ(count(permute(g.input("w", {5, 3, 3, channels}), {0, 3, 2, 1})), 1);
    EXPECT_EQ(count(flip(g.input("z", {5, channels, 3, 3}), {3}) * 2.0), 1);
    if (HasFailure()) return;
  }
}

/// The code of a convolution for two threads.
CpuKernel code_of(const Sizes& sizes, bool constants, const CpuTarget& target) {
  Graph g;
  const kernel::test::Sample sample = sample_of({convolution(g, sizes)});
  const kernel::GraphProgram program(sample.graph);
  const auto order = *kernel::topological_order(program);
  kernel::Arena arena;
  const kernel::Cut cut = kernel::smallest_cut(program, order);
  const auto derived = kernel::derive(arena, program, cut, program.output(0));
  CpuKernelOptions options;
  options.threads = 2;
  if (constants) options.constants = {*sample.graph.find_input("w")};
  return cpu_kernel(arena, std::get<kernel::Kernel>(derived), target, options);
}

TEST(WinogradKernel, AFilterThatStaysIsTransformedOnceForAllRuns) {
  if (!host_target().has_fma()) GTEST_SKIP() << "no fma";
  const CpuKernel code = code_of({1, 32, 64, 14, 14, 1, 1, 1, 1}, true, host_target());
  ASSERT_EQ(code.schedule.family(), kWinogradFamily);
  ASSERT_EQ(code.launches.size(), 2U);
  EXPECT_TRUE(code.launches[0].prepare);
  EXPECT_FALSE(code.launches[1].prepare);
}

TEST(WinogradKernel, ThreadsDoNotReadAllOfAFilterThatOthersHaveJustWritten) {
  const Sizes sizes{1, 32, 64, 14, 14, 1, 1, 1, 1};
  const CpuTarget target = cpu_target("znver4");
  EXPECT_EQ(code_of(sizes, true, target).schedule.at("parts"), 1);
  EXPECT_EQ(code_of(sizes, false, target).schedule.at("parts"), 2);
}

TEST(WinogradKernel, OtherWindowsTypesAndGroupsGoAnotherWay) {
  const auto count = [](const Tensor& y) { return check_squares(sample_of({y}), {5e-2, 1e-2}); };
  Graph g;
  const Tensor x = g.input("x", {1, 4, 12, 12});
  const Tensor w = g.input("w", {8, 4, 3, 3});
  EXPECT_EQ(count(conv2d(x, w, {}, {.stride = {2}})), 0);
  EXPECT_EQ(count(conv2d(x, w, {}, {.dilation = {2}})), 0);
  EXPECT_EQ(count(conv2d(x, g.input("v", {8, 2, 3, 3}), {}, {.groups = 2})), 0);
  EXPECT_EQ(count(conv2d(x, g.input("u", {8, 4, 3, 5}))), 0);
  EXPECT_EQ(count(conv1d(g.input("l", {1, 4, 40}), g.input("k", {8, 4, 3}))), 0);
  Graph narrow;
  EXPECT_EQ(count(convolution(narrow, {1, 4, 8, 9, 9, 1, 1, 1, 1}, DType::kBF16)), 0);
}

}  // namespace
}  // namespace luminal::codegen
