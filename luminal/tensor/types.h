// The words of the public interface: dtypes by their short names, dims, shapes and host data.
#pragma once

#include "luminal/graph/array.h"
#include "luminal/graph/dtype.h"
#include "luminal/graph/scalar.h"
#include "luminal/graph/shape.h"

namespace luminal {

using graph::Array;
using graph::DType;
using graph::Extents;
using graph::Scalar;
using graph::Shape;

/// The extent of an axis: a number or an expression over named dims.
using Dim = symbolic::Expr;
/// One name per dtype.
inline constexpr DType f64 = DType::kF64;
inline constexpr DType f32 = DType::kF32;        ///< IEEE single
inline constexpr DType f16 = DType::kF16;        ///< IEEE half
inline constexpr DType bf16 = DType::kBF16;      ///< the upper half of an f32
inline constexpr DType f8e4m3 = DType::kF8E4M3;  ///< 8 bits, 4 of exponent: no infinities
inline constexpr DType f8e5m2 = DType::kF8E5M2;  ///< 8 bits, 5 of exponent
inline constexpr DType i64 = DType::kI64;        ///< 64 bits
inline constexpr DType i32 = DType::kI32;        ///< 32 bits
inline constexpr DType i16 = DType::kI16;        ///< 16 bits
inline constexpr DType i8 = DType::kI8;          ///< 8 bits
inline constexpr DType u32 = DType::kU32;        ///< 32 bits, unsigned
inline constexpr DType u16 = DType::kU16;        ///< 16 bits, unsigned
inline constexpr DType u8 = DType::kU8;          ///< 8 bits, unsigned
inline constexpr DType boolean = DType::kBool;   ///< true or false, a byte each
inline constexpr DType i4 = DType::kI4;          ///< two to a byte
inline constexpr DType u4 = DType::kU4;          ///< two to a byte, unsigned

}  // namespace luminal
