// Few rows times a matrix that is read once, where it lies: the matrix streams by, and everything
// is about its bytes. Where memory runs along k, sums are made along the lanes, column by column;
// where it runs along the columns, sums of a block of them stay in the nearest cache while rows of
// the matrix are added, several at a time. A few short windows (depthwise convolution) are summed
// in registers, step by step of k.
#pragma once

#include "luminal/codegen/llvm/gemm_emitter.h"

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

/// One line for people and for cache keys.
std::string to_string(const GemvSpec& spec);

/// Adds the entry "gemv" to a module. Tensors, dims and the plan are those of `code`.
void emit_gemv(llvm::Module& module, const CpuTarget& target, const GemmCode& code,
               const GemvSpec& spec);

/// Work items of "gemv" and scratch of one thread.
symbolic::Expr gemv_items(const ContractionPlan& plan, const GemvSpec& spec);
int64_t gemv_scratch_bytes(const ContractionPlan& plan, const GemvSpec& spec);

}  // namespace luminal::codegen
