#include "luminal/graph/float_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "luminal/graph/elements.h"
#include "luminal/support/check.h"

namespace luminal::graph {
namespace {

/// Takes "d.ddde+XX" apart.
Decimal from_scientific(std::string_view text) {
  Decimal result;
  if (text.front() == '-') {
    result.negative = true;
    text.remove_prefix(1);
  }
  const size_t mark = text.find('e');
  for (const char c : text.substr(0, mark))
    if (c != '.') result.digits += c;
  std::string_view exponent = text.substr(mark + 1);
  if (exponent.front() == '+') exponent.remove_prefix(1);
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), result.exponent);
  const size_t last = result.digits.find_last_not_of('0');
  result.digits.resize(last == std::string::npos ? 1 : last + 1);
  return result;
}

/// The narrow formats have at most 11 significant bits: five digits tell any two values apart.
Decimal shortest_narrow(DType dtype, double value) {
  std::array<char, 64> buffer;
  for (int precision = 0; precision < 8; ++precision) {
    const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                       std::chars_format::scientific, precision);
    double back = 0.0;
    std::from_chars(buffer.data(), written.ptr, back);
    round_floats(dtype, {&back, 1});
    if (back == value)
      return from_scientific({buffer.data(), static_cast<size_t>(written.ptr - buffer.data())});
  }
  throw InternalError(fmt::format("{} has no short decimal in {}", value, dtype));
}

template <typename Float>
Decimal shortest_wide(Float value) {
  std::array<char, 64> buffer;
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                     std::chars_format::scientific);
  return from_scientific({buffer.data(), static_cast<size_t>(written.ptr - buffer.data())});
}

}  // namespace

std::string Decimal::whole_part() const {
  std::string text = negative ? "-" : "";
  if (exponent < 0) return text + "0";
  const auto count = static_cast<size_t>(exponent) + 1;
  text += digits.substr(0, count);
  if (digits.size() < count) text.append(count - digits.size(), '0');
  return text;
}

std::string Decimal::fraction_part() const {
  if (exponent < 0) return std::string(static_cast<size_t>(-exponent) - 1, '0') + digits;
  const auto whole = static_cast<size_t>(exponent) + 1;
  return digits.size() > whole ? digits.substr(whole) : "";
}

Decimal shortest_decimal(DType dtype, double value) {
  LUMINAL_CHECK(is_float(dtype) && std::isfinite(value));
  if (value == 0.0) return {std::signbit(value), "0", 0};
  if (dtype == DType::kF64) return shortest_wide(value);
  if (dtype == DType::kF32) return shortest_wide(static_cast<float>(value));
  return shortest_narrow(dtype, value);
}

std::string shortest_text(DType dtype, double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const Decimal decimal = shortest_decimal(dtype, value);
  if (decimal.exponent >= -5 && decimal.exponent < 16) {
    const std::string fraction = decimal.fraction_part();
    return decimal.whole_part() + (fraction.empty() ? "" : "." + fraction);
  }
  std::string text = decimal.negative ? "-" : "";
  text += decimal.digits[0];
  if (decimal.digits.size() > 1) text += "." + decimal.digits.substr(1);
  return text + fmt::format("e{:+03}", decimal.exponent);
}

}  // namespace luminal::graph
