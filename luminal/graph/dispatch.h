// From a dtype known at run time to C++ types known at compile time. Every dtype is stored as one
// C++ type and computed in one of two: double for floats, int64_t for integers and bool. Both hold
// every value of the dtypes they serve exactly.
#pragma once

#include <cstdint>
#include <type_traits>

#include "luminal/graph/dtype.h"
#include "luminal/graph/narrow_float.h"

namespace luminal::graph {

/// The types of one dtype. Packed dtypes (i4, u4) are stored as bytes that hold two elements each.
template <DType kType, typename StorageType>
struct DTypeTag {
  static constexpr DType kDType = kType;
  static constexpr bool kPacked = bits(kType) < 8;
  using Storage = StorageType;
  using Compute = std::conditional_t<is_float(kType), double, int64_t>;
};

/// Calls `function(DTypeTag<...>{})` for the dtype and gives back what it returns.
template <typename Function>
constexpr decltype(auto) dispatch(DType dtype, Function&& function) {
  switch (dtype) {
    case DType::kF64:
      return function(DTypeTag<DType::kF64, double>{});
    case DType::kF32:
      return function(DTypeTag<DType::kF32, float>{});
    case DType::kF16:
      return function(DTypeTag<DType::kF16, Half>{});
    case DType::kBF16:
      return function(DTypeTag<DType::kBF16, BFloat16>{});
    case DType::kF8E4M3:
      return function(DTypeTag<DType::kF8E4M3, F8E4M3>{});
    case DType::kF8E5M2:
      return function(DTypeTag<DType::kF8E5M2, F8E5M2>{});
    case DType::kI64:
      return function(DTypeTag<DType::kI64, int64_t>{});
    case DType::kI32:
      return function(DTypeTag<DType::kI32, int32_t>{});
    case DType::kI16:
      return function(DTypeTag<DType::kI16, int16_t>{});
    case DType::kI8:
      return function(DTypeTag<DType::kI8, int8_t>{});
    case DType::kU32:
      return function(DTypeTag<DType::kU32, uint32_t>{});
    case DType::kU16:
      return function(DTypeTag<DType::kU16, uint16_t>{});
    case DType::kU8:
      return function(DTypeTag<DType::kU8, uint8_t>{});
    case DType::kBool:
      return function(DTypeTag<DType::kBool, bool>{});
    case DType::kI4:
      return function(DTypeTag<DType::kI4, uint8_t>{});
    case DType::kU4:
      break;
  }
  return function(DTypeTag<DType::kU4, uint8_t>{});
}

namespace detail {
template <typename T>
inline constexpr bool kNoDType = false;
}  // namespace detail

/// The dtype that stores a C++ type: dtype_of<float>() is f32.
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, double>)
    return DType::kF64;
  else if constexpr (std::is_same_v<T, float>)
    return DType::kF32;
  else if constexpr (std::is_same_v<T, Half>)
    return DType::kF16;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return DType::kBF16;
  else if constexpr (std::is_same_v<T, F8E4M3>)
    return DType::kF8E4M3;
  else if constexpr (std::is_same_v<T, F8E5M2>)
    return DType::kF8E5M2;
  else if constexpr (std::is_same_v<T, int64_t>)
    return DType::kI64;
  else if constexpr (std::is_same_v<T, int32_t>)
    return DType::kI32;
  else if constexpr (std::is_same_v<T, int16_t>)
    return DType::kI16;
  else if constexpr (std::is_same_v<T, int8_t>)
    return DType::kI8;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return DType::kU32;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return DType::kU16;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return DType::kU8;
  else if constexpr (std::is_same_v<T, bool>)
    return DType::kBool;
  else
    static_assert(detail::kNoDType<T>, "no dtype stores this C++ type");
}

}  // namespace luminal::graph
