#include "luminal/codegen/llvm/cpu_kernel.h"

#include "luminal/codegen/llvm/attention_kernel.h"
#include "luminal/codegen/llvm/contraction_kernel.h"
#include "luminal/codegen/llvm/convolution_kernel.h"
#include "luminal/codegen/llvm/nest_launches.h"

namespace luminal::codegen {

CpuKernel cpu_kernel(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
                     const CpuKernelOptions& options) {
  if (auto attention = attention_kernel(arena, kernel, target, options)) return *attention;
  if (auto windows = convolution_kernel(arena, kernel, target, options)) return *windows;
  if (auto products = contraction_kernel(arena, kernel, target, options)) return *products;
  return nest_launches(arena, kernel, target, options);
}

}  // namespace luminal::codegen
