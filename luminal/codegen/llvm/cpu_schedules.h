// What may be chosen for a kernel on the CPU: one space of schedules for each family of code that
// can compute it, and a list of schedules to try. Whatever is listed computes the same values, but
// for the order of sums. A function of the kernel, the target and the options alone.
#pragma once

#include "luminal/codegen/llvm/cpu_kernel.h"

namespace luminal::codegen {

/// The spaces of a kernel, the family that cpu_kernel chooses by itself first. Values that make no
/// difference to the code where a space starts are left out. New bodies go to the arena; a schedule
/// in the options is not looked at.
std::vector<ScheduleSpace> cpu_schedule_spaces(kernel::Arena& arena, const kernel::Kernel& kernel,
                                               const CpuTarget& target,
                                               const CpuKernelOptions& options);

/// The same with all values: one that makes no difference where a space starts may make one beside
/// other choices. For searches, which know ways that come to the same by code_identity().
std::vector<ScheduleSpace> cpu_whole_spaces(kernel::Arena& arena, const kernel::Kernel& kernel,
                                            const CpuTarget& target,
                                            const CpuKernelOptions& options);

/// What each family would choose that can compute the kernel, the one that cpu_kernel chooses
/// first: where the spaces start.
std::vector<Schedule> cpu_family_schedules(kernel::Arena& arena, const kernel::Kernel& kernel,
                                           const CpuTarget& target,
                                           const CpuKernelOptions& options);

/// At most `most` schedules, all different: what cpu_kernel chooses by itself, what other families
/// choose, then whatever differs from these in one choice and in two, near values first.
std::vector<Schedule> cpu_schedules(kernel::Arena& arena, const kernel::Kernel& kernel,
                                    const CpuTarget& target, const CpuKernelOptions& options,
                                    size_t most = 200);

/// The same for spaces that are known.
std::vector<Schedule> listed_schedules(const std::vector<ScheduleSpace>& spaces, size_t most = 200);

/// Text that is equal for kernels that run the same code in the same way.
std::string code_identity(const CpuKernel& code);

}  // namespace luminal::codegen
