#include "luminal/graph/array.h"

#include <gtest/gtest.h>

#include <cmath>

#include "luminal/graph/dispatch.h"
#include "luminal/support/error.h"

namespace luminal::graph {
namespace {

template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Array, StartsAsZerosOfAnyDtype) {
  for (const DTypeInfo& row : kDTypes) {
    const Array array(row.dtype, {3, 1});
    EXPECT_EQ(array.size(), 3);
    EXPECT_EQ(static_cast<int64_t>(array.bytes().size()), byte_size(row.dtype, 3));
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(array.at(i), Scalar::of(row.dtype, 0)) << row.name;
  }
}

TEST(Array, LargeOnesBeginAtAHugePageAndSmallOnesAtALine) {
  const auto address = [](const Array& array) {
    return reinterpret_cast<uintptr_t>(array.bytes().data());
  };
  Array large(DType::kF32, {1, (4 << 20) / 4 + 3});
  EXPECT_EQ(address(large) % (2 << 20), 0U);
  large.set(large.size() - 1, Scalar::of(DType::kF32, 2));
  EXPECT_EQ(large.at(large.size() - 1).as_double(), 2);
  EXPECT_EQ(large.at(large.size() - 2).as_double(), 0);
  EXPECT_EQ(address(Array(DType::kF32, {1000})) % 64, 0U);
  for (const int64_t megabytes : {1, 3}) {
    Array rows(DType::kU8, {megabytes, 1 << 20});
    EXPECT_EQ(address(rows) % (2 << 20), 0U) << megabytes;
    rows.set(rows.size() - 1, Scalar::of(DType::kU8, 7));
    EXPECT_EQ(rows.at(rows.size() - 1).as_double(), 7);
  }
}

TEST(Array, SetAndAtAgreeForEveryDtype) {
  for (const DTypeInfo& row : kDTypes) {
    Array array(row.dtype, {5});
    for (int i = 0; i < 5; ++i) array.set(i, Scalar::of(DType::kI32, i + 1));
    for (int i = 0; i < 5; ++i) EXPECT_EQ(array.at(i), Scalar::of(row.dtype, i + 1)) << row.name;
  }
}

TEST(Array, CopiesShareBytesUntilOneIsWritten) {
  const std::vector<float> values{1, 2, 3};
  Array first = Array::from<float>(DType::kF32, {3}, values);
  const Array second = first;
  EXPECT_EQ(first.bytes().data(), second.bytes().data());
  first.mutable_as<float>()[0] = 9;
  EXPECT_EQ(first.as<float>()[0], 9);
  EXPECT_EQ(second.as<float>()[0], 1);
  // Once unshared, writing does not copy again.
  const std::byte* data = first.bytes().data();
  EXPECT_EQ(first.mutable_bytes().data(), data);
}

TEST(Array, VectorsOfAllTypesConvertBothWays) {
  const std::vector<double> values{0, 1, 2.75, -3, 300, NAN};
  const Array array = Array::from<double>(DType::kF32, {2, 3}, values);
  EXPECT_EQ(array.to_vector<int32_t>(), (std::vector<int32_t>{0, 1, 2, -3, 300, 0}));
  EXPECT_EQ(array.to_vector<uint8_t>(), (std::vector<uint8_t>{0, 1, 2, 0, 255, 0}));
  EXPECT_EQ(array.to_vector<int8_t>(), (std::vector<int8_t>{0, 1, 2, -3, 127, 0}));
  EXPECT_EQ(array.to_vector<bool>(), (std::vector<bool>{false, true, true, true, true, true}));
  EXPECT_EQ(array.to_vector<float>()[2], 2.75F);
  EXPECT_TRUE(std::isnan(array.to_vector<double>()[5]));

  const bool flags[] = {true, false};
  EXPECT_EQ(Array::from<bool>(DType::kF16, {2}, flags).to_vector<float>(),
            (std::vector<float>{1, 0}));
  const std::vector<int64_t> large{INT64_MAX, INT64_MIN};
  EXPECT_EQ(Array::from<int64_t>(DType::kI64, {2}, large).to_vector<int64_t>(), large);
  EXPECT_EQ(Array::from<int64_t>(DType::kI32, {2}, large).to_vector<int64_t>(),
            (std::vector<int64_t>{-1, 0}));
  const std::vector<int16_t> small{-8, 7, -1};
  const Array packed = Array::from<int16_t>(DType::kI4, {3}, small);
  EXPECT_EQ(packed.bytes().size(), 2U);
  EXPECT_EQ(packed.to_vector<int16_t>(), small);
  EXPECT_EQ(packed.cast(DType::kU4).to_vector<int32_t>(), (std::vector<int32_t>{8, 7, 15}));
}

TEST(Array, EmptyAndScalarShapesWork) {
  const Array empty(DType::kF32, {2, 0, 3});
  EXPECT_EQ(empty.size(), 0);
  EXPECT_TRUE(empty.to_vector<float>().empty());
  EXPECT_EQ(empty.cast(DType::kI4).size(), 0);
  const float value = 4;
  const Array scalar = Array::from<float>(DType::kF32, {}, std::span(&value, 1));
  EXPECT_EQ(scalar.size(), 1);
  EXPECT_EQ(scalar.at(0).as_double(), 4);
  EXPECT_EQ(Array().size(), 0);
}

TEST(Array, ReshapingSharesTheBytes) {
  const Array array(DType::kI32, {2, 6});
  const Array other = array.reshaped({3, 4});
  EXPECT_EQ(other.extents(), (Extents{3, 4}));
  EXPECT_EQ(other.bytes().data(), array.bytes().data());
  EXPECT_EQ(error_of([&] { array.reshaped({5}); }), "reshape: [2, 6] has 12 elements, [5] has 5");
}

TEST(Array, IdenticalComparesDtypeExtentsAndBits) {
  const std::vector<float> values{0.0F, NAN};
  const Array array = Array::from<float>(DType::kF32, {2}, values);
  EXPECT_TRUE(array.identical(Array::from<float>(DType::kF32, {2}, values)));
  EXPECT_FALSE(array.identical(array.reshaped({1, 2})));
  EXPECT_FALSE(array.identical(array.cast(DType::kF64)));
  const std::vector<float> negative{-0.0F, NAN};
  EXPECT_FALSE(array.identical(Array::from<float>(DType::kF32, {2}, negative)));
}

TEST(Array, RawBytesAreMadeCanonical) {
  const Array flags(DType::kBool, {2}, {std::byte{2}, std::byte{0}});
  EXPECT_EQ(flags.bytes()[0], std::byte{1});
  const Array packed(DType::kU4, {1}, {std::byte{0xf3}});
  EXPECT_TRUE(packed.identical(Array(DType::kU4, {1}, {std::byte{3}})));
}

TEST(Array, WrongSizesAndTypesAreRefused) {
  const std::vector<float> values{1, 2};
  EXPECT_EQ(error_of([&] { Array::from<float>(DType::kF32, {3}, values); }),
            "array: f32[3] takes 3 values, not 2");
  EXPECT_EQ(error_of([] { Array(DType::kI4, {3}, std::vector<std::byte>(3)); }),
            "array: i4[3] takes 2 bytes, not 3");
  EXPECT_EQ(error_of([] { Array(DType::kF32, {2, -1}); }), "array: negative extent in [2, -1]");
  EXPECT_EQ(error_of([] {
              Array(DType::kF32, {int64_t{1} << 40, int64_t{1} << 40});
            }),
            "array: too many elements in [1099511627776, 1099511627776]");
  EXPECT_EQ(error_of([] { Array(DType::kF32, {1}).as<double>(); }),
            "array: elements of f32 asked for as f64; cast first");
  EXPECT_THROW(Array(DType::kF32, {1}).at(1), InternalError);
  EXPECT_EQ(element_count(Extents{int64_t{1} << 40, int64_t{1} << 40, 0}), 0);
}

TEST(Dispatch, EveryDtypeHasAStorageTypeOfItsWidth) {
  for (const DTypeInfo& row : kDTypes) {
    const int width = dispatch(row.dtype, [](auto tag) {
      return static_cast<int>(sizeof(typename decltype(tag)::Storage)) * 8 /
             (decltype(tag)::kPacked ? 2 : 1);
    });
    EXPECT_EQ(width, row.bits) << row.name;
    EXPECT_EQ(dispatch(row.dtype, [](auto tag) { return decltype(tag)::kDType; }), row.dtype);
    EXPECT_EQ(dtype_from_name(row.name), row.dtype);
  }
  EXPECT_EQ(dtype_of<BFloat16>(), DType::kBF16);
  EXPECT_EQ(dtype_from_name("f33"), std::nullopt);
}

TEST(Array, MoreBytesThanThereIsMemoryAreAUserError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer ends the process where malloc would say no";
#endif
  EXPECT_EQ(error_of([] { Array(DType::kF64, {int64_t{1} << 54}); }),
            "array: there is no memory for the 144115188075855872 bytes of "
            "f64[18014398509481984]");
}

}  // namespace
}  // namespace luminal::graph
