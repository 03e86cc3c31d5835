// Long reductions in parts: a sum of very many values, or of many values into few results, becomes
// partial sums that threads find on their own and a short sum of those. How a reduction is parted
// follows from extents alone, so results do not depend on the number of threads; and since a part
// is short, sums of very many floats stay accurate.
#pragma once

#include <vector>

#include "luminal/graph/program.h"
#include "luminal/kernel/body.h"

namespace luminal::codegen {

/// What is expected of dims whose values are not known.
struct TypicalDims {
  graph::DimValues dims = {};
  int64_t typical_dim = 512;
};

/// Kernels that run one after the other, and what lies between them.
struct SplitKernels {
  std::vector<kernel::Kernel> kernels;
  std::vector<kernel::NodeId> temporaries;  ///< declared in the arena
};

/// Elements of one part: one accumulator of some dozens then adds about a hundred values.
inline constexpr int64_t kReductionPart = 8192;
/// Shorter parts are not worth their while.
inline constexpr int64_t kLeastReductionPart = 256;

/// The kernel, its long reductions in parts of about `part` elements; the kernel alone if it has
/// none.
SplitKernels split_reductions(kernel::Arena& arena, const kernel::Kernel& kernel,
                              const TypicalDims& typical, int64_t part = kReductionPart);

/// position = rest + stride * axis, where neither depends on the axis.
struct Stride {
  symbolic::Expr stride;
  symbolic::Expr rest;
};
/// The stride along an axis; nothing if the position is not linear in it.
std::optional<Stride> stride_along(const symbolic::Expr& position, const symbolic::Expr& axis);

/// How many loads below the values move by one element along an axis.
int contiguous_loads(const kernel::Arena& arena, std::span<const kernel::BodyId> values,
                     const symbolic::Expr& axis);

}  // namespace luminal::codegen
