// Polynomials for the pieces of a function: intervals of equal width around 0, w, 2w, ..., few
// enough that a register or two hold one coefficient of all of them. Found by interpolation where
// Chebyshev says, in double, so that no numbers need to be written down.
#pragma once

#include <functional>
#include <vector>

namespace luminal::codegen {

/// Which pieces.
struct PieceSpec {
  int count;         ///< 16 or 32
  double width;      ///< of one
  int degree;        ///< of its polynomial
  bool from_middle;  ///< polynomials in the distance from the middle of a piece, else in x itself
  double end = 0;    ///< where the last one ends, if that is past its own end
};

/// coefficients[power][piece].
using Pieces = std::vector<std::vector<double>>;

/// Fits a smooth function, which must be defined a little below 0 too.
Pieces fit_pieces(const std::function<double(double)>& function, const PieceSpec& spec);

}  // namespace luminal::codegen
