// Convolutions as launches: one that lays out the image, where needed one that lays out the filter
// (ahead, if it rarely changes), and one that computes. Windows of any stride, dilation, padding
// and grouping over any number of axes; a depthwise convolution is one with a single filter row.
#pragma once

#include <optional>

#include "luminal/codegen/llvm/convolution_plan.h"
#include "luminal/codegen/llvm/cpu_kernel.h"

namespace luminal::codegen {

/// The names of these families of schedules: an image that is laid out, squares of pixels, and
/// single filters over an image as it lies.
inline constexpr std::string_view kConvolutionFamily = "convolution";
inline constexpr std::string_view kWinogradFamily = "winograd";
inline constexpr std::string_view kDepthwiseFamily = "depthwise";

/// For tests.
struct ConvolutionKernelOptions {
  bool always = false;     ///< from an image that is laid out, even where another way is better
  bool squares = false;    ///< by winograd_kernel.h wherever that is possible
  bool depthwise = false;  ///< by depthwise_kernel.h wherever that is possible
  /// What runs along the lanes, wherever that is possible. Nothing: what costs less.
  std::optional<ConvolutionLanes> along = {};
};

/// The launches of a kernel, if it is a convolution and this way is good for it.
Recognised<CpuKernel> convolution_kernel(kernel::Arena& arena, const kernel::Kernel& kernel,
                                         const CpuTarget& target, const CpuKernelOptions& options,
                                         const ConvolutionKernelOptions& more = {});

/// What may be chosen for a kernel; empty if it is no convolution. New bodies go to the arena.
std::vector<ScheduleSpace> convolution_spaces(kernel::Arena& arena, const kernel::Kernel& kernel,
                                              const CpuTarget& target,
                                              const CpuKernelOptions& options);

}  // namespace luminal::codegen
