#include "luminal/graph/ops.h"

#include "luminal/support/check.h"

namespace luminal::graph {

std::optional<Op> op_from_name(std::string_view name) {
  for (const OpInfo& row : kOps)
    if (row.name == name) return row.op;
  return std::nullopt;
}

std::string_view name(ScatterMode mode) {
  switch (mode) {
    case ScatterMode::kSet:
      return "set";
    case ScatterMode::kAdd:
      return "add";
    case ScatterMode::kMul:
      return "mul";
    case ScatterMode::kMax:
      return "max";
    case ScatterMode::kMin:
      return "min";
  }
  throw InternalError(fmt::format("scatter mode {}", static_cast<int>(mode)));
}

}  // namespace luminal::graph
