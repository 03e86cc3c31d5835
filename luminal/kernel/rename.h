// The same computation on other tensors, or at other positions of them.
#pragma once

#include <functional>
#include <span>
#include <vector>

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

/// What a load reads instead of its index: the same number of expressions.
using ChangeIndex = std::function<std::vector<Expr>(const BodyNode& load)>;
/// A kernel whose loads read at other positions. Its tensors are declared in `into`.
Kernel with_indices(const Arena& from, const Kernel& kernel, const ChangeIndex& change,
                    Arena& into);

/// True if different tensors stay different.
bool is_one_to_one(std::span<const Renaming> names);

}  // namespace luminal::kernel
