// Any kernel as launches of loop nests: its loads flat, its long reductions in parts, each piece a
// nest of its own. This is what cpu_kernel() does where no other template fits.
#pragma once

#include "luminal/codegen/llvm/cpu_kernel.h"

namespace luminal::codegen {

/// The name of this family of schedules.
inline constexpr std::string_view kNestFamily = "nest";

/// See above.
CpuKernel nest_launches(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
                        const CpuKernelOptions& options);

}  // namespace luminal::codegen
