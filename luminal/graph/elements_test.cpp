#include "luminal/graph/elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "luminal/graph/array.h"
#include "luminal/graph/dispatch.h"

namespace luminal::graph {
namespace {

constexpr int64_t kMax64 = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin64 = std::numeric_limits<int64_t>::min();

int64_t to_integer(DType dtype, double value) {
  int64_t result = 0;
  floats_to_integers(dtype, {&value, 1}, &result);
  return result;
}

double to_float(DType dtype, int64_t value) {
  double result = 0;
  integers_to_floats(dtype, {&value, 1}, &result);
  return result;
}

int64_t wrapped(DType dtype, int64_t value) {
  wrap_integers(dtype, {&value, 1});
  return value;
}

TEST(Elements, FloatsTruncateTowardZero) {
  for (const DType dtype : {DType::kI64, DType::kI32, DType::kI16, DType::kI8, DType::kI4}) {
    EXPECT_EQ(to_integer(dtype, 2.9), 2) << name(dtype);
    EXPECT_EQ(to_integer(dtype, -2.9), -2) << name(dtype);
    EXPECT_EQ(to_integer(dtype, -0.0), 0) << name(dtype);
  }
}

TEST(Elements, FloatsSaturateAtTheEndsOfIntegerRanges) {
  struct Case {
    DType dtype;
    int64_t lowest, highest;
  };
  for (const Case& c :
       {Case{DType::kI64, kMin64, kMax64}, Case{DType::kI32, INT32_MIN, INT32_MAX},
        Case{DType::kI16, -32768, 32767}, Case{DType::kI8, -128, 127},
        Case{DType::kU32, 0, UINT32_MAX}, Case{DType::kU16, 0, 65535}, Case{DType::kU8, 0, 255},
        Case{DType::kI4, -8, 7}, Case{DType::kU4, 0, 15}}) {
    EXPECT_EQ(to_integer(c.dtype, 1e30), c.highest) << name(c.dtype);
    EXPECT_EQ(to_integer(c.dtype, -1e30), c.lowest) << name(c.dtype);
    EXPECT_EQ(to_integer(c.dtype, INFINITY), c.highest) << name(c.dtype);
    EXPECT_EQ(to_integer(c.dtype, -INFINITY), c.lowest) << name(c.dtype);
    EXPECT_EQ(to_integer(c.dtype, NAN), 0) << name(c.dtype);
    EXPECT_EQ(to_integer(c.dtype, static_cast<double>(c.highest)), c.highest) << name(c.dtype);
    EXPECT_EQ(to_integer(c.dtype, static_cast<double>(c.lowest)), c.lowest) << name(c.dtype);
  }
  EXPECT_EQ(to_integer(DType::kI64, 0x1.fffffffffffffp62), 0x7ffffffffffffc00);
  EXPECT_EQ(to_integer(DType::kI32, 2147483646.5), 2147483646);
}

TEST(Elements, BoolIsWhetherTheValueDiffersFromZero) {
  EXPECT_EQ(to_integer(DType::kBool, 0.5), 1);
  EXPECT_EQ(to_integer(DType::kBool, NAN), 1);
  EXPECT_EQ(to_integer(DType::kBool, -0.0), 0);
  EXPECT_EQ(wrapped(DType::kBool, 256), 1);
  EXPECT_EQ(wrapped(DType::kBool, 0), 0);
}

TEST(Elements, IntegersKeepTheirLowBits) {
  EXPECT_EQ(wrapped(DType::kI32, int64_t{1} << 31), INT32_MIN);
  EXPECT_EQ(wrapped(DType::kU32, -1), UINT32_MAX);
  EXPECT_EQ(wrapped(DType::kI16, 40000), 40000 - 65536);
  EXPECT_EQ(wrapped(DType::kU16, -1), 65535);
  EXPECT_EQ(wrapped(DType::kI8, 200), -56);
  EXPECT_EQ(wrapped(DType::kU8, -1), 255);
  EXPECT_EQ(wrapped(DType::kI4, 8), -8);
  EXPECT_EQ(wrapped(DType::kI4, -9), 7);
  EXPECT_EQ(wrapped(DType::kU4, 17), 1);
  EXPECT_EQ(wrapped(DType::kI64, kMin64), kMin64);
}

TEST(Elements, LargeIntegersAreRoundedToFloatsOnce) {
  // Just above a tie of bf16: the nearest double is the tie itself.
  const int64_t tie = (int64_t{1} << 62) + (int64_t{1} << 54);
  EXPECT_EQ(to_float(DType::kBF16, tie), 0x1p62);
  EXPECT_EQ(to_float(DType::kBF16, tie + 1), 0x1.02p62);
  EXPECT_EQ(to_float(DType::kBF16, -tie - 1), -0x1.02p62);
  EXPECT_EQ(to_float(DType::kF64, (int64_t{1} << 53) + 1), 0x1p53);
  EXPECT_EQ(to_float(DType::kF16, 65520), INFINITY);
  EXPECT_EQ(to_float(DType::kF8E4M3, kMin64), -448.0);
  EXPECT_EQ(to_float(DType::kF64, kMin64), -0x1p63);
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) {
    const auto value = static_cast<int64_t>(random()) >> (random() % 64);
    ASSERT_EQ(to_float(DType::kF32, value), static_cast<double>(static_cast<float>(value)))
        << value;
  }
}

TEST(Elements, CastsBetweenNarrowFloatsRoundExactlyOnceForAllPatterns) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const double value = static_cast<double>(Half::from_bits(static_cast<uint16_t>(bits)));
    std::byte half[2], narrow[2];
    const uint16_t pattern = static_cast<uint16_t>(bits);
    std::memcpy(half, &pattern, 2);
    cast_elements(DType::kF16, half, DType::kF8E5M2, narrow, 1);
    ASSERT_EQ(std::to_integer<uint8_t>(narrow[0]), F8E5M2(value).bits());
    cast_elements(DType::kF16, half, DType::kF8E4M3, narrow, 1);
    ASSERT_EQ(std::to_integer<uint8_t>(narrow[0]), F8E4M3(value).bits());
    cast_elements(DType::kF16, half, DType::kI32, narrow, 0);  // no elements: nothing is touched
  }
}

