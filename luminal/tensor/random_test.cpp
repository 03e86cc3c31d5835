#include "luminal/tensor/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "luminal/tensor/movement.h"
#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::expect_error;
using test::expect_type;
using test::expect_values;
using test::run;

using Block = std::array<uint32_t, 2>;

/// Threefry-2x32-20 in plain integers, after the paper's pseudocode.
Block threefry(Block counter, Block key) {
  const std::array<uint32_t, 8> rotations{13, 15, 26, 6, 17, 29, 16, 24};
  const std::array<uint32_t, 3> schedule{key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAu};
  Block x{counter[0] + schedule[0], counter[1] + schedule[1]};
  for (uint32_t round = 0; round < 20; ++round) {
    x[0] += x[1];
    x[1] = (x[1] << rotations[round % 8]) | (x[1] >> (32 - rotations[round % 8]));
    x[1] ^= x[0];
    if ((round + 1) % 4 == 0) {
      const uint32_t step = (round + 1) / 4;
      x[0] += schedule[step % 3];
      x[1] += schedule[(step + 1) % 3] + step;
    }
  }
  return x;
}

TEST(Random, TheReferenceGivesThePublishedAnswers) {
  // Known answers of the Random123 distribution (kat_vectors, threefry2x32 20).
  EXPECT_EQ(threefry({0, 0}, {0, 0}), (Block{0x6b200159, 0x99ba4efe}));
  EXPECT_EQ(threefry({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Block{0x1cb996fc, 0xbb002be7}));
  EXPECT_EQ(threefry({0x243f6a88, 0x85a308d3}, {0x13198a2e, 0x03707344}),
            (Block{0xc4923a9c, 0x483df7a0}));
}

TEST(Random, BitsAreThreefryOfSeedAndPosition) {
  Graph g;
  for (uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{0xdeadbeef12345678}, UINT64_MAX}) {
    Tensor bits = random_bits(g, {300}, seed);
    expect_type(bits, "u32[300]");
    const std::vector<int64_t> values = run(bits).to_vector<int64_t>();
    for (uint32_t k = 0; k < 300; ++k)
      EXPECT_EQ(values[k], threefry({k, 0}, {static_cast<uint32_t>(seed),
                                             static_cast<uint32_t>(seed >> 32)})[0]);
  }
  EXPECT_EQ(run(random_bits(g, {1}, 0)).to_vector<int64_t>()[0], 0x6b200159);
}

TEST(Random, NumbersDoNotDependOnTheShape) {
  Graph g;
  Dim n = g.dim("n");
  const std::vector<double> flat = test::numbers(rand(g, {24}, 9));
  expect_values(run(rand(g, {2, 3, 4}, 9)), {2, 3, 4}, flat);
  expect_values(run(rand(g, {n, 6}, 9), {.dims = {{"n", 4}}}), {4, 6}, flat);
  expect_values(run(rand(g, {n}, 9), {.dims = {{"n", 0}}}), {0}, {});
  expect_values(run(rand(g, {}, 9)), {}, {flat[0]});
  EXPECT_NE(test::numbers(rand(g, {24}, 10)), flat);
}

TEST(Random, UniformNumbersAreInRangeAndSpreadForEveryFloat) {
  Graph g;
  for (DType dtype : {f64, f32, f16, bf16, f8e4m3, f8e5m2}) {
    const std::vector<double> values = test::numbers(rand(g, {20000}, 3, dtype));
    double total = 0, squares = 0;
    for (double value : values) {
      ASSERT_GE(value, 0) << graph::name(dtype);
      ASSERT_LT(value, 1) << graph::name(dtype);
      total += value;
      squares += value * value;
    }
    // Few bits leave out the upper half of the last step: that much the mean may be lower.
    const double step = dtype == f8e5m2 ? 1.0 / 8 : dtype == f8e4m3 ? 1.0 / 16 : 0;
    EXPECT_NEAR(total / 20000, 0.5 - step / 2, 0.01) << graph::name(dtype);
    EXPECT_NEAR(squares / 20000, 1.0 / 3 - step / 2, 0.015) << graph::name(dtype);
  }
}

TEST(Random, UniformNumbersUseTheirBitsExactly) {
  Graph g;
  const std::vector<int64_t> bits = run(random_bits(g, {50}, 4)).to_vector<int64_t>();
  const std::vector<double> f32s = test::numbers(rand(g, {50}, 4));
  const std::vector<double> f64s = test::numbers(rand(g, {50}, 4, f64));
  for (uint32_t k = 0; k < 50; ++k) {
    EXPECT_EQ(f32s[k], std::ldexp(static_cast<double>(bits[k] >> 8), -24));
    const Block words = threefry({k, 0}, {4, 0});
    EXPECT_EQ(f64s[k], std::ldexp(static_cast<double>(words[0] >> 5) * 0x1p26 +
                                      static_cast<double>(words[1] >> 6),
                                  -53));
  }
}

TEST(Random, NormalNumbersHaveTheRightMoments) {
  Graph g;
  for (DType dtype : {f32, f64, f16}) {
    const std::vector<double> values = test::numbers(randn(g, {20000}, 12, dtype));
    std::array<double, 5> moments{};
    for (double value : values) {
      ASSERT_TRUE(std::isfinite(value));
      for (size_t k = 1; k < 5; ++k) moments[k] += std::pow(value, k) / 20000;
    }
    EXPECT_NEAR(moments[1], 0, 0.03);
    EXPECT_NEAR(moments[2], 1, 0.04);
    EXPECT_NEAR(moments[3], 0, 0.12);
    EXPECT_NEAR(moments[4], 3, 0.3);
  }
}

TEST(Random, NormalNumbersAreBoxMuller) {
  Graph g;
  const std::vector<double> values = test::numbers(randn(g, {50}, 6, f64));
  for (uint32_t k = 0; k < 50; ++k) {
    const Block words = threefry({k, 0}, {6, 0});
    const double u = std::ldexp(static_cast<double>(words[0] >> 8), -24);
    const double v = std::ldexp(static_cast<double>(words[1] >> 8), -24);
    EXPECT_NEAR(values[k], std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * M_PI * v), 1e-12);
  }
}

TEST(Random, OnlyFloatsAreGiven) {
  Graph g;
  expect_error([&] { rand(g, {1}, 0, i32); }, "rand: gives floats, not i32");
  expect_error([&] { randn(g, {1}, 0, boolean); }, "randn: gives floats, not bool");
}

TEST(Random, TheGraphDoesNotGrowWithTheShape) {
  Graph small, large;
  rand(small, {2}, 1);
  rand(large, {1000, 1000, 1000}, 1);
  EXPECT_EQ(small.ir().size(), large.ir().size());
}

}  // namespace
}  // namespace luminal
