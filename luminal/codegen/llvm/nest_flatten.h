// Kernels over flat memory: every load whose index is proved to be in range reads a one-dimensional
// alias of its tensor by position, and neighbouring axes along which all positions move as one are
// merged. Loops then get long: a chain of elementwise ops is one loop whatever its rank.
#pragma once

#include <map>

#include "luminal/kernel/body.h"

namespace luminal::codegen {

/// A kernel over aliases.
struct FlatKernel {
  kernel::Kernel kernel;
  std::map<kernel::NodeId, kernel::NodeId> originals;  ///< the tensor that an alias stands for
};

/// The row-major position of an index in a tensor of this shape.
symbolic::Expr position_of(std::span<const symbolic::Expr> index, const graph::Shape& shape);

/// Whether the bounds of an index may be relied on. They take it that no divisor is 0 and nothing
/// is gathered from an empty tensor, but a load under a condition may run all the same.
bool bounds_hold(const symbolic::Expr& index);
/// Whether an index is proved to lie in [0, extent) wherever code meets it.
bool stays_in_range(const symbolic::Expr& index, const symbolic::Expr& extent);

/// Whether a tensor is an alias: its loads are known to be in range.
bool is_alias(kernel::NodeId tensor);

struct FlatOptions {
  bool keep_order = false;  ///< of the axes; else those along which operands move far go outside
};

/// See above. New bodies and aliases go to the arena.
FlatKernel flattened(kernel::Arena& arena, const kernel::Kernel& kernel,
                     const FlatOptions& options = {});

/// Copies a kernel, its output axes numbered 0, 1, ...: others may be of any id below
/// kernel::kFirstBoundAxis.
kernel::Kernel with_numbered_axes(kernel::Arena& arena, const kernel::Kernel& kernel);

}  // namespace luminal::codegen
