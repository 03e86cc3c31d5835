// A sum that is compared with itself elsewhere: with the maximum of all, as in a softmax or an
// argmax of products, or with one of its elements, be it by taking one from the other. Each loop
// would add it up again in the order that suits it, along a row in lanes or one result after the
// other, and tiles in yet another one. Far from 0 the two differ by more than an exponential bears,
// and no element might equal the maximum of all. So such sums are added up once and kept.
#pragma once

#include <set>

#include "luminal/codegen/llvm/launch_list.h"

namespace luminal::codegen {

/// The sums of a kernel that are compared and are there at other positions, too, and these. (Which
/// positions they are at is not looked at.)
std::set<kernel::BodyId> sums_compared(const kernel::Arena& arena, const kernel::Kernel& kernel);

/// Whether there are such, or differences of sums and their maximum. Code that adds up its results
/// in an order of its own is not for such a kernel.
bool compares_sums(const kernel::Arena& arena, const kernel::Kernel& kernel);

/// A kernel that loads sums, and what stores these before it.
struct StoredSums {
  kernel::Kernel kernel;
  std::vector<kernel::Kernel> sums;
};

/// The kernel with such sums loaded, at all positions: `launches` stores them before it. Reductions
/// that are not `interchanged` run within the loop of the results and add up as it does; others, as
/// those of attention, add up as the one that finds the maximum.
StoredSums with_compared_sums_stored(kernel::Arena& arena, const kernel::Kernel& kernel,
                                     bool interchanged, LaunchList& launches);

}  // namespace luminal::codegen
