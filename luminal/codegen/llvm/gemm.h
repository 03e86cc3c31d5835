// Matrix products as generated code: C = A * B, batched, with prologue packing and a fused
// epilogue. A stays where it is and is broadcast row by row; B comes in panels of nr columns
// ([N/nr][K/g][nr], g elements of k side by side where the processor has dot instructions), packed
// once for constants, per call for others, or read in place. One register tile of mr x nr
// accumulators runs over the whole of k; edges go through a scratch tile. Sizes and strides are
// run-time arguments: one kernel serves all shapes.
#pragma once

#include <llvm/IR/Value.h>

#include <functional>
#include <string>

#include "luminal/codegen/llvm/kernel_compiler.h"
#include "luminal/codegen/llvm/vector_builder.h"
#include "luminal/graph/dtype.h"

namespace luminal::codegen {

/// How products are formed.
enum class GemmMode {
  kFma,      ///< multiply and add in the accumulator's type
  kDotBf16,  ///< pairs of bf16 into f32 (denormals count as zero)
  kDotI8,    ///< groups of four i8 into i32, exact
};

/// Where B comes from.
enum class GemmB {
  kPrepacked,   ///< panels made by pack_kernel()
  kPackedHere,  ///< each thread packs the panels it uses
  kInPlace,     ///< K x N rows are read as they lie (not for dot modes)
};

/// What one tile position knows when the epilogue is emitted.
struct GemmEpilogueContext {
  VectorBuilder& builder;
  llvm::Value* value;  ///< `lanes` sums of the accumulator's type
  llvm::Value* batch;  ///< position of the first lane; 64-bit
  llvm::Value* row;
  llvm::Value* column;
  llvm::Value* mask;     ///< lanes that exist
  llvm::Value* buffers;  ///< the entry's arguments, for more operands
  llvm::Value* scalars;
  int lanes;
};

/// Code that turns sums into elements of C (in register form): bias, activation, residual, scale.
struct GemmEpilogue {
  std::string key;                          ///< says what it computes, for the cache; empty: none
  std::vector<runtime::BufferUse> buffers;  ///< further buffers, from number 3 on
  int scalars = 0;                          ///< further scalars, from kGemmScalars on
  std::function<llvm::Value*(const GemmEpilogueContext& context)> emit;
};

/// A kernel: dtypes and the choices of a schedule.
struct GemmSpec {
  graph::DType a = graph::DType::kF32;
  graph::DType b = graph::DType::kF32;
  graph::DType c = graph::DType::kF32;
  GemmMode mode = GemmMode::kFma;
  GemmB b_source = GemmB::kPackedHere;
  bool b_transposed = false;  ///< B lies as N x K (when it is packed here or by pack_kernel)
  bool accumulate = false;    ///< sums start from C; C must have the accumulator's dtype
  int mr = 8;                 ///< rows of the register tile
  int nr = 32;                ///< its columns: a multiple of the lanes
  int k_unroll = 1;           ///< steps of k with accumulators of their own: for few rows
  int row_block = 0;          ///< rows of one work item; 0: all
  int kc = 0;                 ///< k of one pass (C is read again); 0: all
};

/// The scalars of a gemm entry. Strides count elements. B's row stride is the distance of k's
/// (or of n's, if transposed); a batch stride of 0 shares the operand.
enum GemmScalar : int {
  kGemmM,
  kGemmN,
  kGemmK,
  kGemmStrideARow,
  kGemmStrideAK,  ///< 1 for dot modes
  kGemmStrideB,
  kGemmStrideC,
  kGemmBatchA,
  kGemmBatchB,
  kGemmBatchC,
  kGemmScalars,
};

/// Facts about a spec on a target.
class GemmLayout {
 public:
  GemmLayout(const GemmSpec& spec, const CpuTarget& target);

  /// Elements of k in one 32- or 64-bit unit, bits of a unit, lanes of a vector of units.
  int group() const { return group_; }
  int unit_bytes() const { return unit_bytes_; }
  int lanes() const { return lanes_; }
  int vectors() const { return spec_.nr / lanes_; }
  graph::DType accumulator() const { return accumulator_; }
  int64_t panels(int64_t n) const { return (n + spec_.nr - 1) / spec_.nr; }
  /// Bytes of the header of a panel (sums that correct signs) and of all of it.
  int64_t header_bytes() const { return spec_.mode == GemmMode::kDotI8 ? spec_.nr * 4 : 0; }
  int64_t panel_bytes(int64_t k) const;
  /// Bytes of a packed B of one batch.
  int64_t packed_bytes(int64_t n, int64_t k) const { return panels(n) * panel_bytes(k); }
  /// Work items of a launch.
  int64_t items(int64_t batch, int64_t m, int64_t n) const;
  /// Scratch that each thread needs.
  int64_t scratch_bytes(int64_t k) const;

 private:
  GemmSpec spec_;
  int group_ = 1;
  int unit_bytes_ = 4;
  int lanes_ = 1;
  graph::DType accumulator_ = graph::DType::kF32;
};

/// The kernel "gemm": buffers A, B, C and those of the epilogue.
KernelSource gemm_kernel(const GemmSpec& spec, const GemmEpilogue& epilogue = {});
/// The kernel "pack": buffers B and its panels; scalars N, K, stride of B, batch stride of B. One
/// item is one panel, of all batches in order.
KernelSource gemm_pack_kernel(const GemmSpec& spec);

/// What a product is like, for choosing a spec.
struct GemmProblem {
  graph::DType a = graph::DType::kF32;
  graph::DType b = graph::DType::kF32;
  graph::DType c = graph::DType::kF32;
  int64_t batch = 1;
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  bool b_transposed = false;
  bool b_constant = false;  ///< may be packed ahead
  bool exact_bf16 = false;  ///< no dot instruction for bf16: denormals count
  int threads = 1;
};

/// A good spec without measuring.
GemmSpec choose_gemm(const GemmProblem& problem, const CpuTarget& target);
/// Specs worth measuring, the chosen one first.
std::vector<GemmSpec> gemm_candidates(const GemmProblem& problem, const CpuTarget& target);
/// One line for people and for cache keys.
std::string to_string(const GemmSpec& spec);

}  // namespace luminal::codegen
