// Sums that a maximum is found among and that are used beside it, as in a softmax of products. Each
// loop would add them up again, in the order that suits it: along a row in lanes, for the results
// one after the other. Far from 0 the two differ by more than an exponential bears, and no element
// might equal the maximum of all. So they are added up once and kept.
#pragma once

#include "luminal/codegen/llvm/launch_list.h"

namespace luminal::codegen {

/// The kernel with such sums, and all that are the same at other positions, loaded: `launches`
/// stores them before it. Reductions that are not `interchanged` run within the loop of the results
/// and add up as it does; others, as those of attention, add up as the one that finds the maximum.
kernel::Kernel with_compared_sums_stored(kernel::Arena& arena, const kernel::Kernel& kernel,
                                         bool interchanged, LaunchList& launches);

}  // namespace luminal::codegen
