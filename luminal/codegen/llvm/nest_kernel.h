// A loop nest (kernel/nest.h) as a vector kernel. Every nest compiles: the axis that memory runs
// along is spread over the lanes, whether it is reduced or an output, with masked ends; loads are
// whole, masked, broadcast or gathered as the index says; the outermost independent loop is dealt
// to threads. Row kernels keep a row in scratch and ask for the next one early.
#pragma once

#include <string>
#include <vector>

#include "luminal/codegen/llvm/kernel_compiler.h"
#include "luminal/codegen/llvm/vector_math.h"
#include "luminal/kernel/nest.h"

namespace luminal::codegen {

/// The schedule bits that are not in the nest.
struct NestKernelOptions {
  int lanes = 0;                ///< 0: a vector of the narrowest elements; 1: scalar code
  int unroll = 2;               ///< vectors per turn of an innermost loop
  int64_t block = 4096;         ///< elements of one item, about
  int64_t streaming_bytes = 0;  ///< results of this size (aligned to 64) go past the caches
  bool prefetch_rows = true;    ///< ask for the next row while this one is worked on
  /// One item where operands are transposed: elements of the last axis (words; at least a vector),
  /// and of the axis that loads run along (whole blocks, where rows wait to be stored).
  int64_t transposed_columns = 64;
  int64_t transposed_rows = 4096;
  bool round_each = false;  ///< round narrow floats after every op, as the interpreter does
  MathAccuracy accuracy = MathAccuracy::kFull;
};

/// A kernel and what its arguments are.
struct NestKernel {
  KernelSource source;                  ///< its entry is "nest"
  std::vector<kernel::NodeId> inputs;   ///< the first buffers
  std::vector<kernel::NodeId> outputs;  ///< the buffers after them
  std::vector<std::string> dims;        ///< the scalars
  symbolic::Expr items;                 ///< work items, over the dims
  symbolic::Expr scratch_bytes;         ///< per thread
};

/// The kernel of a nest. The source refers to the arena, which must live until it is compiled.
NestKernel nest_kernel(const kernel::Arena& arena, const kernel::Nest& nest,
                       const CpuTarget& target, const NestKernelOptions& options = {});

}  // namespace luminal::codegen
