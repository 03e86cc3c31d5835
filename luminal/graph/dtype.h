// The element types of tensors, one table row each, and the C++ types that hold the narrow ones.
//
// Casts are exact where the target can hold the value; otherwise:
//   to a float          rounds to nearest, ties to even; NaN stays NaN; overflow gives infinity, or
//                       the largest finite value where the format has no infinity (f8e4m3)
//   float to integer    truncates toward zero and saturates at the ends of the range; NaN gives 0
//   integer to integer  keeps the low bits (wraps), as two's complement hardware does
//   to bool             is x != 0 (NaN is true); bool to number is 0 or 1
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace luminal::graph {

/// The element type of a tensor.
enum class DType : uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kF8E4M3,
  kF8E5M2,
  kI64,
  kI32,
  kI16,
  kI8,
  kU32,
  kU16,
  kU8,
  kBool,
  kI4,
  kU4,
};

/// What arithmetic a dtype has.
enum class DTypeKind : uint8_t { kFloat, kSigned, kUnsigned, kBool };

/// One row per dtype.
struct DTypeInfo {
  DType dtype;            ///< the row's own
  std::string_view name;  ///< in texts: "f32"
  int bits;               ///< i4 and u4 are packed two to a byte, low half first
  DTypeKind kind;         ///< how its bits are read
};
/// All dtypes, in the order of the enum.
inline constexpr std::array kDTypes{
    DTypeInfo{DType::kF64, "f64", 64, DTypeKind::kFloat},
    DTypeInfo{DType::kF32, "f32", 32, DTypeKind::kFloat},
    DTypeInfo{DType::kF16, "f16", 16, DTypeKind::kFloat},
    DTypeInfo{DType::kBF16, "bf16", 16, DTypeKind::kFloat},
    DTypeInfo{DType::kF8E4M3, "f8e4m3", 8,
              DTypeKind::kFloat},  // no infinity, one NaN pattern, max 448
    DTypeInfo{DType::kF8E5M2, "f8e5m2", 8, DTypeKind::kFloat},
    DTypeInfo{DType::kI64, "i64", 64, DTypeKind::kSigned},
    DTypeInfo{DType::kI32, "i32", 32, DTypeKind::kSigned},
    DTypeInfo{DType::kI16, "i16", 16, DTypeKind::kSigned},
    DTypeInfo{DType::kI8, "i8", 8, DTypeKind::kSigned},
    DTypeInfo{DType::kU32, "u32", 32, DTypeKind::kUnsigned},
    DTypeInfo{DType::kU16, "u16", 16, DTypeKind::kUnsigned},
    DTypeInfo{DType::kU8, "u8", 8, DTypeKind::kUnsigned},
    DTypeInfo{DType::kBool, "bool", 8, DTypeKind::kBool},
    DTypeInfo{DType::kI4, "i4", 4, DTypeKind::kSigned},
    DTypeInfo{DType::kU4, "u4", 4, DTypeKind::kUnsigned},
};
/// The row of a dtype.
constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }
/// What the assertion below asks.
constexpr bool dtype_table_is_in_enum_order() {
  for (size_t i = 0; i < kDTypes.size(); ++i)
    if (static_cast<size_t>(kDTypes[i].dtype) != i) return false;
  return true;
}
static_assert(dtype_table_is_in_enum_order());

constexpr std::string_view name(DType dtype) { return info(dtype).name; }  ///< "f32"
constexpr int bits(DType dtype) { return info(dtype).bits; }               ///< of one element
constexpr bool is_float(DType dtype) { return info(dtype).kind == DTypeKind::kFloat; }  ///< floats
constexpr bool is_bool(DType dtype) { return info(dtype).kind == DTypeKind::kBool; }    ///< kBool
/// Signed or unsigned integer; bool is neither.
constexpr bool is_integer(DType dtype) {
  return info(dtype).kind == DTypeKind::kSigned || info(dtype).kind == DTypeKind::kUnsigned;
}
constexpr bool is_unsigned(DType dtype) { return info(dtype).kind == DTypeKind::kUnsigned; }

/// The dtype of that name, if there is one.
std::optional<DType> dtype_from_name(std::string_view name);

/// Bytes that `count` contiguous elements take (packed dtypes round up to a whole byte).
constexpr int64_t byte_size(DType dtype, int64_t count) { return (count * bits(dtype) + 7) / 8; }

}  // namespace luminal::graph

/// Writes the name: "{}" takes a dtype, without further options.
template <>
struct fmt::formatter<luminal::graph::DType> {
  constexpr auto parse(format_parse_context& context) { return context.begin(); }
  template <typename Context>
  auto format(luminal::graph::DType dtype, Context& context) const {
    const std::string_view name = luminal::graph::name(dtype);
    return std::copy(name.begin(), name.end(), context.out());
  }
};
