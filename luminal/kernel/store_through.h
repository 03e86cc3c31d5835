// Kernels that store a value on the way to another one: a sum that a norm reads, and that somebody
// else reads too, need not be a kernel of its own.
#pragma once

#include "luminal/kernel/cut_search.h"

namespace luminal::kernel {

/// Joins a kernel with one that reads its result at the same shape, wherever the estimate says that
/// one kernel with two stores is quicker, and brings the kernels into an order in which they can
/// run. Never joins kernels between which a third one stands.
void store_through(Arena& arena, const Program& program, CutPlan& plan,
                   const CutSearchOptions& options);

}  // namespace luminal::kernel
