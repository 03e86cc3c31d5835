#include "luminal/graph/interpreter_reduce.h"

#include <gtest/gtest.h>

#include <cmath>

#include "luminal/graph/interpreter_harness.h"

namespace luminal::graph {
namespace {

Array reduced(Op op, const Array& array, int axes = 1) {
  return run_op(op, {array}, ReduceAttribute{axes});
}

TEST(Reduce, SumsAndProductsOfEveryDtype) {
  for (const DTypeInfo& row : kDTypes) {
    if (is_bool(row.dtype)) continue;
    const Array array = array_of(row.dtype, {2, 3}, {1, 2, 3, 2, 0.5, 4});
    const bool floats = is_float(row.dtype);
    const Array sum = reduced(Op::kSum, array);
    EXPECT_EQ(sum.extents(), (Extents{2}));
    EXPECT_EQ(sum.at(0), Scalar::of(row.dtype, 6)) << row.name;
    EXPECT_EQ(sum.at(1), floats ? Scalar::of(row.dtype, 6.5) : Scalar::of(row.dtype, 6));
    const Array product = reduced(Op::kProd, array);
    EXPECT_EQ(product.at(0), Scalar::of(row.dtype, 6)) << row.name;
    EXPECT_EQ(product.at(1), Scalar::of(row.dtype, floats ? 4 : 0)) << row.name;
    EXPECT_EQ(reduced(Op::kSum, array, 2).at(0),
              floats ? Scalar::of(row.dtype, 12.5) : Scalar::of(row.dtype, 12));
    EXPECT_TRUE(reduced(Op::kSum, array, 0).identical(array)) << row.name;
  }
}

TEST(Reduce, MaximaOfEveryDtype) {
  for (const DTypeInfo& row : kDTypes) {
    const Array array = array_of(row.dtype, {2, 3}, {0, 1, 0, 0, 0, 0});
    const Array largest = reduced(Op::kReduceMax, array);
    EXPECT_EQ(largest.at(0), Scalar::of(row.dtype, 1)) << row.name;
    EXPECT_EQ(largest.at(1), Scalar::of(row.dtype, 0)) << row.name;
    Array ends(row.dtype, {2});
    ends.set(0, Scalar::lowest(row.dtype));
    ends.set(1, Scalar::highest(row.dtype));
    EXPECT_EQ(reduced(Op::kReduceMax, ends).at(0), Scalar::highest(row.dtype)) << row.name;
  }
}

TEST(Reduce, NegativesSumToNegatives) {
  for (const DType dtype : {DType::kF8E5M2, DType::kI4, DType::kI64, DType::kF16}) {
    EXPECT_EQ(reduced(Op::kSum, array_of(dtype, {3}, {-1, -2, -3})).at(0), Scalar::of(dtype, -6));
    EXPECT_EQ(reduced(Op::kReduceMax, array_of(dtype, {3}, {-3, -2, -3})).at(0),
              Scalar::of(dtype, -2));
  }
}

TEST(Reduce, EmptyReductionsGiveTheNeutralElement) {
  for (const DTypeInfo& row : kDTypes) {
    const Array empty(row.dtype, {2, 0});
    if (!is_bool(row.dtype)) {
      EXPECT_EQ(reduced(Op::kSum, empty).at(1), Scalar::of(row.dtype, 0)) << row.name;
      EXPECT_EQ(reduced(Op::kProd, empty).at(1), Scalar::of(row.dtype, 1)) << row.name;
    }
    EXPECT_EQ(reduced(Op::kReduceMax, empty).at(1), Scalar::lowest(row.dtype)) << row.name;
    const Array nothing(row.dtype, {0, 3});
    EXPECT_EQ(reduced(Op::kReduceMax, nothing).extents(), (Extents{0})) << row.name;
  }
}

TEST(Reduce, NaNAndInfinitiesGoThrough) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kF8E5M2}) {
    const Array array =
        array_of(dtype, {3, 2}, {1, NAN, INFINITY, -INFINITY, static_cast<double>(INFINITY), 1});
    const Array sum = reduced(Op::kSum, array);
    const Array largest = reduced(Op::kReduceMax, array);
    EXPECT_TRUE(std::isnan(sum.at(0).as_double())) << name(dtype);
    EXPECT_TRUE(std::isnan(sum.at(1).as_double())) << name(dtype);
    EXPECT_EQ(sum.at(2).as_double(), INFINITY) << name(dtype);
    EXPECT_TRUE(std::isnan(largest.at(0).as_double())) << name(dtype);
    EXPECT_EQ(largest.at(1).as_double(), INFINITY) << name(dtype);
  }
  // NaN first: a comparison alone would lose it.
  EXPECT_TRUE(std::isnan(
      reduced(Op::kReduceMax, array_of(DType::kF32, {3}, {NAN, 1, 2})).at(0).as_double()));
}

TEST(Reduce, NarrowSumsAccumulateWideAndRoundOnce) {
  // 4096 ones: f16 stops at 2048 + 1 = 2048, bf16 at 256, f8 at 16.
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const Array ones = Array::from<double>(dtype, {4096}, std::vector<double>(4096, 1.0));
    EXPECT_EQ(reduced(Op::kSum, ones).at(0).as_double(), 4096.0) << name(dtype);
  }
  const Array ones = Array::from<double>(DType::kF8E4M3, {256}, std::vector<double>(256, 1.0));
  EXPECT_EQ(reduced(Op::kSum, ones).at(0).as_double(), 256.0);
  // f32: the small terms survive beside the large one that cancels.
  const Array cancelling = array_of(DType::kF32, {4}, {1e8, 1, 1, -1e8});
  EXPECT_EQ(reduced(Op::kSum, cancelling).at(0).as_double(), 2.0);
  // A sum beyond the largest half comes back below it.
  const Array large = array_of(DType::kF16, {3}, {60000, 60000, -60000});
  EXPECT_EQ(reduced(Op::kSum, large).at(0), Scalar::of(DType::kF16, 60000.0));
  EXPECT_EQ(reduced(Op::kSum, array_of(DType::kF16, {2}, {60000, 60000})).at(0).as_double(),
            INFINITY);
}

TEST(Reduce, IntegersWrap) {
  EXPECT_EQ(reduced(Op::kSum, array_of(DType::kI8, {2}, {127, 1})).at(0).as_int64(), -128);
  EXPECT_EQ(reduced(Op::kSum, array_of(DType::kU4, {2}, {15, 3})).at(0).as_int64(), 2);
  EXPECT_EQ(reduced(Op::kProd, array_of(DType::kI32, {2}, {65536, 65536})).at(0).as_int64(), 0);
  EXPECT_EQ(reduced(Op::kSum, integers_of(DType::kI64, {2}, {INT64_MAX, 1})).at(0).as_int64(),
            INT64_MIN);
}

TEST(Reduce, LongAndShortRowsCrossBlocks) {
  for (const int64_t length : {int64_t{1}, int64_t{3}, kBlockSize, kBlockSize + 1, int64_t{5000}}) {
    const int64_t rows = 5000 / length + 2;
    std::vector<int64_t> values(static_cast<size_t>(rows * length));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i % 1013);
    const Array sum = reduced(Op::kSum, integers_of(DType::kI64, {rows, length}, values));
    for (int64_t row = 0; row < rows; ++row) {
      int64_t expected = 0;
      for (int64_t i = 0; i < length; ++i)
        expected += values[static_cast<size_t>(row * length + i)];
      ASSERT_EQ(sum.at(row).as_int64(), expected) << length;
    }
  }
}

}  // namespace
}  // namespace luminal::graph
