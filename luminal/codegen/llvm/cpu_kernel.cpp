#include "luminal/codegen/llvm/cpu_kernel.h"

#include "luminal/codegen/llvm/attention_kernel.h"
#include "luminal/codegen/llvm/contraction_kernel.h"
#include "luminal/codegen/llvm/convolution_kernel.h"
#include "luminal/codegen/llvm/nest_launches.h"
#include "luminal/codegen/llvm/scan_kernel.h"
#include "luminal/codegen/llvm/schedule_reader.h"
#include "luminal/support/check.h"

namespace luminal::codegen {
namespace {

/// The code that a schedule asks for, or why the kernel has not the form of its family.
Recognised<CpuKernel> of_family(kernel::Arena& arena, const kernel::Kernel& kernel,
                                const CpuTarget& target, const CpuKernelOptions& options) {
  const std::string& family = options.schedule->family();
  if (family == kAttentionFamily || family == kAttentionRunsFamily ||
      family == kAttentionMatricesFamily)
    return attention_kernel(arena, kernel, target, options);
  if (family == kConvolutionFamily)
    return convolution_kernel(arena, kernel, target, options, {.always = true});
  if (family == kWinogradFamily)
    return convolution_kernel(arena, kernel, target, options, {.always = true, .squares = true});
  if (family == kDepthwiseFamily)
    return convolution_kernel(arena, kernel, target, options, {.always = true, .depthwise = true});
  if (family == kGemmFamily || family == kGemmBlocksFamily || family == kGemvFamily)
    return contraction_kernel(arena, kernel, target, options, {.always = true});
  if (family == kScanFamily) return scan_kernel(arena, kernel, target, options);
  if (family == kNestFamily) return nest_launches(arena, kernel, target, options);
  throw schedule_error(
      *options.schedule,
      "there is no family '{}'; there are {}, {}, {}, {}, {}, {}, {}, {}, {}, {} and {}", family,
      kAttentionFamily, kAttentionRunsFamily, kAttentionMatricesFamily, kConvolutionFamily,
      kWinogradFamily, kDepthwiseFamily, kGemmFamily, kGemmBlocksFamily, kGemvFamily, kScanFamily,
      kNestFamily);
}

}  // namespace

CpuKernel cpu_kernel(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
                     const CpuKernelOptions& options) {
  if (options.schedule) {
    Recognised<CpuKernel> code = of_family(arena, kernel, target, options);
    if (!code)
      throw schedule_error(*options.schedule, "the kernel has not the form of a {}: {}",
                           options.schedule->family(), code.why());
    LUMINAL_CHECK(code->schedule == *options.schedule, "asked for '{}' and got '{}'",
                  options.schedule->to_string(), code->schedule.to_string());
    return std::move(*code);
  }
  std::vector<TemplateRefusal> refused;
  const auto takes = [&](std::string_view name, const Recognised<CpuKernel>& code) {
    if (!code) refused.push_back({std::string(name), code.why()});
    return code.has_value();
  };
  const auto with_refusals = [&](CpuKernel code) {
    code.refused.insert(code.refused.begin(), refused.begin(), refused.end());
    return code;
  };
  auto code = attention_kernel(arena, kernel, target, options);
  if (takes(kAttentionFamily, code)) return with_refusals(std::move(*code));
  code = convolution_kernel(arena, kernel, target, options);
  if (takes(kConvolutionFamily, code)) return with_refusals(std::move(*code));
  code = contraction_kernel(arena, kernel, target, options);
  if (takes(kGemmFamily, code)) return with_refusals(std::move(*code));
  code = scan_kernel(arena, kernel, target, options);
  if (takes(kScanFamily, code)) return with_refusals(std::move(*code));
  return with_refusals(nest_launches(arena, kernel, target, options));
}

std::variant<CpuKernel, ScheduleRefusal> try_cpu_kernel(kernel::Arena& arena,
                                                        const kernel::Kernel& kernel,
                                                        const CpuTarget& target,
                                                        const CpuKernelOptions& options) try {
  return cpu_kernel(arena, kernel, target, options);
} catch (const UserError& error) {
  return ScheduleRefusal{error.what()};
}

}  // namespace luminal::codegen
