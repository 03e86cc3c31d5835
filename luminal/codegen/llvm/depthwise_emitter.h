// Convolutions of which every plane has one short filter (depthwise ones), with the image read
// where it lies: a vector of pixels of each line is loaded once for every step along the line and
// used by all rows of pixels that are worked on together. Rows are written out vector by vector, so
// that where padding begins is known when code is written. Nothing is laid out, and sums stay in
// registers until they are stored with what is done to them.
#pragma once

#include <string>

#include "luminal/codegen/llvm/window_emitter.h"

namespace luminal::codegen {

/// What the entry is made of. The image is not laid out.
struct DepthwiseCode : WindowCode {
  kernel::BodyId image;  ///< both operands in the type of sums
  kernel::BodyId filter;
  graph::DType accumulator = graph::DType::kF32;
  int lanes = 1;
  int64_t together = 1;  ///< rows of pixels that share what is loaded
  int64_t rows = 1;      ///< of pixels in one item

  int64_t row_blocks() const { return (plan.height + rows - 1) / rows; }
  /// Vectors of one row of pixels.
  int64_t vectors() const { return (plan.width + lanes - 1) / lanes; }
  symbolic::Expr items() const;
};

/// One line for people and for cache keys.
std::string to_string(const DepthwiseCode& code);

/// Adds the entry "conv" to a module.
void emit_depthwise(llvm::Module& module, const CpuTarget& target, const DepthwiseCode& code);

}  // namespace luminal::codegen
