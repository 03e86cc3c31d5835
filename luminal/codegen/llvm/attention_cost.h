// What the cost model is told of attention on a CPU: the template of attention is the only code in
// which products below a softmax are as fast as others, so a kernel is priced by whether the
// template takes it, and not by what its loops might be.
#pragma once

#include <optional>

#include "luminal/kernel/estimate.h"

namespace luminal::codegen {

/// What the model thinks that a kernel takes.
struct KernelWork {
  double microseconds = 0.0;
  double memory_bytes = 0.0;
  double flops = 0.0;  ///< a function counts as many additions as it takes
};

/// The work of a kernel with products below two reductions: as attention if it is one, else as
/// loops. Nothing for other kernels, which the estimate knows best. Queries meet keys in blocks, or
/// `query_group` at a time if that is not 0.
std::optional<KernelWork> attention_work(kernel::Arena& arena, const kernel::Kernel& kernel,
                                         const kernel::Machine& machine,
                                         const kernel::EstimateOptions& options,
                                         int64_t query_group = 0);

/// Microseconds of the same.
std::optional<double> attention_cost(kernel::Arena& arena, const kernel::Kernel& kernel,
                                     const kernel::Machine& machine,
                                     const kernel::EstimateOptions& options);

}  // namespace luminal::codegen
