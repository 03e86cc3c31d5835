// What the code of a convolution by squares of pixels (winograd_emitter.h) is made of: sizes, the
// blocks that work is cut into, and where things lie in the scratch of a thread.
#pragma once

#include <string>
#include <vector>

#include "luminal/codegen/llvm/gemm.h"
#include "luminal/codegen/llvm/window_emitter.h"

namespace luminal::codegen {

/// Steps of one side of a window.
inline constexpr int64_t kWindowSide = 3;
/// Places of a transformed square, and of one of its sides.
inline constexpr int64_t kSquareSide = 4;
inline constexpr int64_t kSquarePlaces = kSquareSide * kSquareSide;

/// What the entry is made of. A row of squares gives two rows of pixels; rows of all planes are
/// numbered through. The image is not laid out.
struct WinogradCode : WindowCode {
  std::vector<symbolic::Expr> channels;  ///< summed axes other than those of the window
  kernel::BodyId image;                  ///< the plan's value in the type of sums
  GemmSpec spec;                         ///< the tile: rows of the filter times squares
  kernel::NodeId filter;                 ///< transformed: places, rows, channels
  int64_t rows = 1;                      ///< of squares in one item
  int64_t parts = 1;                     ///< that the filter rows are cut into
  int lanes = 1;                         ///< of the tile

  int64_t channel_count() const;
  int64_t filter_rows() const;
  /// Squares along both axes of a plane.
  int64_t across() const { return (plan.width + 1) / 2; }
  int64_t down() const { return (plan.height + 1) / 2; }
  /// Squares that are transformed at a time: short rows need no long vectors.
  int squares_at_once() const;
  /// Rows of squares of all planes.
  symbolic::Expr all_rows() const;
  symbolic::Expr items() const;
  /// Filter rows of one part: whole tiles.
  int64_t part_rows() const;
  /// Elements between channels of transformed squares (and rows of sums), and between places.
  int64_t pitch() const;
  int64_t square_place() const;
  int64_t sum_place() const;
  int64_t scratch_bytes() const;
};

/// One line for people and for cache keys.
std::string to_string(const WinogradCode& code);

}  // namespace luminal::codegen
