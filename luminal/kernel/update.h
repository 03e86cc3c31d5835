// Updates in place: a kernel that writes a region of a tensor and copies the rest from another one
// of the same shape (a cache with a few new rows). If both share their memory, only the region has
// to run.
#pragma once

#include <optional>

#include "luminal/kernel/body.h"

namespace luminal::kernel {

/// A kernel restricted to the region it changes.
struct RegionUpdate {
  /// Must share its memory with the kernel's root; readers of the old values come first.
  NodeId updated;
  Kernel kernel;
};

/// The update that a kernel of one root is: its value is Where(low <= axis < high, new, old[same
/// index]) for one axis and bounds that use no axis.
std::optional<RegionUpdate> match_region_update(Arena& arena, const Kernel& kernel);

}  // namespace luminal::kernel
