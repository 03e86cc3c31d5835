#include "luminal/graph/scalar.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "luminal/graph/elements.h"
#include "luminal/graph/float_text.h"
#include "luminal/support/error.h"

namespace luminal::graph {
namespace {

int64_t float_to_integer(DType dtype, double value) {
  int64_t result = 0;
  floats_to_integers(dtype, {&value, 1}, &result);
  return result;
}

[[noreturn]] void refuse(DType dtype, std::string_view text) {
  throw UserError("scalar", "\"{}\" is no value of {}", text, dtype);
}

/// A whole number that `dtype` can hold.
int64_t parse_integer(DType dtype, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) refuse(dtype, text);
  int64_t wrapped = value;
  wrap_integers(dtype, {&wrapped, 1});
  if (wrapped != value) refuse(dtype, text);
  return value;
}

double parse_float(DType dtype, std::string_view text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) refuse(dtype, text);
  return value;
}

}  // namespace

Scalar Scalar::of(DType dtype, double value) {
  Scalar result;
  result.dtype_ = dtype;
  if (is_float(dtype)) {
    result.float_ = value;
    round_floats(dtype, {&result.float_, 1});
  } else {
    result.integer_ = float_to_integer(dtype, value);
  }
  return result;
}

Scalar Scalar::of(DType dtype, int64_t value) {
  Scalar result;
  result.dtype_ = dtype;
  if (is_float(dtype)) {
    integers_to_floats(dtype, {&value, 1}, &result.float_);
  } else {
    result.integer_ = value;
    wrap_integers(dtype, {&result.integer_, 1});
  }
  return result;
}

Scalar Scalar::lowest(DType dtype) {
  if (is_bool(dtype)) return of(dtype, false);
  return of(dtype, -std::numeric_limits<double>::infinity());
}

Scalar Scalar::highest(DType dtype) { return of(dtype, std::numeric_limits<double>::infinity()); }

int64_t Scalar::as_int64() const {
  return is_float(dtype_) ? float_to_integer(DType::kI64, float_) : integer_;
}

Scalar Scalar::cast(DType dtype) const {
  return is_float(dtype_) ? of(dtype, float_) : of(dtype, integer_);
}

bool Scalar::operator==(const Scalar& other) const {
  if (dtype_ != other.dtype_) return false;
  if (!is_float(dtype_)) return integer_ == other.integer_;
  if (std::isnan(float_) || std::isnan(other.float_))
    return std::isnan(float_) && std::isnan(other.float_);
  return std::bit_cast<uint64_t>(float_) == std::bit_cast<uint64_t>(other.float_);
}

void Scalar::add_to(support::Hasher& hasher) const {
  hasher.add(dtype_);
  if (!is_float(dtype_)) {
    hasher.add(integer_);
  } else {
    hasher.add(std::isnan(float_) ? std::numeric_limits<double>::quiet_NaN() : float_);
  }
}

std::string Scalar::to_string() const {
  if (is_bool(dtype_)) return integer_ != 0 ? "true" : "false";
  if (!is_float(dtype_)) return fmt::format("{}", integer_);
  return shortest_text(dtype_, float_);
}

Scalar Scalar::parse(DType dtype, std::string_view text) {
  if (is_bool(dtype)) {
    if (text == "true") return of(dtype, true);
    if (text == "false") return of(dtype, false);
    refuse(dtype, text);
  }
  if (!is_float(dtype)) return of(dtype, parse_integer(dtype, text));
  return of(dtype, parse_float(dtype, text));
}

}  // namespace luminal::graph
