// Data to try a kernel on: every tensor it reads, filled at random so that what the kernel does
// with it makes sense. Integers that choose a position are in range; others are small in ordinary
// data, and half of them of any size in the rest.
#pragma once

#include <cstdint>

#include "luminal/graph/program.h"
#include "luminal/kernel/body.h"
#include "luminal/kernel/evaluate.h"

namespace luminal::search {

/// What random values are like.
enum class DataKind : uint8_t {
  kOrdinary,  ///< around 0, some units large
  kInfinite,  ///< the same, a few of them infinite, NaN, or zeros of both signs
  /// the same, and a few of any size, very large, or halfway between neighbours; where a kernel
  /// adds up other things than products, most rows have none of these but one value that outweighs
  /// all others, and if it has functions some rows are of many sizes
  kSpecial,
  /// all that maxima are taken of is far below 0, with some equal values (one_sided.h)
  kOneSided,
  /// ordinary, but for rows of scores that are far from 0 as a whole (far_rows.h)
  kFarRows,
  kOtherSide,  ///< the same on the other side: where a maximum and a minimum are of one tensor
};

/// Those kinds but the first three that tell something about a kernel.
std::vector<DataKind> further_kinds(const kernel::Arena& arena, const kernel::Kernel& kernel);

/// Whether some sum is of products of different tensors: every term of it tells, since products of
/// narrow floats are added in wide ones.
bool has_products(const kernel::Arena& arena, const kernel::Kernel& kernel);

/// The tensors that a kernel reads, in the order of their ids.
std::vector<kernel::NodeId> tensors_read(const kernel::Arena& arena, const kernel::Kernel& kernel);

/// Random values for all of them. Equal arguments give equal data.
kernel::Tensors random_tensors(const kernel::Arena& arena, const kernel::Kernel& kernel,
                               const graph::DimValues& dims, DataKind kind, uint64_t seed);

}  // namespace luminal::search
