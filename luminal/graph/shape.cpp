#include "luminal/graph/shape.h"

#include "luminal/support/error.h"

namespace luminal::graph {

Expr element_count(const Shape& shape) {
  Expr count = 1;
  for (const Expr& extent : shape) count *= extent;
  return count;
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
  if (axis < -rank || axis >= rank)
    throw UserError(operation, "axis {} is out of range for rank {}; use {} to {}", axis, rank,
                    -rank, rank - 1);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace luminal::graph