/// Every dtype to every dtype, against the rules spelled out by hand.
TEST(Elements, EveryPairOfDtypesCastsByTheRules) {
  const std::vector<double> samples{0,     -0.0, 1,   -1,       2.5,      -2.5, 7.9,
                                    100,   -100, 300, 70000,    -70000,   5e9,  1e20,
                                    -1e20, 1e-8, NAN, INFINITY, -INFINITY};
  for (const DTypeInfo& from : kDTypes) {
    for (const DTypeInfo& to : kDTypes) {
      const auto count = static_cast<int64_t>(samples.size());
      const Array source = Array::from<double>(from.dtype, {count}, samples);
      const Array target = source.cast(to.dtype);
      for (int64_t i = 0; i < count; ++i) {
        const Scalar value = source.at(i);
        const Scalar expected = from.kind == DTypeKind::kFloat
                                    ? Scalar::of(to.dtype, value.as_double())
                                    : Scalar::of(to.dtype, value.as_int64());
        EXPECT_EQ(target.at(i), expected)
            << from.name << " to " << to.name << ": " << value.to_string() << " gave "
            << target.at(i).to_string();
      }
    }
  }
}

TEST(Elements, RunsMayStrideAndRepeat) {
  const std::vector<int32_t> values{10, 11, 12, 13, 14, 15};
  for (const DTypeInfo& row : kDTypes) {
    const Array array = Array::from<int32_t>(row.dtype, {6}, values);
    for (const ElementRun& run :
         {ElementRun{0, 1, 6}, ElementRun{1, 2, 3}, ElementRun{5, -1, 6}, ElementRun{3, 0, 4}}) {
      Array copied(row.dtype, {7});
      copy_bits(row.bits, array.bytes().data(), run, copied.mutable_bytes().data(), 1);
      for (int64_t i = 0; i < run.count; ++i)
        EXPECT_EQ(copied.at(1 + i), array.at(run.position + i * run.stride)) << row.name;
      if (row.kind == DTypeKind::kFloat) {
        std::vector<double> loaded(static_cast<size_t>(run.count));
        load(row.dtype, array.bytes().data(), run, loaded.data());
        for (int64_t i = 0; i < run.count; ++i)
          EXPECT_EQ(loaded[static_cast<size_t>(i)],
                    array.at(run.position + i * run.stride).as_double());
      } else {
        std::vector<int64_t> loaded(static_cast<size_t>(run.count));
        load(row.dtype, array.bytes().data(), run, loaded.data());
        for (int64_t i = 0; i < run.count; ++i)
          EXPECT_EQ(loaded[static_cast<size_t>(i)],
                    array.at(run.position + i * run.stride).as_int64());
      }
    }
  }
}

TEST(Elements, CopyingBitsKeepsNaNPayloads) {
  const uint32_t signaling = 0x7f800001;
  std::byte source[4], target[8] = {};
  std::memcpy(source, &signaling, 4);
  copy_bits(32, source, {0, 0, 2}, target, 0);
  EXPECT_EQ(std::memcmp(target, source, 4), 0);
  EXPECT_EQ(std::memcmp(target + 4, source, 4), 0);
}

}  // namespace
}  // namespace luminal::graph
