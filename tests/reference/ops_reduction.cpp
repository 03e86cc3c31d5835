// Reductions, positions of extremes, and scans.
#include "registry.h"

namespace luminal::reference {
namespace {

using Reduction = Tensor (*)(const Tensor&, const Axes&, bool);

void add_reduction(Registry& registry, const std::string& op, Reduction function) {
  registry.add(op, [function](const Call& c) {
    return function(c.x(), c.axes(), c.attributes.flag_or_false("keepdim"));
  });
}

using Position = Tensor (*)(const Tensor&, std::optional<int>, bool);

void add_position(Registry& registry, const std::string& op, Position function) {
  registry.add(op, [function](const Call& c) {
    const auto axis = c.attributes.has("axis") ? std::optional(c.axis()) : std::nullopt;
    return function(c.x(), axis, c.attributes.flag_or_false("keepdim"));
  });
}

}  // namespace

void add_reduction_ops(Registry& registry) {
  add_reduction(registry, "sum", luminal::sum);
  add_reduction(registry, "prod", luminal::prod);
  add_reduction(registry, "max", luminal::max);
  add_reduction(registry, "min", luminal::min);
  add_reduction(registry, "mean", luminal::mean);
  add_reduction(registry, "any", luminal::any);
  add_reduction(registry, "all", luminal::all);
  add_reduction(registry, "logsumexp", luminal::logsumexp);
  registry.add("var", [](const Call& c) {
    return var(c.x(), c.axes(), c.attributes.integer("correction"), c.attributes.flag("keepdim"));
  });
  registry.add("std", [](const Call& c) {
    return luminal::std(c.x(), c.axes(), c.attributes.integer("correction"),
                        c.attributes.flag("keepdim"));
  });
  registry.add("norm", [](const Call& c) {
    return norm(c.x(), c.attributes.number("p"), c.axes(), c.attributes.flag("keepdim"));
  });
  add_position(registry, "argmax", argmax);
  add_position(registry, "argmin", argmin);
  registry.add("cumsum", [](const Call& c) { return cumsum(c.x(), c.axis()); });
  registry.add("cumprod", [](const Call& c) { return cumprod(c.x(), c.axis()); });
  registry.add("cummax", [](const Call& c) { return cummax(c.x(), c.axis()); });
  registry.add("cummin", [](const Call& c) { return cummin(c.x(), c.axis()); });
}

}  // namespace luminal::reference
