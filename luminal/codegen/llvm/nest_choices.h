// The choices of a kernel that runs as loop nests, as values and as a schedule.
#pragma once

#include "luminal/codegen/llvm/cpu_kernel.h"
#include "luminal/codegen/llvm/nest_kernel.h"

namespace luminal::codegen {

/// See above. Pieces of a kernel whose reductions are in parts share them.
struct NestChoices {
  kernel::NestOptions loops;
  NestKernelOptions code;
  int64_t streaming = 0;  ///< the word of that choice
  int64_t part = 0;       ///< elements of one part of a long reduction; 0: never in parts
  int64_t turns = 12;  ///< ranges of items that each thread takes one after the other; 0: one range
  int threads = 0;     ///< as runtime::LaunchSize has it
};

/// What the schedule of the options says, or what is thought best. UserError for a schedule that
/// does not fit.
NestChoices nest_choices(const CpuTarget& target, const CpuKernelOptions& options);
Schedule schedule_of(const NestChoices& choices);
/// What is thought best, whatever the schedule of the options says.
NestChoices default_nest_choices(const CpuKernelOptions& options);

/// What may be chosen for nests on a target; some of it has no effect on some kernels.
ScheduleSpace nest_space(const CpuTarget& target, const CpuKernelOptions& options);

}  // namespace luminal::codegen
