// How to make rows of scores that are far from 0 as a whole. What exponentials are taken of after a
// product (attention) is around 0 on ordinary data, and on special data one infinity or NaN among
// the keys is in every row: neither tells what becomes of a row whose maximum is -1e10, as a mask
// makes it.
#pragma once

#include <map>
#include <optional>

#include "luminal/graph/array.h"
#include "luminal/kernel/body.h"

namespace luminal::search {

/// By tensor, the dim that tells values of a row from each other.
struct FarRows {
  std::map<kernel::NodeId, size_t> queries;  ///< summed; the first values of a row are far from 0
  std::map<kernel::NodeId, size_t> keys;     ///< summed; the first values of a row are above 0
  std::map<kernel::NodeId, size_t> masks;    ///< added to scores; whole rows are far below 0
};

/// Nothing if a kernel has no exponentials of such scores, or what they are made of is not plain.
std::optional<FarRows> far_rows(const kernel::Arena& arena, const kernel::Kernel& kernel);

/// Puts such values into a tensor of ordinary data.
void make_far(const FarRows& rows, kernel::NodeId tensor, graph::Array& array);

}  // namespace luminal::search
