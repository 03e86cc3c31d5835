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

/// result = base with updates[b, j] combined into result[b, index[b, j]], in order of j. Sums and
/// products of floats accumulate in f64 and round once at the end, as reductions do.
/// `updates_per_row` is the last extent of index and updates.
void scatter(ScatterMode mode, ElementSource& base, ElementSource& index, ElementSource& updates,
             int64_t updates_per_row, Array& result);

/// Positions that sort each row of the last axis; stable both ways. NaN counts as largest.
void argsort(ElementSource& values, bool descending, Array& result);

}  // namespace luminal::graph
