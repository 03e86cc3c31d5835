// Gather, scatter, masks and sorting.
#include "luminal/support/error.h"
#include "registry.h"

namespace luminal::reference {
namespace {

ScatterMode scatter_mode(const Call& call) {
  const std::string& name = call.attributes.text("mode");
  for (const ScatterMode mode : {ScatterMode::kSet, ScatterMode::kAdd, ScatterMode::kMul,
                                 ScatterMode::kMax, ScatterMode::kMin})
    if (graph::name(mode) == name) return mode;
  throw UserError("case file", "unknown mode of scatter '{}'", name);
}

void add_sorting_ops(Registry& registry) {
  registry.add("sort", [](const Call& c) {
    return sort(c.x(), c.axis(), c.attributes.flag("descending")).values;
  });
  registry.add("argsort", [](const Call& c) {
    return argsort(c.x(), c.axis(), c.attributes.flag("descending"));
  });
  registry.add("topk", [](const Call& c) {
    const Sorted top =
        topk(c.x(), c.attributes.integer("count"), c.axis(), c.attributes.flag("largest"));
    return std::vector<Tensor>{top.values, top.indices};
  });
}

}  // namespace

void add_indexing_ops(Registry& registry) {
  registry.add("gather", [](const Call& c) { return gather(c.x(), c.axis(), c.y()); });
  registry.add("take_along", [](const Call& c) { return take_along(c.x(), c.y(), c.axis()); });
  registry.add("index_select", [](const Call& c) { return index_select(c.x(), c.axis(), c.y()); });
  registry.add("embedding", [](const Call& c) { return embedding(c.x(), c.y()); });
  registry.add("gather_nd", [](const Call& c) { return gather_nd(c.x(), c.y()); });
  registry.add("scatter", [](const Call& c) {
    return scatter(c.x(), c.axis(), c.y(), c.inputs.at(2), scatter_mode(c));
  });
  registry.add("index_put", [](const Call& c) {
    return index_put(c.x(), c.axis(), c.y(), c.inputs.at(2), scatter_mode(c));
  });
  registry.add("scatter_nd", [](const Call& c) {
    return scatter_nd(c.x(), c.y(), c.inputs.at(2), scatter_mode(c));
  });
  registry.add("masked_fill",
               [](const Call& c) { return masked_fill(c.x(), c.y(), c.value("value")); });
  add_sorting_ops(registry);
}

}  // namespace luminal::reference
