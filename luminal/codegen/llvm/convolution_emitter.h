// The entry of generated convolutions: "conv" computes work items, each some rows of the filter
// times a block of pixels, with everything that is done to the sums. Tiles of sums run over all
// steps of the window, short ones written out one after the other.
#pragma once

#include <string>
#include <vector>

#include "luminal/codegen/llvm/gemm.h"
#include "luminal/codegen/llvm/window_emitter.h"

namespace luminal::codegen {

/// Where the filter lies, in elements.
struct FilterPlace {
  kernel::NodeId tensor;
  symbolic::Expr position;     ///< of row 0 and step 0, over the outer axes
  int64_t row = 0;             ///< between rows; of panels, as many as steps
  std::vector<int64_t> steps;  ///< between steps of each summed axis
};

/// How the work is cut.
struct ConvolutionBlocks {
  int64_t rows = 1;     ///< of pixels in one item
  int64_t columns = 1;  ///< of pixels; fewer than the width only if there is one row
  int64_t tiles = 1;    ///< of filter rows in one item
  ConvolutionLanes along = ConvolutionLanes::kPixels;
  bool filter_outer = false;  ///< large filters: items with the same filter rows are neighbours
};

/// What the entry is made of.
struct ConvolutionCode : WindowCode {
  GemmSpec spec;  ///< the tile: filters times pixels, or pixels times filters along the lanes
  FilterPlace filter;
  ConvolutionBlocks blocks;

  /// Items of pixels per plane, of filter rows, and of everything.
  int64_t row_blocks() const;
  int64_t column_blocks() const;
  int64_t filter_blocks() const;
  symbolic::Expr items() const;
  /// Filter rows of one tile.
  int tile_filters() const;
  /// Sums between rows of pixels.
  int64_t sums_pitch() const;
  /// Pixels that one item computes at most, as they are numbered.
  int64_t pixels() const;
  /// Bytes between the sums of filter rows, and of all of them.
  int64_t sums_row_bytes() const;
  int64_t scratch_bytes() const;
};

/// One line for people and for cache keys.
std::string to_string(const ConvolutionCode& code);

/// Adds the entry "conv" to a module.
void emit_convolution(llvm::Module& module, const CpuTarget& target, const ConvolutionCode& code);

}  // namespace luminal::codegen
