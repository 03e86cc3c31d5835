// The template of scans: one pass over memory for every kernel that scan_plan.h takes, two over the
// input where a few long rows are shared by threads.
#pragma once

#include "luminal/codegen/llvm/attention_cost.h"
#include "luminal/codegen/llvm/cpu_kernel.h"
#include "luminal/kernel/estimate.h"

namespace luminal::codegen {

/// The name of this family of schedules. Each scan has one.
inline constexpr std::string_view kScanFamily = "scan";

/// The launches of a scan; none for other kernels, and where results are packed two to a byte.
/// Results do not depend on the number of threads. Sums and products of floats are carried in f64
/// from vector to vector.
Recognised<CpuKernel> scan_kernel(kernel::Arena& arena, const kernel::Kernel& kernel,
                                  const CpuTarget& target, const CpuKernelOptions& options);

/// The work of a kernel that is a scan, which the estimate of loops takes for quadratic.
std::optional<KernelWork> scan_work(kernel::Arena& arena, const kernel::Kernel& kernel,
                                    const kernel::Machine& machine,
                                    const kernel::EstimateOptions& options);

/// Microseconds of the same.
std::optional<double> scan_cost(kernel::Arena& arena, const kernel::Kernel& kernel,
                                const kernel::Machine& machine,
                                const kernel::EstimateOptions& options);

}  // namespace luminal::codegen
