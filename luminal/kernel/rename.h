// The same computation on other tensors.
#pragma once

#include <span>

#include "luminal/kernel/body.h"

namespace luminal::kernel {

/// What a tensor is called instead.
struct Renaming {
  NodeId from;
  NodeId to;
  bool operator==(const Renaming&) const = default;
};

/// A kernel of one arena in another (or the same), on other tensors. Those that are not named stay;
/// all must be declared there, with the types of those they replace.
Kernel renamed(const Arena& from, const Kernel& kernel, std::span<const Renaming> names,
               Arena& into);

/// True if different tensors stay different.
bool is_one_to_one(std::span<const Renaming> names);

}  // namespace luminal::kernel
