// The choices for a kernel that is one or more products: few rows streamed past the matrix or
// register tiles, their sizes, and where the matrix comes from. From sizes and layouts alone; no
// LLVM.
#pragma once

#include <optional>
#include <vector>

#include "luminal/codegen/llvm/contraction_kernel.h"
#include "luminal/codegen/llvm/contraction_plan.h"
#include "luminal/codegen/llvm/gemv.h"

namespace luminal::codegen {

/// See above.
struct ContractionSchedule {
  std::vector<GemmSpec> specs;        ///< per product; of `gemv`, what operands have to be like
  std::optional<GemvSpec> gemv = {};  ///< set if the matrix is streamed
  int64_t chunk = 0;                  ///< as runtime::LaunchSize has it
  int threads = 0;                    ///< likewise
  // What further choices depend on, unless the matrix is streamed.
  GemmProblem problem = {};
  std::vector<GemmMode> modes = {};  ///< how products may be formed; the first without matrix
                                     ///< registers
};

/// The schedule of a plan, if products are a good way to run it: the one of the options, if there
/// is one (UserError if it does not fit).
Recognised<ContractionSchedule> schedule_contraction(const kernel::Arena& arena,
                                                     const ContractionPlan& plan,
                                                     const CpuTarget& target,
                                                     const CpuKernelOptions& options,
                                                     const ContractionKernelOptions& more);

}  // namespace luminal::codegen
