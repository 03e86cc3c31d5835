#include "luminal/search/point_oracle.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "luminal/graph/dim_binding.h"
#include "luminal/graph/epsilon.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::search {

PointOracle::PointOracle(const kernel::Arena& arena, const kernel::Kernel& kernel,
                         const graph::DimValues& dims, const kernel::Tensors& tensors)
    : arena_(arena), kernel_(kernel), evaluator_(arena, tensors, dims) {
  for (const kernel::Expr& axis : kernel.axes)
    extents_.push_back(evaluator_.extent(axis.axis_extent()));
  for (const kernel::Root& root : kernel.roots)
    shapes_.push_back(graph::extents_of(arena.tensor(root.tensor).shape, dims));
}

bool PointOracle::is_empty() const {
  return std::find(extents_.begin(), extents_.end(), 0) != extents_.end();
}

std::vector<Point> PointOracle::at(std::span<const int64_t> axes) {
  for (size_t k = 0; k < axes.size(); ++k) evaluator_.set_axis(kernel_.axes[k], axes[k]);
  std::vector<Point> points;
  for (size_t k = 0; k < kernel_.roots.size(); ++k) {
    const kernel::Root& root = kernel_.roots[k];
    std::vector<int64_t> index;
    for (const kernel::Expr& expr : root.store) index.push_back(evaluator_.evaluate(expr));
    const auto position = kernel::position_in(shapes_[k], index);
    if (!position) continue;
    const kernel::Number number = evaluator_.evaluate(root.value);
    const bool real = graph::is_float(arena_[root.value].dtype);
    points.push_back({k, *position, real ? number.real : static_cast<double>(number.integer), 0});
  }
  return points;
}

kernel::Tensors nudged(const kernel::Tensors& tensors, uint64_t seed) {
  std::mt19937_64 random(seed);
  kernel::Tensors result;
  for (const auto& [id, array] : tensors) {
    graph::Array copy = array;
    if (graph::is_float(array.dtype())) {
      const double step = graph::epsilon(array.dtype());
      for (int64_t i = 0; i < array.size(); ++i) {
        const double sign = (random() & 1) != 0 ? step : -step;
        const kernel::Number moved{array.at(i).as_double() * (1 + sign), 0};
        kernel::store(copy, i, kernel::Evaluator::rounded(array.dtype(), moved));
      }
    }
    result.emplace(id, std::move(copy));
  }
  return result;
}

double work_per_point(const kernel::Arena& arena, const kernel::Kernel& kernel,
                      const graph::DimValues& dims) {
  const symbolic::Values values(dims.begin(), dims.end());
  std::vector<kernel::BodyId> roots;
  for (const kernel::Root& root : kernel.roots) roots.push_back(root.value);
  // Loops nest: the deepest chain of reductions multiplies.
  std::map<kernel::BodyId, double> inside;
  double total = 1;
  for (const kernel::BodyId id : arena.reachable(roots)) {
    const kernel::BodyNode& node = arena[id];
    double work = 1;
    for (const kernel::BodyId child : node.children) work += inside[child];
    if (node.kind == kernel::BodyKind::kReduce)
      for (const kernel::Expr& axis : node.exprs)
        work *= static_cast<double>(symbolic::evaluate(axis.axis_extent(), values));
    inside[id] = std::min(work, 1e18);
    total = std::max(total, inside[id]);
  }
  return total;
}

}  // namespace luminal::search
