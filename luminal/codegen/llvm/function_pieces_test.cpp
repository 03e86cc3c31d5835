#include "luminal/codegen/llvm/function_pieces.h"

#include <gtest/gtest.h>

#include <cmath>

namespace luminal::codegen {
namespace {

double evaluate(const Pieces& pieces, size_t piece, double x) {
  double result = 0;
  for (size_t power = pieces.size(); power-- > 0;) result = result * x + pieces[power][piece];
  return result;
}

TEST(FunctionPieces, PolynomialsOfTheDegreeAreFoundExactly) {
  const auto cubic = [](double x) { return 2 - x + 3 * x * x - 0.5 * x * x * x; };
  for (const bool from_middle : {false, true}) {
    const Pieces pieces = fit_pieces(cubic, {16, 0.25, 3, from_middle});
    ASSERT_EQ(pieces.size(), 4U);
    for (size_t piece = 0; piece < 16; ++piece) {
      const double x = 0.25 * static_cast<double>(piece) + 0.1;
      const double argument = from_middle ? 0.1 : x;
      EXPECT_NEAR(evaluate(pieces, piece, argument), cubic(x), 1e-11) << piece;
    }
  }
}

TEST(FunctionPieces, ErrorsFallWithTheDegreeInEveryPiece) {
  double before = 1;
  for (int degree = 1; degree < 5; ++degree) {
    const Pieces pieces =
        fit_pieces([](double x) { return std::exp(x); }, {16, 0.125, degree, true});
    double worst = 0;
    for (size_t piece = 0; piece < 16; ++piece)
      for (double t = -0.0625; t <= 0.0625; t += 0.0078125) {
        const double exact = std::exp(0.125 * static_cast<double>(piece) + t);
        worst = std::max(worst, std::fabs(evaluate(pieces, piece, t) / exact - 1));
      }
    EXPECT_LT(worst, before / 20) << degree;
    before = worst;
  }
}

TEST(FunctionPieces, TheLastPieceReachesItsEnd) {
  const auto function = [](double x) { return std::sin(x); };
  const Pieces pieces = fit_pieces(function, {32, 1.0 / 32, 3, true, 1.0});
  EXPECT_NEAR(evaluate(pieces, 31, 1.0 / 32), std::sin(1.0), 1e-8);
}

}  // namespace
}  // namespace luminal::codegen
