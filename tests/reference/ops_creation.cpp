// Tensors made from nothing.
#include "registry.h"

namespace luminal::reference {
namespace {

Tensor replay_arange(const Call& call) {
  const auto& attributes = call.attributes;
  const DType dtype = attributes.dtype("dtype");
  if (attributes.text("step").find('.') != std::string::npos)
    return arange_fractions(call.graph, attributes.number("start"), attributes.number("stop"),
                            attributes.number("step"), dtype);
  return arange(call.graph, attributes.integer("start"), attributes.integer("stop"),
                attributes.integer("step"), dtype);
}

}  // namespace

void add_creation_ops(Registry& registry) {
  registry.add("arange", replay_arange);
  registry.add("linspace", [](const Call& c) {
    return linspace(c.graph, c.attributes.number("start"), c.attributes.number("stop"),
                    c.attributes.integer("count"), c.attributes.dtype("dtype"));
  });
  registry.add("eye", [](const Call& c) {
    return eye(c.graph, c.attributes.integer("rows"), Dim(c.attributes.integer("columns")), 0,
               c.attributes.dtype("dtype"));
  });
  registry.add("zeros", [](const Call& c) {
    return zeros(c.graph, c.shape(), c.attributes.dtype("dtype"));
  });
  registry.add("ones",
               [](const Call& c) { return ones(c.graph, c.shape(), c.attributes.dtype("dtype")); });
  registry.add("full", [](const Call& c) {
    return full(c.graph, c.shape(), c.value("value"), c.attributes.dtype("dtype"));
  });
  registry.add("tril", [](const Call& c) { return tril(c.x(), c.attributes.integer("diagonal")); });
  registry.add("triu", [](const Call& c) { return triu(c.x(), c.attributes.integer("diagonal")); });
  registry.add("one_hot", [](const Call& c) {
    return one_hot(c.x(), c.attributes.integer("classes"), c.attributes.dtype("dtype"));
  });
}

}  // namespace luminal::reference
