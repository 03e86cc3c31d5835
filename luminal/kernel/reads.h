// What a kernel is made of and how much memory it reads. A body names one load by several names
// where it is computed in several passes, so loads are compared by what they read.
#pragma once

#include <functional>
#include <vector>

#include "luminal/kernel/body.h"

namespace luminal::kernel {

/// Every body of a kernel, operands before their users.
std::vector<BodyId> bodies_of(const Arena& arena, const Kernel& kernel);

/// The bytes of a tensor; `extent` gives the number that an extent is taken to be.
double bytes_of(const Arena& arena, NodeId tensor,
                const std::function<double(const Expr&)>& extent);

/// The bytes that loads below these values read. Each part of a tensor counts once, whatever the
/// axes of the loops that read it are called, and no tensor for more than it has. `extent` gives
/// the number that an axis or the extent of a tensor is taken to be.
double bytes_read(const Arena& arena, std::span<const BodyId> values,
                  const std::function<double(const Expr&)>& extent);

}  // namespace luminal::kernel
