// Attention without the matrix of scores: a block of queries meets block after block of keys, both
// products are register tiles of gemm, and the maximum, the sum of the weights and the results are
// kept relative to the largest score so far. Blocks of keys that a mask excludes are never visited.
//
// Scores lie with the queries along the lanes, [queries/32][keys][32]: no sum ever runs across
// lanes, keys are read in place as the broadcast side of the first product, and the weights are
// the broadcast side of the second. Where weights are 0 because of a mask, infinite values count as
// 0 too.
#pragma once

#include <memory>

#include "luminal/codegen/llvm/attention_plan.h"
#include "luminal/codegen/llvm/cpu_kernel.h"

namespace luminal::codegen {

/// The names of these families of schedules: blocks of queries, and few queries over runs of keys.
inline constexpr std::string_view kAttentionFamily = "attention";
inline constexpr std::string_view kAttentionRunsFamily = "attention_runs";
/// Blocks of queries by matrix registers.
inline constexpr std::string_view kAttentionMatricesFamily = "attention_matrices";

/// Keys whose scores are found before any weight is, where queries are few.
inline constexpr int kKeysAtOnce = 64;

inline int64_t rounded_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/// Sizes of blocks and tiles.
struct AttentionSchedule {
  bool runs = false;  ///< few queries: no blocks of them
  int lanes = 16;
  int query_block = 96;  ///< a multiple of the columns of the tile of scores
  int key_block = 256;   ///< a multiple of 8
  int tile_rows = 8;     ///< of both tiles; divides tile_columns
  int tile_columns = 32;
  int key_run = 512;         ///< keys of one item where queries are few; 0: all
  int query_group = 1;       ///< and queries that are worked on at once there
  bool dot_bf16 = false;     ///< pairs of bf16 are multiplied
  bool matrices = false;     ///< by matrix registers (attention_matrices.cpp); needs the above
  bool pack_keys = false;    ///< keys are computed or copied block by block, else read in place
  bool pack_values = false;  ///< values likewise
  int64_t chunk = 1;         ///< as runtime::LaunchSize has it
  int threads = 0;           ///< likewise
};

/// What the entry "attention" is made of.
struct AttentionCode {
  const kernel::Arena* arena = nullptr;
  kernel::Kernel kernel;
  AttentionPlan plan;
  AttentionSchedule schedule;
  std::vector<kernel::NodeId> tensors;  ///< its buffers
  std::vector<std::string> dims;        ///< its scalars
  bool round_each = false;

  int64_t depth() const { return *plan.depth.axis_extent().constant_value(); }
  int64_t inner() const { return *plan.inner.axis_extent().constant_value(); }
  /// The depth, whole tiles of it.
  int64_t padded_depth() const;
  /// The inner axis, whole vectors or matrix registers of it.
  int64_t padded_inner() const;
  symbolic::Expr queries() const;
  symbolic::Expr query_blocks() const { return ceil_div(queries(), schedule.query_block); }
  symbolic::Expr row_count() const;
  symbolic::Expr items() const { return row_count() * query_blocks(); }
  /// Runs of keys that are worked on apart where queries are few, and the bytes of what each
  /// leaves for the launch that merges them.
  symbolic::Expr key_runs() const {
    return schedule.key_run == 0 ? symbolic::Expr(1)
                                 : ceil_div(plan.key.axis_extent(), schedule.key_run);
  }
  int64_t partial_bytes() const { return (padded_depth() * 4 + 8 + 63) / 64 * 64; }
  int64_t run_scratch() const {
    const int64_t products = int64_t{schedule.lanes} * schedule.lanes * 4;
    return schedule.query_group *
           (padded_inner() * 4 + products + int64_t{kKeysAtOnce} * 4 + padded_depth() * 4);
  }

  /// Whether runs of keys are possible: memory runs along both axes, or operands are computed.
  bool suits_few_queries() const;
  /// Whether all that queries are made of lies along their inner axis.
  bool has_rows_of_queries() const;

  /// Decides which operands are packed: what products cannot read where it lies.
  void choose_packing();

  /// Where the parts of a thread's scratch begin, in bytes.
  struct Scratch {
    int64_t queries, keys, scores, weights, values, results, turned, maxima, totals, factors,
        largest, end;
  };
  Scratch scratch() const;
};

/// Adds the entry "attention" to a module.
void emit_attention(llvm::Module& module, const CpuTarget& target, const AttentionCode& code);
/// Adds the entry "attend" or "merge": for few queries, whose partial sums lie in the buffer after
/// the tensors.
void emit_attention_runs(llvm::Module& module, const CpuTarget& target, const AttentionCode& code);
void emit_attention_merge(llvm::Module& module, const CpuTarget& target, const AttentionCode& code);

/// The attention that a kernel is, with what is thought best.
Recognised<std::shared_ptr<AttentionCode>> chosen_attention(kernel::Arena& arena,
                                                            const kernel::Kernel& kernel,
                                                            const CpuTarget& target,
                                                            const CpuKernelOptions& options);

/// The launches of a kernel that is attention; none for others.
Recognised<CpuKernel> attention_kernel(kernel::Arena& arena, const kernel::Kernel& kernel,
                                       const CpuTarget& target, const CpuKernelOptions& options);

}  // namespace luminal::codegen
