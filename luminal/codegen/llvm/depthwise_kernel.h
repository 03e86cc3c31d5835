// Convolutions of which every plane has one short filter as a single launch (depthwise_emitter.h).
#pragma once

#include <optional>

#include "luminal/codegen/llvm/convolution_plan.h"
#include "luminal/codegen/llvm/cpu_kernel.h"

namespace luminal::codegen {

/// The launch of a convolution, if it can be done this way.
std::optional<CpuKernel> depthwise_kernel(kernel::Arena& arena, const kernel::Kernel& kernel,
                                          const ConvolutionPlan& plan, const CpuTarget& target,
                                          const CpuKernelOptions& options);

/// What may be chosen for a convolution; nothing if it cannot be done this way.
std::optional<ScheduleSpace> depthwise_space(kernel::Arena& arena, const kernel::Kernel& kernel,
                                             const ConvolutionPlan& plan, const CpuTarget& target,
                                             const CpuKernelOptions& options);

}  // namespace luminal::codegen
