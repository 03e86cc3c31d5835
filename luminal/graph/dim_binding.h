// Values of named dims from data: an input declared [batch, 2 * seq] and given 4 x 6 numbers says
// batch = 4, seq = 3.
#pragma once

#include <map>
#include <string>

#include "luminal/graph/program.h"

namespace luminal::graph {

/// Extends `dims` by what the extents of the inputs say, and checks every input against them.
/// Throws UserError naming the input, the axis and both values where they disagree, and where a dim
/// falls outside its interval.
DimValues bind_dims(const Graph& graph, const std::map<std::string, const Array*>& inputs,
                    DimValues dims);

/// The extents of an input given only `size` values in row-major order. At most one dim may be
/// unknown; it is solved for and added to `dims`. Throws UserError if no value fits.
Extents bind_flat(const std::string& input, const Shape& shape, int64_t size, DimValues& dims);

/// Whether bind_flat can say the extents of an input of this shape: at most one dim is unknown.
bool can_bind_flat(const Shape& shape, const DimValues& dims);

/// The shape with every dim known. Throws UserError naming what is missing.
Extents extents_of(const Shape& shape, const DimValues& dims);

}  // namespace luminal::graph
