// Arrays as text, in the way NumPy prints them: nested brackets, aligned columns, as few digits as
// tell the values apart (at most 8 after the point), lines of at most 75 characters, and an
// ellipsis in the middle of long axes once there are more than 1000 elements.
#pragma once

#include <iosfwd>
#include <string>

#include "luminal/graph/array.h"

namespace luminal::graph {

/// How much is printed, and how.
struct ArrayTextOptions {
  /// Arrays of more elements are shown by the first and last `edge_items` of every long axis.
  int64_t threshold = 1000;
  int64_t edge_items = 3;  ///< shown at each end of a long axis
  /// Most digits after the point.
  int precision = 8;
  int line_width = 75;  ///< where lines are broken
};

/// "[[1.  2.5]\n [3.  4. ]]"; a rank-0 array is the bare value, an empty array "[]".
std::string to_string(const Array& array, const ArrayTextOptions& options = {});

/// The same on a stream.
std::ostream& operator<<(std::ostream& stream, const Array& array);

}  // namespace luminal::graph
