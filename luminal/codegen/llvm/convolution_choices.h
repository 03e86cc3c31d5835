// The choices of a convolution, as a schedule of the family "convolution".
#pragma once

#include "luminal/codegen/llvm/convolution_emitter.h"
#include "luminal/codegen/llvm/cpu_kernel.h"

namespace luminal::codegen {

/// What is chosen.
struct ConvolutionChoices {
  int mr = 8;   ///< rows of the tile: filters, or pixels if filters run along the lanes
  int nr = 32;  ///< its columns: the others
  ConvolutionBlocks blocks;
  int64_t chunk = 1;  ///< as runtime::LaunchSize has it
  int threads = 0;    ///< likewise
};

/// The sizes that limit choices.
struct ConvolutionSizes {
  int64_t filter_rows = 1;
  int64_t height = 1;
  int64_t width = 1;
  int lanes = 1;
};

Schedule schedule_of(const ConvolutionChoices& choices);

/// The choices of a schedule; UserError if it does not fit.
ConvolutionChoices read_convolution(const Schedule& schedule, const ConvolutionSizes& sizes,
                                    const CpuTarget& target);

/// What may be chosen instead of what was.
ScheduleSpace convolution_space(const ConvolutionChoices& chosen, const ConvolutionSizes& sizes,
                                const CpuTarget& target, const CpuKernelOptions& options);

}  // namespace luminal::codegen
