// Reductions, streamed: the operand is read block by block, whether it is an array or computed on
// the way, so it never has to exist as a whole. Sums and products of floats accumulate in f64 from
// 0 and 1, in row-major order of the reduced elements, and round once at the end.
#pragma once

#include <optional>

#include "luminal/graph/element_source.h"

namespace luminal::graph {

/// How consecutive elements become results.
struct Reduced {
  int64_t count = 0;     ///< elements that are reduced together
  bool running = false;  ///< each of them has a result, of all up to its own
};

/// Reduces every `reduced.count` consecutive elements of the source to one element of the result,
/// or to as many.
void reduce(Op op, ElementSource& source, const Reduced& reduced, Array& result);

/// Elements of which each result reduces those up to its own position along an axis.
struct RunningView {
  View elements;  ///< over the other axes of the result, and that axis last
  int axis = 0;   ///< of the result
};
/// The view of a reduction (of its last `axes`) as such: so that scans, which are reductions of all
/// prefixes, take linear time here too.
std::optional<RunningView> running_view(const View& view, Op op, int axes);

}  // namespace luminal::graph
