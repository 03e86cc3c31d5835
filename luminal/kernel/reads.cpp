#include "luminal/kernel/reads.h"

#include <algorithm>
#include <map>

namespace luminal::kernel {
namespace {

/// The index of a load with its axes numbered as they come.
std::vector<Expr> numbered_index(const BodyNode& load) {
  std::vector<symbolic::Binding> names;
  for (const Expr& expr : load.exprs)
    for (const Expr& axis : expr.axes()) {
      const bool known =
          std::any_of(names.begin(), names.end(),
                      [&](const symbolic::Binding& each) { return each.symbol == axis; });
      if (!known)
        names.push_back({axis, Expr::axis(static_cast<int64_t>(names.size()), axis.axis_extent())});
    }
  std::vector<Expr> index;
  for (const Expr& expr : load.exprs) index.push_back(symbolic::substitute(expr, names));
  return index;
}

/// Elements that loads of one tensor read.
double elements_read(const Arena& arena, const std::vector<BodyId>& loads,
                     const std::function<double(const Expr&)>& extent) {
  std::vector<std::vector<Expr>> seen;
  double elements = 0.0;
  for (const BodyId id : loads) {
    if (loads.size() > 1) {
      std::vector<Expr> index = numbered_index(arena[id]);
      if (std::find(seen.begin(), seen.end(), index) != seen.end()) continue;
      seen.push_back(std::move(index));
    }
    double part = 1.0;
    for (const Expr& axis : arena[id].free) part *= extent(axis);
    elements += part;
  }
  return elements;
}

}  // namespace

std::vector<BodyId> bodies_of(const Arena& arena, const Kernel& kernel) {
  std::vector<BodyId> roots;
  for (const Root& root : kernel.roots) roots.push_back(root.value);
  return arena.reachable(roots);
}

double bytes_of(const Arena& arena, NodeId tensor,
                const std::function<double(const Expr&)>& extent) {
  double bytes = graph::bits(arena.tensor(tensor).dtype) / 8.0;
  for (const Expr& dim : arena.tensor(tensor).shape) bytes *= extent(dim);
  return bytes;
}

double bytes_read(const Arena& arena, std::span<const BodyId> values,
                  const std::function<double(const Expr&)>& extent) {
  std::map<NodeId, std::vector<BodyId>> loads;
  for (const BodyId id : arena.reachable(values))
    if (arena[id].kind == BodyKind::kLoad) loads[arena[id].tensor].push_back(id);
  double bytes = 0.0;
  for (const auto& [tensor, ids] : loads) {
    const double read =
        elements_read(arena, ids, extent) * graph::bits(arena.tensor(tensor).dtype) / 8.0;
    bytes += std::min(read, bytes_of(arena, tensor, extent));
  }
  return bytes;
}

}  // namespace luminal::kernel
