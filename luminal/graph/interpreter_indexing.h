// Ops whose positions are data: Gather, Scatter and ArgSort. Indices out of range are UserErrors
// that name the op, the index, where it stands and the bound.
#pragma once

#include "luminal/graph/element_source.h"
#include "luminal/graph/ops.h"

namespace luminal::graph {

/// result[i] = data[i, index[i]]; the data's domain is the result's with one more axis.
void gather(ElementSource& index, const ArraySource& data, Array& result);

/// Throws the UserError of a gather whose positions, in the order of a result of these extents, are
/// not all below `bound`.
void check_positions(ElementSource& index, int64_t bound, const Extents& extents);

/// What a scatter reads, and what its result is.
struct ScatterOperands {
  ScatterMode mode;
  ElementSource& base;
  ElementSource& index;
  ElementSource& updates;
  int64_t updates_per_row;  ///< the last extent of index and updates
  DType dtype;
  Extents extents;  ///< of the result; a row is its last axis
};

/// result = base with updates[b, j] combined into result[b, index[b, j]], in order of j, for a
/// range of rows b. Sums and products of floats accumulate in f64 and round once at the end, as
/// reductions do. Rows of packed elements that share a byte belong in one range.
void scatter_rows(const ScatterOperands& operands, int64_t first_row, int64_t end_row,
                  std::byte* result);

/// Positions that sort each row of the last axis; stable both ways. NaN counts as largest.
void argsort(ElementSource& values, bool descending, Array& result);

}  // namespace luminal::graph
