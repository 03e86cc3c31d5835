// Any kernel as launches of loop nests: its loads flat, its long reductions in parts, each piece a
// nest of its own. This is what cpu_kernel() does where no other template fits.
#pragma once

#include "luminal/codegen/llvm/cpu_kernel.h"

namespace luminal::codegen {

/// The name of this family of schedules.
inline constexpr std::string_view kNestFamily = "nest";

/// Items that a thread takes at a time (CpuLaunch::chunk): so many turns for each, so that a
/// disturbed thread does not keep the others waiting, but only where that is long enough to matter.
int64_t chunk_of(const symbolic::Expr& items, int64_t turns, int threads);

struct NestChoices;

/// The nest of a piece. Sums and the squares around their mean are found in one pass where memory
/// runs along the rows (else all lanes would have to agree on how good a guess is) and is what they
/// wait for: of narrow elements two passes have less to compute.
kernel::Nest nest_of(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
                     const NestChoices& choices);

/// See above.
CpuKernel nest_launches(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
                        const CpuKernelOptions& options);

}  // namespace luminal::codegen
