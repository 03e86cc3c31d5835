// On which side of 0 the values of tensors have to be for all that a maximum is taken of to be
// below 0. A maximum of values of both signs is the same if it sees a 0 that is none of them, as
// lanes behind the end of a row may hold.
#pragma once

#include <map>
#include <vector>

#include "luminal/kernel/body.h"

namespace luminal::search {

/// By tensor, -1 or 1.
using Sides = std::map<kernel::NodeId, int>;

/// One or two choices of sides, if a tensor's maximum and its minimum are asked for; none if there
/// are no maxima of what grows or falls with tensors.
std::vector<Sides> one_sided(const kernel::Arena& arena, const kernel::Kernel& kernel);

}  // namespace luminal::search
