#include "luminal/graph/scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "luminal/graph/narrow_float.h"
#include "luminal/support/error.h"

namespace luminal::graph {
namespace {

TEST(Scalar, HoldsTheRoundedOrWrappedValue) {
  EXPECT_EQ(Scalar::of(DType::kF32, 0.1).as_double(), static_cast<double>(0.1F));
  EXPECT_EQ(Scalar::of(DType::kF16, 1e9).as_double(), INFINITY);
  EXPECT_EQ(Scalar::of(DType::kF8E4M3, 1e9).as_double(), 448.0);
  EXPECT_EQ(Scalar::of(DType::kI8, 300).as_int64(), 44);
  EXPECT_EQ(Scalar::of(DType::kI8, 300.0).as_int64(), 127);
  EXPECT_EQ(Scalar::of(DType::kU4, -1).as_int64(), 15);
  EXPECT_EQ(Scalar::of(DType::kBool, 0.5).as_int64(), 1);
  EXPECT_EQ(Scalar::of(DType::kI64, INT64_MAX).as_int64(), INT64_MAX);
}

TEST(Scalar, EqualityTellsZerosApartAndTakesAllNaNsForOne) {
  EXPECT_EQ(Scalar::of(DType::kF32, 0.0), Scalar::of(DType::kF32, 0.0));
  EXPECT_FALSE(Scalar::of(DType::kF32, 0.0) == Scalar::of(DType::kF32, -0.0));
  EXPECT_EQ(Scalar::of(DType::kF32, NAN), Scalar::of(DType::kF32, -NAN));
  EXPECT_FALSE(Scalar::of(DType::kF32, NAN) == Scalar::of(DType::kF32, 1.0));
  EXPECT_FALSE(Scalar::of(DType::kF32, 1.0) == Scalar::of(DType::kF64, 1.0));
  EXPECT_FALSE(Scalar::of(DType::kI32, 1) == Scalar::of(DType::kI32, 2));
}

TEST(Scalar, EqualScalarsHashEqually) {
  const auto hash = [](const Scalar& value) {
    support::Hasher hasher;
    value.add_to(hasher);
    return hasher.finish64();
  };
  EXPECT_EQ(hash(Scalar::of(DType::kF32, NAN)), hash(Scalar::of(DType::kF32, -NAN)));
  EXPECT_NE(hash(Scalar::of(DType::kF32, 0.0)), hash(Scalar::of(DType::kF32, -0.0)));
  EXPECT_NE(hash(Scalar::of(DType::kI32, 1)), hash(Scalar::of(DType::kI64, 1)));
}

TEST(Scalar, LimitsAreInfinitiesWhereTheFormatHasThem) {
  EXPECT_EQ(Scalar::lowest(DType::kF32).as_double(), -INFINITY);
  EXPECT_EQ(Scalar::highest(DType::kBF16).as_double(), INFINITY);
  EXPECT_EQ(Scalar::lowest(DType::kF8E4M3).as_double(), -448.0);
  EXPECT_EQ(Scalar::highest(DType::kF8E5M2).as_double(), INFINITY);
  EXPECT_EQ(Scalar::lowest(DType::kI64).as_int64(), INT64_MIN);
  EXPECT_EQ(Scalar::highest(DType::kI64).as_int64(), INT64_MAX);
  EXPECT_EQ(Scalar::lowest(DType::kU16).as_int64(), 0);
  EXPECT_EQ(Scalar::highest(DType::kU32).as_int64(), UINT32_MAX);
  EXPECT_EQ(Scalar::lowest(DType::kI4).as_int64(), -8);
  EXPECT_EQ(Scalar::lowest(DType::kBool).as_int64(), 0);
  EXPECT_EQ(Scalar::highest(DType::kBool).as_int64(), 1);
}

TEST(Scalar, TextIsShort) {
  EXPECT_EQ(Scalar::of(DType::kF32, 0.1).to_string(), "0.1");
  EXPECT_EQ(Scalar::of(DType::kF64, 1.0).to_string(), "1");
  EXPECT_EQ(Scalar::of(DType::kF64, -0.0).to_string(), "-0");
  EXPECT_EQ(Scalar::of(DType::kF64, 120.0).to_string(), "120");
  EXPECT_EQ(Scalar::of(DType::kF64, -12.5).to_string(), "-12.5");
  EXPECT_EQ(Scalar::of(DType::kF64, 1e20).to_string(), "1e+20");
  EXPECT_EQ(Scalar::of(DType::kF64, 1.25e-7).to_string(), "1.25e-07");
  EXPECT_EQ(Scalar::of(DType::kF16, 0.1).to_string(), "0.1");
  EXPECT_EQ(Scalar::of(DType::kF16, 65504.0).to_string(), "65500");
  EXPECT_EQ(Scalar::of(DType::kBF16, 1.0 / 3).to_string(), "0.334");
  EXPECT_EQ(Scalar::of(DType::kF32, -INFINITY).to_string(), "-inf");
  EXPECT_EQ(Scalar::of(DType::kF32, NAN).to_string(), "nan");
  EXPECT_EQ(Scalar::of(DType::kBool, 1).to_string(), "true");
  EXPECT_EQ(Scalar::of(DType::kI64, INT64_MIN).to_string(), "-9223372036854775808");
}

TEST(Scalar, TextParsesBackToTheSameValue) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = Half::from_bits(static_cast<uint16_t>(bits));
    const auto brain = BFloat16::from_bits(static_cast<uint16_t>(bits));
    for (const Scalar& value : {Scalar::of(DType::kF16, static_cast<double>(half)),
                                Scalar::of(DType::kBF16, static_cast<double>(brain))})
      ASSERT_EQ(Scalar::parse(value.dtype(), value.to_string()), value) << value.to_string();
  }
  std::mt19937_64 random(11);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = random();
    const Scalar wide = Scalar::of(DType::kF64, std::bit_cast<double>(bits));
    ASSERT_EQ(Scalar::parse(DType::kF64, wide.to_string()), wide) << wide.to_string();
    const Scalar single =
        Scalar::of(DType::kF32, double{std::bit_cast<float>(static_cast<uint32_t>(bits))});
    ASSERT_EQ(Scalar::parse(DType::kF32, single.to_string()), single) << single.to_string();
    const Scalar integer = Scalar::of(DType::kI64, static_cast<int64_t>(bits));
    ASSERT_EQ(Scalar::parse(DType::kI64, integer.to_string()), integer);
  }
  EXPECT_EQ(Scalar::parse(DType::kBool, "false"), Scalar::of(DType::kBool, false));
}

