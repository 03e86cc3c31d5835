// Products of matrices, convolutions, pools, rotary positions and attention.
#include "registry.h"

namespace luminal::reference {
namespace {

/// The same amount before and after every axis, or pairs of amounts.
std::vector<Padding> padding(const Call& call) {
  std::vector<Padding> paddings;
  if (call.attributes.has("padding_pairs")) {
    const auto pairs = call.attributes.integers("padding_pairs");
    for (size_t i = 0; i + 1 < pairs.size(); i += 2)
      paddings.push_back({.before = pairs[i], .after = pairs[i + 1]});
    return paddings;
  }
  for (const int64_t amount : call.attributes.integers("padding"))
    paddings.push_back({.before = amount, .after = amount});
  return paddings;
}

Tensor replay_conv(const Call& call) {
  const ConvOptions options{.stride = call.attributes.integers("stride"),
                            .padding = padding(call),
                            .dilation = call.attributes.integers("dilation"),
                            .groups = call.attributes.integer("groups")};
  const Tensor bias = call.inputs.size() > 2 ? call.inputs[2] : Tensor();
  switch (options.stride.size()) {
    case 1:
      return conv1d(call.x(), call.y(), bias, options);
    case 2:
      return conv2d(call.x(), call.y(), bias, options);
    default:
      return conv3d(call.x(), call.y(), bias, options);
  }
}

using Pool = Tensor (*)(const Tensor&, const std::vector<int64_t>&, const PoolOptions&);

void add_pool(Registry& registry, const std::string& op, Pool pool) {
  registry.add(op, [pool](const Call& c) {
    PoolOptions options{.stride = c.attributes.integers("stride"), .padding = padding(c)};
    if (c.attributes.has("dilation")) options.dilation = c.attributes.integers("dilation");
    if (c.attributes.has("count_padding"))
      options.count_padding = c.attributes.flag("count_padding");
    return pool(c.x(), c.attributes.integers("kernel"), options);
  });
}

Tensor replay_attention(const Call& call) {
  const auto& attributes = call.attributes;
  AttentionOptions options{.causal = attributes.flag_or_false("causal")};
  if (call.inputs.size() > 3) options.mask = call.inputs[3];
  if (attributes.has("scale")) options.scale = attributes.number("scale");
  if (attributes.has("window")) options.window = attributes.integer("window");
  if (attributes.has("softcap")) options.soft_cap = attributes.number("softcap");
  return attention(call.x(), call.y(), call.inputs.at(2), options);
}

}  // namespace

void add_contraction_ops(Registry& registry) {
  registry.add("matmul", [](const Call& c) {
    return c.attributes.has("dtype") ? matmul(c.x(), c.y(), c.attributes.dtype("dtype"))
                                     : matmul(c.x(), c.y());
  });
  registry.add("dot", [](const Call& c) { return dot(c.x(), c.y()); });
  registry.add("outer", [](const Call& c) { return outer(c.x(), c.y()); });
  registry.add("einsum",
               [](const Call& c) { return einsum(c.attributes.text("equation"), c.inputs); });
  registry.add("conv", replay_conv);
  add_pool(registry, "avg_pool", avg_pool);
  add_pool(registry, "max_pool", max_pool);
  registry.add("rope", [](const Call& c) {
    return rope(
        c.x(), c.y(),
        {.base = c.attributes.number("base"), .interleaved = c.attributes.flag("interleaved")});
  });
  registry.add("attention", replay_attention);
}

}  // namespace luminal::reference
