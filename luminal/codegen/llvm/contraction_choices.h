// The choices of a kernel that is products, as a schedule: of the family "gemm" where tiles are
// used and "gemv" where few rows are streamed. Tails, dtypes of panels and how products are formed
// follow from them.
#pragma once

#include "luminal/codegen/llvm/contraction_schedule.h"

namespace luminal::codegen {

/// What was chosen, as data.
Schedule schedule_of(const ContractionSchedule& chosen);

/// Makes the choices of a schedule instead of those that were made; UserError if it does not fit.
void apply_schedule(const Schedule& schedule, const CpuTarget& target, ContractionSchedule& chosen);

/// What may be chosen for a kernel: a space for tiles, and one for few rows; empty if it is no
/// contraction. New bodies go to the arena.
std::vector<ScheduleSpace> contraction_spaces(kernel::Arena& arena, const kernel::Kernel& kernel,
                                              const CpuTarget& target,
                                              const CpuKernelOptions& options);

}  // namespace luminal::codegen
