#include "luminal/graph/dtype.h"

namespace luminal::graph {

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeInfo& row : kDTypes)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

}  // namespace luminal::graph
