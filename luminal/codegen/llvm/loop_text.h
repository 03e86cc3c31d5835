// The loops that the code of a kernel has, as text for people: what is done before, how work is
// dealt out to threads, and the blocks, tiles and passes of the chosen template with their sizes.
// What the kernel computes is said elsewhere; this is how.
#pragma once

#include <string>
#include <vector>

#include "luminal/codegen/llvm/cpu_kernel.h"

namespace luminal::codegen {

/// Some lines, indented by loop. `code` is the code of the kernel with these options, and `small`
/// says of each of its launches whether every thread runs it for itself. New bodies go to the
/// arena.
std::string loop_text(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuKernel& code,
                      const std::vector<bool>& small, const CpuTarget& target,
                      const CpuKernelOptions& options);

/// What a launch does that comes before the main one of its kernel, by the name of its entry.
std::string launch_purpose(const std::string& entry);

}  // namespace luminal::codegen
