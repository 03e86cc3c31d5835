#include "luminal/graph/narrow_float.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace luminal::graph {
namespace {

template <typename Float>
class NarrowFloatTest : public testing::Test {
 public:
  using Bits = decltype(Float{}.bits());
  static constexpr uint32_t kPatterns = 1U << (8 * sizeof(Bits));

  static Float pattern(uint32_t bits) { return Float::from_bits(static_cast<Bits>(bits)); }
  static double value(uint32_t bits) { return static_cast<double>(pattern(bits)); }
  /// The patterns of all non-negative finite values: they are in order of value.
  static std::vector<uint32_t> finite_patterns() {
    std::vector<uint32_t> result;
    for (uint32_t bits = 0; bits < kPatterns / 2; ++bits)
      if (std::isfinite(value(bits))) result.push_back(bits);
    return result;
  }
};
using NarrowFloats = testing::Types<Half, BFloat16, F8E4M3, F8E5M2>;
TYPED_TEST_SUITE(NarrowFloatTest, NarrowFloats);

TYPED_TEST(NarrowFloatTest, EveryPatternSurvivesTheWayToDoubleAndBack) {
  for (uint32_t bits = 0; bits < this->kPatterns; ++bits) {
    const double value = this->value(bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<double>(TypeParam(value))));
    } else {
      ASSERT_EQ(TypeParam(value).bits(), bits) << value;
      ASSERT_EQ(TypeParam(static_cast<float>(value)).bits(), bits) << value;
      ASSERT_EQ(static_cast<double>(static_cast<float>(this->pattern(bits))), value);
    }
  }
}

TYPED_TEST(NarrowFloatTest, TiesGoToEvenAndTheirNeighboursToTheNearest) {
  const auto patterns = this->finite_patterns();
  for (size_t i = 0; i + 1 < patterns.size(); ++i) {
    const double low = this->value(patterns[i]);
    const double high = this->value(patterns[i + 1]);
    ASSERT_LT(low, high);
    const double middle = (low + high) / 2;
    const uint32_t even = patterns[i] % 2 == 0 ? patterns[i] : patterns[i + 1];
    ASSERT_EQ(TypeParam(middle).bits(), even) << middle;
    // One double beside the tie: rounding to float first would turn it into a tie.
    ASSERT_EQ(TypeParam(std::nextafter(middle, 0.0)).bits(), patterns[i]) << middle;
    ASSERT_EQ(TypeParam(std::nextafter(middle, high)).bits(), patterns[i + 1]) << middle;
    ASSERT_EQ(TypeParam(-std::nextafter(middle, high)).bits(),
              patterns[i + 1] | this->kPatterns / 2);
  }
}

TYPED_TEST(NarrowFloatTest, ZeroKeepsItsSignAndTinyValuesBecomeZero) {
  const uint32_t negative_zero = this->kPatterns / 2;
  EXPECT_EQ(TypeParam(0.0).bits(), 0U);
  EXPECT_EQ(TypeParam(-0.0).bits(), negative_zero);
  const double smallest = this->value(1);
  EXPECT_EQ(TypeParam(smallest / 2).bits(), 0U);
  EXPECT_EQ(TypeParam(-smallest / 2).bits(), negative_zero);
  EXPECT_EQ(TypeParam(std::nextafter(smallest / 2, 1.0)).bits(), 1U);
  EXPECT_EQ(TypeParam(5e-324).bits(), 0U);
  EXPECT_EQ(TypeParam(-1e-300).bits(), negative_zero);
}

TEST(NarrowFloat, FormatsHaveTheirPublishedLimits) {
  EXPECT_EQ(static_cast<double>(Half::from_bits(0x7bff)), 65504.0);
  EXPECT_EQ(static_cast<double>(Half::from_bits(1)), 0x1p-24);
  EXPECT_EQ(static_cast<double>(BFloat16::from_bits(0x7f7f)), 0x1.fep127);
  EXPECT_EQ(static_cast<double>(BFloat16::from_bits(1)), 0x1p-133);
  EXPECT_EQ(static_cast<double>(F8E4M3::from_bits(0x7e)), 448.0);
  EXPECT_EQ(static_cast<double>(F8E4M3::from_bits(1)), 0x1p-9);
  EXPECT_EQ(static_cast<double>(F8E5M2::from_bits(0x7b)), 57344.0);
  EXPECT_EQ(static_cast<double>(F8E5M2::from_bits(1)), 0x1p-16);
}

TEST(NarrowFloat, OverflowGivesInfinityWhereThereIsOne) {
  EXPECT_EQ(Half(65519.999).bits(), 0x7bff);
  EXPECT_EQ(Half(65520.0).bits(), 0x7c00);
  EXPECT_EQ(Half(-1e300).bits(), 0xfc00);
  EXPECT_EQ(Half(INFINITY).bits(), 0x7c00);
  EXPECT_EQ(BFloat16(0x1.ffp127).bits(), 0x7f80);
  EXPECT_EQ(BFloat16(std::nextafter(0x1.ffp127, 0.0)).bits(), 0x7f7f);
  EXPECT_EQ(F8E5M2(61440.0).bits(), 0x7c);
  EXPECT_EQ(F8E5M2(61439.0).bits(), 0x7b);
  EXPECT_EQ(F8E5M2(-INFINITY).bits(), 0xfc);
}

TEST(NarrowFloat, F8E4M3SaturatesAndKeepsNaN) {
  EXPECT_EQ(F8E4M3(449.0).bits(), 0x7e);
  EXPECT_EQ(F8E4M3(480.0).bits(), 0x7e);
  EXPECT_EQ(F8E4M3(1e30).bits(), 0x7e);
  EXPECT_EQ(F8E4M3(INFINITY).bits(), 0x7e);
  EXPECT_EQ(F8E4M3(-INFINITY).bits(), 0xfe);
  EXPECT_EQ(F8E4M3(NAN).bits() & 0x7f, 0x7f);
  EXPECT_TRUE(std::isnan(static_cast<float>(F8E4M3::from_bits(0xff))));
}

TEST(NarrowFloat, BFloat16IsTheUpperHalfOfAFloat) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto value = std::bit_cast<float>(bits << 16);
    if (std::isnan(value)) continue;
    ASSERT_EQ(static_cast<float>(BFloat16::from_bits(static_cast<uint16_t>(bits))), value);
  }
}

TEST(NarrowFloat, NibblesSitLowHalfFirst) {
  std::byte data[2] = {};
  store_nibble(data, 0, 3);
  store_nibble(data, 1, 0xf);
  store_nibble(data, 3, 0x1a);  // the high bits are cut
  EXPECT_EQ(data[0], std::byte{0xf3});
  EXPECT_EQ(data[1], std::byte{0xa0});
  EXPECT_EQ(load_nibble(data, 0), 3U);
  EXPECT_EQ(load_nibble(data, 1), 15U);
  EXPECT_EQ(load_nibble(data, 2), 0U);
  store_nibble(data, 0, 0);
  EXPECT_EQ(load_nibble(data, 1), 15U);
}

}  // namespace
}  // namespace luminal::graph
