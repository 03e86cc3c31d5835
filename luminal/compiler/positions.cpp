#include "luminal/compiler/positions.h"

#include <fmt/core.h>

#include <algorithm>

#include "luminal/kernel/reads.h"
#include "luminal/kernel/rename.h"

namespace luminal::compiler {
namespace {

using kernel::BodyKind;
using kernel::BodyNode;
using symbolic::Expr;

/// Of fewer rows there are as few kernels.
constexpr int64_t kManyRows = 8;
/// A kernel that reads more rows than this reads them all.
constexpr size_t kMostPositions = 2;

/// A row that is read: which one, of how many.
struct Row {
  kernel::NodeId tensor;
  size_t axis;
  int64_t position;
  Expr dim;
};

/// Whether an index chooses one of many rows. The last axis holds elements, no rows.
bool is_row(const BodyNode& load, size_t axis, const graph::Shape& shape) {
  const auto extent = shape[axis].constant_value();
  return axis + 1 < shape.size() && load.exprs[axis].constant_value() && extent &&
         *extent >= kManyRows;
}

std::vector<Row> rows_of(const kernel::Arena& arena, const kernel::Kernel& kernel) {
  std::vector<Row> rows;
  for (const kernel::BodyId id : kernel::bodies_of(arena, kernel)) {
    const BodyNode& node = arena[id];
    if (node.kind != BodyKind::kLoad) continue;
    const graph::Shape& shape = arena.tensor(node.tensor).shape;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (!is_row(node, axis, shape)) continue;
      const int64_t position = *node.exprs[axis].constant_value();
      const bool known = std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
        return row.tensor == node.tensor && row.axis == axis && row.position == position;
      });
      if (known) continue;
      rows.push_back({node.tensor, axis, position,
                      Expr::variable(fmt::format("__position{}", rows.size()),
                                     {0, *shape[axis].constant_value() - 1})});
    }
  }
  return rows;
}

}  // namespace

std::optional<WithPositions> with_positions(const kernel::Arena& arena,
                                            const kernel::Kernel& kernel) {
  const std::vector<Row> rows = rows_of(arena, kernel);
  if (rows.empty() || rows.size() > kMostPositions) return std::nullopt;
  WithPositions result;
  const auto change = [&](const BodyNode& load) {
    std::vector<Expr> index = load.exprs;
    for (const Row& row : rows)
      if (row.tensor == load.tensor && index[row.axis].is_constant(row.position))
        index[row.axis] = row.dim;
    return index;
  };
  result.kernel = kernel::with_indices(arena, kernel, change, result.arena);
  for (const Row& row : rows) result.positions.push_back({row.dim, row.position});
  return result;
}

}  // namespace luminal::compiler
