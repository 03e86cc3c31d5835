// The choices of attention, as schedules: of the family "attention" for blocks of queries and
// "attention_runs" for few queries over runs of keys.
#pragma once

#include "luminal/codegen/llvm/attention_kernel.h"

namespace luminal::codegen {

/// What was chosen, as data.
Schedule schedule_of(const AttentionSchedule& chosen);

/// Makes the choices of a schedule instead of those that were made; UserError if it does not fit.
void apply_schedule(const Schedule& schedule, const CpuTarget& target, AttentionCode& code);

/// What may be chosen for a kernel, in the order in which it is thought good; empty if it is no
/// attention. New bodies go to the arena.
std::vector<ScheduleSpace> attention_spaces(kernel::Arena& arena, const kernel::Kernel& kernel,
                                            const CpuTarget& target,
                                            const CpuKernelOptions& options);

}  // namespace luminal::codegen
