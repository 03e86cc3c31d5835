// Reductions, streamed: the operand is read block by block, whether it is an array or computed on
// the way, so it never has to exist as a whole. Sums and products of floats accumulate in f64 from
// 0 and 1, in row-major order of the reduced elements, and round once at the end.
#pragma once

#include "luminal/graph/element_source.h"

namespace luminal::graph {

/// Reduces every `reduced` consecutive elements of the source to one element of the result.
void reduce(Op op, ElementSource& source, int64_t reduced, Array& result);

}  // namespace luminal::graph
