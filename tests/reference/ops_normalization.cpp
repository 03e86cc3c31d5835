// softmax and the norms.
#include "registry.h"

namespace luminal::reference {
namespace {

Tensor optional_input(const Call& call, size_t index) {
  return index < call.inputs.size() ? call.inputs[index] : Tensor();
}

Tensor replay_layer_norm(const Call& call) {
  const double epsilon = call.attributes.number("eps");
  if (call.inputs.size() > 1) return layer_norm(call.x(), call.y(), call.inputs.at(2), epsilon);
  std::vector<int> axes;
  for (int axis = -call.axis("axes"); axis < 0; ++axis) axes.push_back(axis);
  return layer_norm(call.x(), Axes(axes), epsilon);
}

}  // namespace

void add_normalization_ops(Registry& registry) {
  registry.add("softmax", [](const Call& c) { return softmax(c.x(), c.axis()); });
  registry.add("log_softmax", [](const Call& c) { return log_softmax(c.x(), c.axis()); });
  registry.add("layer_norm", replay_layer_norm);
  registry.add("rms_norm", [](const Call& c) {
    return rms_norm(c.x(), optional_input(c, 1), c.attributes.number("eps"));
  });
  registry.add("group_norm", [](const Call& c) {
    return group_norm(c.x(), c.attributes.integer("groups"), optional_input(c, 1),
                      optional_input(c, 2), c.attributes.number("eps"));
  });
  registry.add("batch_norm", [](const Call& c) {
    return batch_norm(c.x(), c.inputs.at(1), c.inputs.at(2), c.inputs.at(3), c.inputs.at(4),
                      c.attributes.number("eps"));
  });
  registry.add("normalize", [](const Call& c) {
    return normalize(c.x(), c.attributes.number("p"), c.axis(), c.attributes.number("eps"));
  });
  registry.add("mean_norm", [](const Call& c) { return mean_norm(c.x(), c.axis()); });
  registry.add("std_norm",
               [](const Call& c) { return std_norm(c.x(), c.axis(), c.attributes.number("eps")); });
}

}  // namespace luminal::reference
