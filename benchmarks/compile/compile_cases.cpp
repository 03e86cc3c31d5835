#include "benchmarks/compile/compile_cases.h"

#include <fmt/format.h>

#include "benchmarks/nets/net_cases.h"
#include "tests/outline/networks.h"

namespace luminal::benchmarks {
namespace {

using graph::NodeId;
using networks::IR;

networks::Sizes small(bool decode) {
  return {.tokens = decode ? 1 : 128,
          .heads = 12,
          .kv_heads = 12,
          .d = 64,
          .hidden = 3072,
          .vocabulary = 50257,
          .cache = 1024};
}

/// Numbers that no other constant has.
Array random_array(const Extents& extents, uint64_t seed) {
  int64_t count = 1;
  for (const int64_t extent : extents) count *= extent;
  std::vector<float> values(static_cast<size_t>(count));
  uint64_t state = seed * 0x9e3779b97f4a7c15ULL + 1;
  for (float& value : values) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    value = static_cast<float>(state >> 40) * 0x1p-24F - 0.5F;
  }
  return Array::from<float>(f32, extents, values);
}

/// What the inputs of a network become that it has learned.
enum class Learned : uint8_t { kInput, kWeight, kConstant };

bool is_learned(const graph::Node& node) {
  if (node.op != graph::Op::kInput || node.dtype() != f32) return false;
  const std::string& name = node.attribute<graph::InputAttribute>().name;
  return !name.ends_with("keys") && !name.ends_with("values") && !node.shape().empty() &&
         name.size() > 2 && name != "image";
}

/// The same graph, node by node, with weights as they are asked for.
IR with_weights(const IR& graph, Learned learned) {
  IR result;
  for (const NodeId id : graph.ids()) {
    const graph::Node& node = graph.node(id);
    if (learned == Learned::kInput || !is_learned(node)) {
      result.add_like(node, node.operands);
    } else if (learned == Learned::kWeight) {
      result.add_input(node.attribute<graph::InputAttribute>().name, f32, node.shape(), true);
    } else {
      Extents extents;
      for (const Dim& extent : node.shape()) extents.push_back(*extent.constant_value());
      result.add_constant(random_array(extents, id.value));
    }
    result.set_name(id, node.name);
  }
  for (const graph::NamedDefinition& named : graph.named()) result.add_named(named);
  for (const graph::Output& output : graph.outputs()) result.add_output(output.name, output.edge);
  return result;
}

IR written(const Case& each) {
  Network network;
  each.write(network);
  IR result = network.graph.ir();
  for (size_t k = 0; k < network.outputs.size(); ++k)
    result.add_output(fmt::format("y{}", k), network.outputs[k].edge());
  return result;
}

IR block() {
  Graph g;
  const networks::Sizes sizes = small(false);
  const Tensor x = g.input("x", {sizes.tokens, sizes.width()});
  return networks::written(g, {{"y", networks::gpt_layer({g, "l_"}, x, sizes)}});
}

/// A recurrent cell that reads its input by position.
IR rnn(int steps) {
  Graph g;
  constexpr int64_t kWidth = 128;
  const Tensor x = g.input("x", {steps, kWidth});
  const Tensor w = g.input("inner", {kWidth, kWidth}), u = g.input("outer", {kWidth, kWidth});
  Tensor h = g.input("h", {1, kWidth});
  for (int k = 0; k < steps; ++k)
    h = tanh(matmul(slice(x, 0, {.begin = k, .end = k + 1}), u) + matmul(h, w));
  return networks::written(g, {{"h", h}});
}

/// Elementwise steps that no kernel can hold all of.
IR chain(int steps) {
  Graph g;
  Tensor x = g.input("x", {4096});
  for (int k = 0; k < steps; ++k) x = k % 2 == 0 ? tanh(x * 1.5F) : x + 0.25F;
  return networks::written(g, {{"y", x}});
}

}  // namespace

std::vector<CompileCase> compile_cases(const std::vector<int>& layers) {
  std::vector<CompileCase> cases;
  const auto add = [&](std::string name, const std::function<IR()>& write, Learned learned) {
    cases.push_back({std::move(name), [=] { return with_weights(write(), learned); },
                     learned == Learned::kConstant});
  };
  // Small networks of the other suites, whose weights are inputs that stay.
  for (const Case& each : net_cases())
    if (each.name == "mlp 32" || each.name == "digit cnn 32" || each.name == "residual block 56")
      add(
          each.name, [each] { return written(each); }, Learned::kInput);
  add("gpt block", block, Learned::kWeight);
  for (const int count : layers)
    add(
        fmt::format("gpt {} layers", count),
        [=] { return networks::written_gpt(count, small(false)); }, Learned::kWeight);
  add(
      "gpt 12 layers, inputs", [] { return networks::written_gpt(12, small(false)); },
      Learned::kInput);
  add(
      "gpt 12 layers, constants", [] { return networks::written_gpt(12, small(false)); },
      Learned::kConstant);
  for (const int count : layers)
    add(
        fmt::format("llama decode {} layers", count),
        [=] { return networks::written_llama(count, small(true)); }, Learned::kWeight);
  add(
      "encoder decoder 3 + 3, tiny", [] { return networks::encoder_decoder(3, 3); },
      Learned::kWeight);
  add(
      "encoder decoder 3 + 3", [] { return networks::encoder_decoder(3, 3, small(false)); },
      Learned::kWeight);
  add(
      "mixture 3 x 4", [] { return networks::mixture(3, 4, small(false)); }, Learned::kWeight);
  add(
      "resnet",
      [] {
        return networks::resnet({2, 2, 2, 2}, 64, 56);
      },
      Learned::kWeight);
  for (const int steps : {20, 100})
    add(
        fmt::format("lstm {}", steps), [=] { return networks::lstm(steps, 128); },
        Learned::kWeight);
  for (const int steps : {20, 100})
    add(
        fmt::format("rnn {}", steps), [=] { return rnn(steps); }, Learned::kWeight);
  for (const int steps : {200, 2000})
    add(
        fmt::format("chain {}", steps), [=] { return chain(steps); }, Learned::kInput);
  return cases;
}

}  // namespace luminal::benchmarks
