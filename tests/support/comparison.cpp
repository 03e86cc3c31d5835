#include "comparison.h"

#include <cmath>
#include <cstring>

namespace luminal::test {
namespace {

using graph::Array;

uint64_t bits_at(const Array& array, int64_t position) {
  const auto width = static_cast<size_t>(graph::bits(array.dtype()) / 8);
  uint64_t bits = 0;
  std::memcpy(&bits, array.bytes().data() + static_cast<size_t>(position) * width, width);
  return bits;
}

bool is_nan(const Array& array, int64_t position) {
  return graph::is_float(array.dtype()) && std::isnan(array.at(position).as_double());
}

bool is_close(double actual, double expected, const Tolerance& tolerance) {
  if (std::isinf(actual) || std::isinf(expected)) return actual == expected;
  return std::abs(actual - expected) <=
         tolerance.absolute + tolerance.relative * std::abs(expected);
}

bool matches(const Array& actual, const Array& expected, int64_t i, const Tolerance& tolerance) {
  if (actual.at(i) == expected.at(i)) return true;  // any NaN is any NaN, zeros are told apart
  if (!graph::is_float(actual.dtype())) return false;
  if (is_nan(actual, i) || is_nan(expected, i)) return false;
  const double a = actual.at(i).as_double();
  const double e = expected.at(i).as_double();
  switch (tolerance.kind) {
    case Tolerance::Kind::kExact:
      return false;
    case Tolerance::Kind::kEqual:
      return a == e;
    case Tolerance::Kind::kUlps:
      if (a == 0 && e == 0) return false;  // the sign of a zero is not an error of rounding
      return ulps_apart(actual, expected, i) <= static_cast<uint64_t>(tolerance.ulps);
    case Tolerance::Kind::kClose:
      return is_close(a, e, tolerance);
  }
  return false;
}

std::string extents_text(const graph::Extents& extents) {
  std::string text;
  for (const int64_t extent : extents) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "[" + text + "]";
}

/// The position as one index per axis.
std::string position_text(int64_t position, const graph::Extents& extents) {
  graph::Extents index(extents.size());
  for (size_t k = extents.size(); k-- > 0; position /= extents[k]) index[k] = position % extents[k];
  return extents_text(index);
}

}  // namespace

uint64_t ulps_apart(const Array& a, const Array& b, int64_t position) {
  const uint64_t sign = uint64_t{1} << (graph::bits(a.dtype()) - 1);
  const uint64_t first = bits_at(a, position);
  const uint64_t second = bits_at(b, position);
  const uint64_t low = first & ~sign;
  const uint64_t high = second & ~sign;
  if ((first & sign) == (second & sign)) return low > high ? low - high : high - low;
  return low + high + 1;
}

std::optional<std::string> difference(const Array& actual, const Array& expected,
                                      const Tolerance& tolerance) {
  if (actual.dtype() != expected.dtype())
    return fmt::format("dtype is {}, not {}", actual.dtype(), expected.dtype());
  if (actual.extents() != expected.extents())
    return fmt::format("shape is {}, not {}", extents_text(actual.extents()),
                       extents_text(expected.extents()));
  int64_t first = -1;
  int64_t count = 0;
  for (int64_t i = 0; i < actual.size(); ++i) {
    if (matches(actual, expected, i, tolerance)) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return std::nullopt;
  return fmt::format("{} of {} elements differ, first at {}: {} instead of {}", count,
                     actual.size(), position_text(first, actual.extents()),
                     actual.at(first).to_string(), expected.at(first).to_string());
}

}  // namespace luminal::test
