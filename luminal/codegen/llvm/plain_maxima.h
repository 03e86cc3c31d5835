// Which maxima of a kernel may miss that an element is NaN: those of a softmax, whose results are
// NaN by their sum in that case. Keeping NaN costs three instructions where a maximum is one.
#pragma once

#include <set>
#include <span>

#include "luminal/kernel/body.h"

namespace luminal::codegen {

/// The maxima below the roots that are followed by a sum of exponentials relative to them, of the
/// same elements, such that every root that depends on the maximum is NaN if that sum is.
std::set<kernel::BodyId> plain_maxima(const kernel::Arena& arena,
                                      std::span<const kernel::Root> roots);

}  // namespace luminal::codegen
