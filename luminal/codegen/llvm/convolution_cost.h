// What a convolution costs with pixels or with filters along the lanes, in products of vectors, and
// the tiles and blocks that suit filters along the lanes.
#pragma once

#include "luminal/codegen/llvm/convolution_emitter.h"

namespace luminal::codegen {

/// The sizes that decide.
struct ConvolutionProblem {
  int64_t filters = 1;
  int64_t height = 1;
  int64_t width = 1;
  int64_t steps = 1;   ///< of all windows together
  int64_t planes = 1;  ///< about so many
  int64_t pitch = 1;   ///< of rows of pixels along the lanes
  int64_t stride = 1;  ///< along the width
  int lanes = 1;
  int threads = 1;
  bool filter_constant = false;  ///< may be laid out ahead
  bool loads_bind = false;       ///< no more of them than products begin in a cycle
};

/// A tile of pixels times vectors of filters, and what the whole convolution costs with it.
struct FilterTile {
  int pixels = 1;
  int vectors = 1;
  double cost = 0;
};

/// The best tile with filters along the lanes.
FilterTile choose_filter_tile(const ConvolutionProblem& problem, const CpuTarget& target);

/// What pixels along the lanes cost.
double cost_of_pixels(const ConvolutionProblem& problem);

/// How work is cut with filters along the lanes: into equal shares for all threads.
ConvolutionBlocks choose_filter_blocks(const ConvolutionProblem& problem, const FilterTile& tile);

}  // namespace luminal::codegen
