#include "luminal/tensor/cast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "luminal/tensor/movement.h"
#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::expect_error;
using test::expect_integers;
using test::expect_type;
using test::expect_values;
using test::vector;

constexpr double kInf = INFINITY;

TEST(Cast, ToTheSameDtypeIsTheTensorItself) {
  Graph g;
  Tensor x = vector(g, {1, 2}, f16);
  EXPECT_TRUE(cast(x, f16).is(x));
  EXPECT_TRUE(bitcast(x, f16).is(x));
}

TEST(Cast, KeepsShapeAndSmallIntegersInEveryPair) {
  Graph g;
  for (const graph::DTypeInfo& from : graph::kDTypes)
    for (const graph::DTypeInfo& to : graph::kDTypes) {
      Tensor y = cast(vector(g, {0, 1}, from.dtype), to.dtype);
      EXPECT_EQ(y.dtype(), to.dtype);
      expect_values(y, {0, 1});
    }
}

TEST(Cast, FloatsTruncateAndSaturate) {
  Graph g;
  Tensor x = vector(g, {1.9, -1.9, 300, -300, kInf, -kInf, NAN});
  expect_values(cast(x, i8), {1, -1, 127, -128, 127, -128, 0});
  expect_values(cast(x, u8), {1, 0, 255, 0, 255, 0, 0});
  expect_integers(cast(vector(g, {1e30, -1e30}), i64),
                  {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()});
  expect_values(cast(x, boolean), {1, 1, 1, 1, 1, 1, 1});
}

TEST(Cast, IntegersWrap) {
  Graph g;
  expect_values(cast(vector(g, {300, -1, 128}, i32), i8), {44, -1, -128});
  expect_values(cast(vector(g, {-1, 256}, i32), u8), {255, 0});
  expect_values(cast(vector(g, {7, 8, -9}, i8), i4), {7, -8, 7});
}

TEST(Cast, FloatsRoundToNearestEvenAndOverflowAsTheFormatSays) {
  Graph g;
  expect_values(cast(vector(g, {2049, 2051, 65520, 1e-8}), f16), {2048, 2052, kInf, 0});
  expect_values(cast(vector(g, {257, 259, 3.4e38}), bf16), {256, 260, kInf});
  expect_values(cast(vector(g, {500, -kInf, NAN}), f8e4m3), {448, -448, NAN});
  expect_values(cast(vector(g, {1e6, NAN}), f8e5m2), {kInf, NAN});
}

TEST(Cast, SeesThroughViews) {
  Graph g;
  Tensor x = transpose(test::matrix(g, {2, 2}, {1, 2, 3, 4}));
  expect_values(cast(x, i8), {1, 3, 2, 4});
}

TEST(Cast, BitcastKeepsTheBits) {
  Graph g;
  expect_integers(bitcast(vector(g, {1.0, -0.0}), i32),
                  {0x3f800000, std::numeric_limits<int32_t>::min()});
  expect_values(bitcast(vector(g, {0x3c00, 0x7c00}, u16), f16), {1, kInf});
  expect_values(bitcast(vector(g, {0x3f80}, i16), bf16), {1});
  expect_values(bitcast(vector(g, {255, 128}, u8), i8), {-1, -128});
  expect_values(bitcast(bitcast(vector(g, {1.5, -kInf}, f64), i64), f64), {1.5, -kInf});
  expect_values(bitcast(vector(g, {15, 7}, u4), i4), {-1, 7});
}

TEST(Cast, BitcastNeedsEqualWidths) {
  Graph g;
  expect_error([&] { bitcast(vector(g, {1}), i64); },
               "bitcast: f32 has 32 bits and i64 has 64; only equal widths");
  expect_error([&] { bitcast(vector(g, {1}, u8), boolean); }, "bit patterns that are no bool");
}

TEST(Cast, OfEmptyTensorsIsNamed) {
  expect_error([] { cast(Tensor(), f32); }, "this Tensor is empty");
}

}  // namespace
}  // namespace luminal
