// How much memory a kernel reads. A body names one load by several names where it is computed in
// several passes, so loads are compared by what they read.
#pragma once

#include <functional>

#include "luminal/kernel/body.h"

namespace luminal::kernel {

/// The bytes that loads below these values read. Each part of a tensor counts once, whatever the
/// axes of the loops that read it are called, and no tensor for more than it has. `extent` gives
/// the number that an axis or the extent of a tensor is taken to be.
double bytes_read(const Arena& arena, std::span<const BodyId> values,
                  const std::function<double(const Expr&)>& extent);

}  // namespace luminal::kernel
