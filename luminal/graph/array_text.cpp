#include "luminal/graph/array_text.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ostream>

#include "luminal/graph/float_text.h"

namespace luminal::graph {
namespace {

/// A float split at the point: "-12" and "5" (positional), or "-1" and "25" and exponent 3.
struct FloatParts {
  std::string whole;
  std::string fraction;
  int exponent = 0;
};

/// Cuts trailing zeros of a fraction.
std::string trimmed(std::string fraction) {
  const size_t last = fraction.find_last_not_of('0');
  fraction.resize(last == std::string::npos ? 0 : last + 1);
  return fraction;
}

/// Splits "12.50000000" as printf writes it.
FloatParts split_fixed(const std::string& text) {
  const size_t point = text.find('.');
  if (point == std::string::npos) return {text, "", 0};
  return {text.substr(0, point), trimmed(text.substr(point + 1)), 0};
}

FloatParts positional_parts(DType dtype, double value, int precision) {
  const Decimal decimal = shortest_decimal(dtype, value);
  std::string fraction = decimal.fraction_part();
  if (static_cast<int>(fraction.size()) > precision)
    return split_fixed(fmt::format("{:.{}f}", value, precision));
  return {decimal.whole_part(), std::move(fraction), 0};
}

FloatParts scientific_parts(DType dtype, double value, int precision) {
  const Decimal decimal = shortest_decimal(dtype, value);
  if (static_cast<int>(decimal.digits.size()) - 1 > precision) {
    const std::string text = fmt::format("{:.{}e}", value, precision);
    const size_t mark = text.find('e');
    FloatParts parts = split_fixed(text.substr(0, mark));
    parts.exponent = std::atoi(text.c_str() + mark + 1);
    return parts;
  }
  return {(decimal.negative ? "-" : "") + decimal.digits.substr(0, 1), decimal.digits.substr(1),
          decimal.exponent};
}

std::string non_finite_text(double value) {
  if (std::isnan(value)) return "nan";
  return value < 0 ? "-inf" : "inf";
}

/// "e+05", with at least `digits` digits.
std::string exponent_text(int exponent, size_t digits) {
  return fmt::format("e{}{:0{}}", exponent < 0 ? '-' : '+', std::abs(exponent), digits);
}

std::string pad_left(const std::string& text, size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// Writes the shown elements of one array in columns of equal width.
class ElementWriter {
 public:
  ElementWriter(const Array& array, const std::vector<int64_t>& shown, int precision)
      : array_(array), precision_(precision) {
    if (is_float(array.dtype())) {
      measure_floats(shown);
    } else {
      for (const int64_t position : shown) width_ = std::max(width_, plain(position).size());
    }
  }

  std::string text(int64_t position) const {
    if (!is_float(array_.dtype())) return pad_left(plain(position), width_);
    const double value = array_.at(position).as_double();
    if (!std::isfinite(value)) return pad_left(non_finite_text(value), width_);
    const FloatParts parts = split(value);
    std::string fraction = parts.fraction;
    if (scientific_) {
      fraction.append(fraction_width_ - fraction.size(), '0');
      fraction += exponent_text(parts.exponent, exponent_digits_);
    } else {
      fraction.append(fraction_width_ - fraction.size(), ' ');
    }
    return pad_left(parts.whole + "." + fraction, width_);
  }

 private:
  std::string plain(int64_t position) const {
    const Scalar value = array_.at(position);
    if (is_bool(array_.dtype())) return value.as_int64() != 0 ? "True" : "False";
    return value.to_string();
  }

  FloatParts split(double value) const {
    return scientific_ ? scientific_parts(array_.dtype(), value, precision_)
                       : positional_parts(array_.dtype(), value, precision_);
  }

  void measure_floats(const std::vector<int64_t>& shown) {
    std::vector<double> finite;
    size_t non_finite_width = 0;
    double largest = 0.0;
    double smallest = INFINITY;
    for (const int64_t position : shown) {
      const double value = array_.at(position).as_double();
      if (!std::isfinite(value)) {
        non_finite_width = std::max(non_finite_width, non_finite_text(value).size());
        continue;
      }
      finite.push_back(value);
      largest = std::max(largest, std::fabs(value));
      if (value != 0.0) smallest = std::min(smallest, std::fabs(value));
    }
    scientific_ =
        largest > 0.0 && (largest >= 1e8 || smallest < 1e-4 || largest / smallest > 1000.0);
    measure_finite(finite);
    width_ = std::max(width_, non_finite_width);
  }

  void measure_finite(const std::vector<double>& finite) {
    size_t whole_width = 0;
    for (const double value : finite) {
      const FloatParts parts = split(value);
      whole_width = std::max(whole_width, parts.whole.size());
      fraction_width_ = std::max(fraction_width_, parts.fraction.size());
      if (std::abs(parts.exponent) >= 100) exponent_digits_ = 3;
    }
    const size_t exponent_width = scientific_ ? 2 + exponent_digits_ : 0;
    if (!finite.empty()) width_ = whole_width + 1 + fraction_width_ + exponent_width;
  }

  const Array& array_;
  int precision_;
  bool scientific_ = false;
  size_t fraction_width_ = 0;
  size_t exponent_digits_ = 2;
  size_t width_ = 0;
};

/// The positions along one axis that are shown, -1 for the ellipsis.
std::vector<int64_t> shown_along(int64_t extent, bool summarize, int64_t edge_items) {
  std::vector<int64_t> positions;
  const bool cut = summarize && extent > 2 * edge_items;
  for (int64_t i = 0; i < (cut ? edge_items : extent); ++i) positions.push_back(i);
  if (!cut) return positions;
  positions.push_back(-1);
  for (int64_t i = extent - edge_items; i < extent; ++i) positions.push_back(i);
  return positions;
}

/// Row-major positions of everything that is shown.
std::vector<int64_t> shown_elements(const Array& array, bool summarize, int64_t edge_items) {
  std::vector<int64_t> positions{0};
  for (const int64_t extent : array.extents()) {
    std::vector<int64_t> next;
    for (const int64_t base : positions)
      for (const int64_t i : shown_along(extent, summarize, edge_items))
        if (i >= 0) next.push_back(base * extent + i);
    positions = std::move(next);
  }
  return positions;
}

/// Lays out the nested brackets.
class ArrayWriter {
 public:
  ArrayWriter(const Array& array, const ArrayTextOptions& options)
      : array_(array),
        options_(options),
        summarize_(array.size() > options.threshold),
        elements_(array, shown_elements(array, summarize_, options.edge_items), options.precision) {
  }

  /// The part of axes `axis`.. whose leading axes fix the row-major position `base`. Every line but
  /// the first begins with `indent`.
  std::string text(size_t axis, int64_t base, const std::string& indent, int width) const {
    const size_t axes_left = array_.extents().size() - axis;
    if (axes_left == 0) return elements_.text(base);
    const int64_t extent = array_.extents()[axis];
    const auto positions = shown_along(extent, summarize_, options_.edge_items);
    if (axes_left == 1) return row(positions, base * extent, indent, width);
    const std::string separator(axes_left - 1, '\n');
    std::string result = "[";
    for (size_t k = 0; k < positions.size(); ++k) {
      if (k > 0) result += separator + indent;
      result += positions[k] < 0
                    ? "..."
                    : text(axis + 1, base * extent + positions[k], indent + " ", width - 1);
    }
    return result + "]";
  }

 private:
  std::string row(const std::vector<int64_t>& positions, int64_t base, const std::string& indent,
                  int width) const {
    std::string finished;
    std::string line = indent;
    for (size_t k = 0; k < positions.size(); ++k) {
      const std::string word = positions[k] < 0 ? "..." : elements_.text(base + positions[k]);
      const bool wraps = static_cast<int>(line.size() + word.size()) >= width;
      if (wraps && line.size() > indent.size()) {
        line.resize(line.find_last_not_of(' ') + 1);
        finished += line + "\n";
        line = indent;
      }
      line += word;
      if (k + 1 < positions.size()) line += ' ';
    }
    finished += line;
    return "[" + finished.substr(indent.size()) + "]";
  }

  const Array& array_;
  const ArrayTextOptions& options_;
  bool summarize_;
  ElementWriter elements_;
};

}  // namespace

std::string to_string(const Array& array, const ArrayTextOptions& options) {
  if (array.size() == 0) return "[]";
  if (array.extents().empty()) {
    const Scalar value = array.at(0);
    if (is_bool(array.dtype())) return value.as_int64() != 0 ? "True" : "False";
    const std::string text = value.to_string();
    const bool whole =
        is_float(array.dtype()) && text.find_first_not_of("-0123456789") == text.npos;
    return whole ? text + ".0" : text;  // NumPy prints scalars like Python: 1.0, but [1.]
  }
  return ArrayWriter(array, options).text(0, 0, " ", options.line_width);
}

std::ostream& operator<<(std::ostream& stream, const Array& array) {
  return stream << to_string(array);
}

}  // namespace luminal::graph
