// Convolutions with 3x3 windows as launches of the minimal algorithm (winograd_emitter.h): the
// filter is transformed first, once if it never changes, and everything else is one launch that
// reads the image where it lies.
#pragma once

#include <optional>

#include "luminal/codegen/llvm/convolution_plan.h"
#include "luminal/codegen/llvm/cpu_kernel.h"

namespace luminal::codegen {

/// The launches of a convolution, if it can be done this way and, but for `always`, if fewer
/// products make up for the transformations. Sums are taken in another order.
Recognised<CpuKernel> winograd_kernel(kernel::Arena& arena, const kernel::Kernel& kernel,
                                      const ConvolutionPlan& plan, const CpuTarget& target,
                                      const CpuKernelOptions& options, bool always);

/// What may be chosen for a convolution; nothing if it cannot be done this way.
std::optional<ScheduleSpace> winograd_space(kernel::Arena& arena, const kernel::Kernel& kernel,
                                            const ConvolutionPlan& plan, const CpuTarget& target,
                                            const CpuKernelOptions& options);

}  // namespace luminal::codegen
