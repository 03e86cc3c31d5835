// What the cost model thinks of a kernel computed in one way rather than in another: the estimate
// of kernel/estimate.h, which knows nothing of templates, with what the code of a schedule does
// besides or does not do: launches, copies of operands, products that are saved or that fill up
// vectors. For comparing the ways of one kernel.
#pragma once

#include <variant>

#include "luminal/codegen/llvm/cpu_kernel.h"
#include "luminal/kernel/estimate.h"

namespace luminal::codegen {

/// Microseconds of a kernel with a schedule, or why it cannot have that schedule. New bodies go to
/// the arena; a schedule in the options is not looked at.
std::variant<double, ScheduleRefusal> schedule_cost(
    kernel::Arena& arena, const kernel::Kernel& kernel, const Schedule& schedule,
    const CpuTarget& target, const CpuKernelOptions& options, const kernel::Machine& machine);

}  // namespace luminal::codegen