TEST(Scalar, TextThatIsNoValueOfTheDtypeIsRefused) {
  const auto refused = [](DType dtype, std::string_view text, std::string_view message) {
    try {
      Scalar::parse(dtype, text);
      ADD_FAILURE() << text << " was taken";
    } catch (const UserError& error) {
      EXPECT_EQ(error.what(), message);
    }
  };
  refused(DType::kI8, "128", "scalar: \"128\" is no value of i8");
  refused(DType::kU4, "-1", "scalar: \"-1\" is no value of u4");
  refused(DType::kI32, "1.5", "scalar: \"1.5\" is no value of i32");
  refused(DType::kF32, "one", "scalar: \"one\" is no value of f32");
  refused(DType::kF32, "", "scalar: \"\" is no value of f32");
  refused(DType::kBool, "1", "scalar: \"1\" is no value of bool");
}

TEST(Scalar, CastsFollowTheRules) {
  EXPECT_EQ(Scalar::of(DType::kF32, -1.5).cast(DType::kU8), Scalar::of(DType::kU8, 0));
  EXPECT_EQ(Scalar::of(DType::kI32, -1).cast(DType::kU8), Scalar::of(DType::kU8, 255));
  EXPECT_EQ(Scalar::of(DType::kBool, true).cast(DType::kF16), Scalar::of(DType::kF16, 1.0));
  EXPECT_EQ(Scalar::of(DType::kF64, 1e30).as_int64(), INT64_MAX);
}

}  // namespace
}  // namespace luminal::graph
