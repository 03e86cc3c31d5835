// One value of any dtype, held exactly. Constants, fills and scalar operands are Scalars; Scalar
// arithmetic is not provided: the interpreter computes.
#pragma once

#include <cstdint>
#include <string>

#include "luminal/graph/dtype.h"
#include "luminal/support/hash.h"

namespace luminal::graph {

/// A value together with its dtype. Two Scalars are equal if dtype and value are, where all NaNs
/// are one value and -0.0 differs from 0.0 (they are told apart by division).
class Scalar {
 public:
  Scalar() = default;

  /// The value rounded (floats) or wrapped (integers) to `dtype` by the cast rules of dtype.h.
  static Scalar of(DType dtype, double value);
  static Scalar of(DType dtype, int64_t value);  ///< integers
  static Scalar of(DType dtype, int value) { return of(dtype, static_cast<int64_t>(value)); }
  static Scalar of(DType dtype, bool value) { return of(dtype, static_cast<int64_t>(value)); }

  /// The smallest and largest value of a dtype: infinities where the format has them.
  static Scalar lowest(DType dtype);
  static Scalar highest(DType dtype);  ///< of the dtype

  DType dtype() const { return dtype_; }  ///< that the value is rounded to
  /// The value as a double; exact for all dtypes but i64.
  double as_double() const { return is_float(dtype_) ? float_ : static_cast<double>(integer_); }
  /// The value as an integer, floats cast by the rules of dtype.h.
  int64_t as_int64() const;
  /// This value cast to another dtype.
  Scalar cast(DType dtype) const;

  bool operator==(const Scalar& other) const;  ///< same dtype and bits; all NaN are equal
  void add_to(support::Hasher& hasher) const;  ///< equal scalars add the same
  /// Shortest text that parses back to the same value: "1", "0.1", "-inf", "nan", "true".
  std::string to_string() const;
  /// Reads what to_string wrote; throws UserError if `text` is no value of `dtype`.
  static Scalar parse(DType dtype, std::string_view text);

 private:
  DType dtype_ = DType::kF32;
  double float_ = 0.0;   // the value of float dtypes
  int64_t integer_ = 0;  // the value of integers and bool
};

}  // namespace luminal::graph
