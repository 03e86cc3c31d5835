// The shape of generated products of few rows: the matrix is read once, where it lies, along k or
// along the columns.
#pragma once

#include <string>

#include "luminal/codegen/llvm/gemm.h"

namespace luminal::codegen {

/// The choices of such a kernel.
struct GemvSpec {
  bool along_k = true;  ///< which way memory runs
  bool direct = false;  ///< all steps of k are written out; not along k
  int rows = 1;         ///< of A: all there are, 1 to kMostGemvRows
  int streams = 1;      ///< columns at a time (along k), or rows of B (along columns)
  int unroll = 4;       ///< vectors of k at a time
  int64_t block = 16;   ///< columns of one work item
  GemmMode mode = GemmMode::kFma;
  graph::DType accumulator = graph::DType::kF32;
};

/// With more rows tiles are better.
inline constexpr int64_t kMostGemvRows = 8;
/// How many rows and steps of k are written out at most.
inline constexpr int64_t kMostDirectRows = 2;
inline constexpr int64_t kMostDirectSteps = 32;

/// Sums (along k) or factors (along the columns) that registers hold beside two operands.
inline int most_gemv_registers(const CpuTarget& target) { return target.vector_registers() - 2; }

/// One line for people and for cache keys.
std::string to_string(const GemvSpec& spec);

}  // namespace luminal::codegen
