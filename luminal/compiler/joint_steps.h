// Fewer starts of threads for the same work: launches that are too small to be shared become part
// of the launch they prepare, run by every thread for itself, and independent launches run side by
// side in one step.
#pragma once

#include <vector>

#include "luminal/codegen/llvm/cpu_kernel.h"
#include "luminal/compiler/plan.h"

namespace luminal::compiler {

/// By launch of a kernel: true for those that every thread had better run for itself. They write
/// temporaries that only the last launch and others like them read.
std::vector<bool> small_launches(const codegen::CpuKernel& code);

/// One step of several launches that do not depend on each other. Small ones that all of them begin
/// with run once per thread.
PlanStep side_by_side(std::vector<PlanStep> steps, const Plan& plan);

}  // namespace luminal::compiler
