#include "luminal/graph/shape.h"

#include <algorithm>

#include "luminal/support/error.h"

namespace luminal::graph {

Expr element_count(const Shape& shape) {
  Expr count = 1;
  for (const Expr& extent : shape) count *= extent;
  return count;
}

bool is_known_empty(const Shape& shape) {
  return std::any_of(shape.begin(), shape.end(),
                     [](const Expr& extent) { return extent.is_constant(0); });
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t k = 0; k < shape.size(); ++k) {
    if (k > 0) text += ", ";
    text += symbolic::to_string(shape[k]);
  }
  return text + "]";
}

int normalize_axis(std::string_view operation, int64_t axis, int rank) {
  if (rank == 0)
    throw UserError(operation, "axis {} is out of range: the tensor has rank 0 and no axes", axis);
  if (axis < -rank || axis >= rank)
    throw UserError(operation, "axis {} is out of range for rank {}; use {} to {}", axis, rank,
                    -rank, rank - 1);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace luminal::graph
