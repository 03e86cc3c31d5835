#include "luminal/tensor/promotion.h"

#include <gtest/gtest.h>

#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::expect_error;
using test::expect_integers;
using test::expect_type;
using test::expect_values;
using test::vector;

TEST(Promotion, IsSymmetricAndIdempotent) {
  for (const graph::DTypeInfo& a : graph::kDTypes) {
    EXPECT_EQ(promote(a.dtype, a.dtype), a.dtype) << a.name;
    for (const graph::DTypeInfo& b : graph::kDTypes)
      EXPECT_EQ(promote(a.dtype, b.dtype), promote(b.dtype, a.dtype)) << a.name << " " << b.name;
  }
}

TEST(Promotion, FloatsMeetInTheWiderOrInOneThatHoldsBoth) {
  EXPECT_EQ(promote(f64, f32), f64);
  EXPECT_EQ(promote(f16, f32), f32);
  EXPECT_EQ(promote(f16, bf16), f32);
  EXPECT_EQ(promote(f8e4m3, f8e5m2), f16);
  EXPECT_EQ(promote(f8e4m3, bf16), bf16);
}

TEST(Promotion, FloatsWinOverIntegersAndIntegersOverBool) {
  EXPECT_EQ(promote(f16, i64), f16);
  EXPECT_EQ(promote(u32, bf16), bf16);
  EXPECT_EQ(promote(boolean, i8), i8);
  EXPECT_EQ(promote(boolean, f8e4m3), f8e4m3);
  EXPECT_EQ(promote(boolean, boolean), boolean);
}

TEST(Promotion, IntegersOfDifferentSignMeetInTheNextWiderSigned) {
  EXPECT_EQ(promote(u8, i8), i16);
  EXPECT_EQ(promote(u8, i16), i16);
  EXPECT_EQ(promote(u16, i16), i32);
  EXPECT_EQ(promote(u32, i8), i64);
  EXPECT_EQ(promote(u32, i64), i64);
  EXPECT_EQ(promote(u4, i4), i8);
  EXPECT_EQ(promote(u4, i8), i8);
  EXPECT_EQ(promote(i4, u8), i16);
  EXPECT_EQ(promote(u8, u32), u32);
  EXPECT_EQ(promote(i4, i8), i8);
}

TEST(Promotion, NumbersTakeOnTheDtypeOfTheTensor) {
  Graph g;
  for (DType dtype : {f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u8, u16, u32}) {
    Tensor x = g.input(std::string(graph::name(dtype)), {2}, dtype);
    EXPECT_EQ((x + 1).dtype(), dtype);
    EXPECT_EQ((2 * x).dtype(), dtype);
    EXPECT_EQ((x + true).dtype(), dtype);
    EXPECT_EQ((x + 0.5).dtype(), graph::is_float(dtype) ? dtype : f32);
    EXPECT_EQ((x / 2).dtype(), graph::is_float(dtype) ? dtype : f32);
  }
}

TEST(Promotion, BoolsMeetNumbersAsI64AndFractionsAsF32) {
  Graph g;
  Tensor x = vector(g, {0, 1}, boolean);
  expect_type(x + 1, "i64[2]");
  expect_type(x * 0.5, "f32[2]");
  expect_values(x * 0.5, {0, 0.5});
  expect_integers(x + 41, {41, 42});
}

TEST(Promotion, ANumberThatDoesNotFitIsAnError) {
  Graph g;
  Tensor x = vector(g, {1}, u8);
  expect_error([&] { x + 256; }, "add: 256 does not fit u8, the tensor's dtype");
  expect_error([&] { less(x, -1); }, "less: -1 does not fit u8");
  expect_values(x + 255, {0});
}

TEST(Promotion, DimsAreNumbersThatAreKnownLater) {
  Graph g;
  Dim n = g.dim("n");
  Tensor x = g.input("x", {n}, f16);
  Tensor y = x * (n + 1);
  expect_type(y, "f16[n]");
  expect_values(test::run(y, {.inputs = {{"x", test::array(f16, {2}, {1, 0.5})}}}), {2}, {3, 1.5});
}

}  // namespace
}  // namespace luminal
