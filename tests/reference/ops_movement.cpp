// Movement ops.
#include "luminal/support/error.h"
#include "registry.h"

namespace luminal::reference {
namespace {

PadMode pad_mode(const std::string& name) {
  if (name == "constant") return PadMode::kConstant;
  if (name == "reflect") return PadMode::kReflect;
  if (name == "replicate") return PadMode::kReplicate;
  if (name == "circular") return PadMode::kCircular;
  throw UserError("case file", "unknown mode of padding '{}'", name);
}

Tensor replay_pad(const Call& call) {
  const auto amounts = call.attributes.integers("amounts");
  std::vector<Padding> paddings;
  for (size_t i = 0; i + 1 < amounts.size(); i += 2)
    paddings.push_back({.before = amounts[i], .after = amounts[i + 1]});
  const Value fill = call.attributes.has("value") ? call.value("value") : Value(0);
  return pad(call.x(), paddings, pad_mode(call.attributes.text("mode")), fill);
}

Tensor replay_slice(const Call& call) {
  const auto& attributes = call.attributes;
  return slice(call.x(), call.axis(),
               {.begin = Dim(attributes.integer("begin")),
                .end = Dim(attributes.integer("end")),
                .step = attributes.integer("step")});
}

void add_shape_ops(Registry& registry) {
  registry.add("reshape", [](const Call& c) { return reshape(c.x(), c.shape()); });
  registry.add("permute", [](const Call& c) { return permute(c.x(), c.axes()); });
  registry.add("transpose",
               [](const Call& c) { return transpose(c.x(), c.axis("first"), c.axis("second")); });
  registry.add("expand", [](const Call& c) { return expand(c.x(), c.shape()); });
  registry.add("squeeze", [](const Call& c) { return squeeze(c.x(), {c.axis()}); });
  registry.add("unsqueeze", [](const Call& c) { return unsqueeze(c.x(), c.axis()); });
  registry.add("flatten",
               [](const Call& c) { return flatten(c.x(), c.axis("first"), c.axis("last")); });
  registry.add("split_dims",
               [](const Call& c) { return split_dims(c.x(), c.axis(), c.shape("sizes")); });
  registry.add("merge_dims",
               [](const Call& c) { return merge_dims(c.x(), c.axis("first"), c.axis("count")); });
}

}  // namespace

void add_movement_ops(Registry& registry) {
  add_shape_ops(registry);
  registry.add("slice", replay_slice);
  registry.add("pad", replay_pad);
  registry.add("select", [](const Call& c) {
    return select(c.x(), c.axis(), c.attributes.integer("position"));
  });
  registry.add("split", [](const Call& c) { return split(c.x(), c.dims("sizes"), c.axis()); });
  registry.add("flip", [](const Call& c) { return flip(c.x(), c.axes()); });
  registry.add("roll",
               [](const Call& c) { return roll(c.x(), c.attributes.integer("shift"), c.axis()); });
  registry.add("tile", [](const Call& c) { return tile(c.x(), c.attributes.integers("repeats")); });
  registry.add("repeat_interleave", [](const Call& c) {
    return repeat(c.x(), c.attributes.integer("count"), c.axis());
  });
  registry.add("chunk",
               [](const Call& c) { return chunk(c.x(), c.attributes.integer("count"), c.axis()); });
  registry.add("concat", [](const Call& c) { return concat(c.inputs, c.axis()); });
  registry.add("stack", [](const Call& c) { return stack(c.inputs, c.axis()); });
  registry.add("unfold", [](const Call& c) {
    return unfold(c.x(), c.axis(), c.attributes.integer("size"), c.attributes.integer("step"));
  });
  registry.add("diagonal", [](const Call& c) {
    return diagonal(c.x(), c.attributes.integer("offset"), c.axis("first"), c.axis("second"));
  });
}

}  // namespace luminal::reference
