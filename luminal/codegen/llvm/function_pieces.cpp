#include "luminal/codegen/llvm/function_pieces.h"

#include <cmath>
#include <numbers>

namespace luminal::codegen {
namespace {

/// The polynomial through points, by Newton's differences; lowest power first.
std::vector<double> interpolate(const std::vector<double>& x, std::vector<double> y) {
  const size_t count = x.size();
  for (size_t level = 1; level < count; ++level)
    for (size_t i = count - 1; i >= level; --i) y[i] = (y[i] - y[i - 1]) / (x[i] - x[i - level]);
  std::vector<double> result(count, 0.0);
  for (size_t k = count; k-- > 0;) {
    // result * (t - x[k]) + y[k]
    for (size_t i = count - 1; i > 0; --i) result[i] = result[i - 1] - x[k] * result[i];
    result[0] = y[k] - x[k] * result[0];
  }
  return result;
}

}  // namespace

Pieces fit_pieces(const std::function<double(double)>& function, const PieceSpec& spec) {
  const int points = spec.degree + 1;
  Pieces result(static_cast<size_t>(points));
  for (int piece = 0; piece < spec.count; ++piece) {
    const double middle = piece * spec.width;
    const double low = middle - spec.width / 2;
    double high = middle + spec.width / 2;
    if (piece + 1 == spec.count) high = std::max(high, spec.end);
    const double origin = spec.from_middle ? middle : 0.0;
    std::vector<double> x;
    std::vector<double> y;
    for (int i = 0; i < points; ++i) {
      const double at = std::cos(std::numbers::pi * (i + 0.5) / points);
      const double place = (low + high) / 2 + (high - low) / 2 * at;
      x.push_back(place - origin);
      y.push_back(function(place));
    }
    const std::vector<double> polynomial = interpolate(x, y);
    for (size_t power = 0; power < polynomial.size(); ++power)
      result[power].push_back(polynomial[power]);
  }
  return result;
}

}  // namespace luminal::codegen
