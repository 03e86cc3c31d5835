// Kernels that are matrix products with something around them, as launches of generated products:
// operands that cannot be read where they lie are copied (or, if constant, packed ahead), sums go
// through the epilogue while they are in the nearest cache.
#pragma once

#include <optional>

#include "luminal/codegen/llvm/cpu_kernel.h"
#include "luminal/codegen/llvm/gemm.h"

namespace luminal::codegen {

/// The names of these families of schedules: register tiles, tiles over blocks of four-bit weights,
/// and few rows that are streamed.
inline constexpr std::string_view kGemmFamily = "gemm";
inline constexpr std::string_view kGemmBlocksFamily = "gemm_blocks";
inline constexpr std::string_view kGemvFamily = "gemv";

/// For tests and searches.
struct ContractionKernelOptions {
  bool always = false;                ///< even where the loop nest is thought to be better
  std::optional<GemmSpec> spec = {};  ///< tile, source of B and passes are taken from it
  bool never_gemv = false;            ///< tiles, however few rows there are
  bool never_blocks = false;          ///< four-bit weights are widened
  bool matrix_registers = false;      ///< also where the target has none (written out as loops)
};

/// The launches of a kernel, if it is a contraction and this way is good for it.
Recognised<CpuKernel> contraction_kernel(kernel::Arena& arena, const kernel::Kernel& kernel,
                                         const CpuTarget& target, const CpuKernelOptions& options,
                                         const ContractionKernelOptions& more = {});

}  // namespace luminal::codegen
