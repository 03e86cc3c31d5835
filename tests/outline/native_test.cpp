// Compiled programs give the oracle's results, whether repeated regions were looked at once or not,
// and more layers are no more code.
#include <gtest/gtest.h>

#include <functional>

#include "growing.h"
#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/make_compiled.h"
#include "networks.h"
#include "random_network.h"
#include "samples.h"

namespace luminal::compiler {
namespace {

using networks::IR;

/// Compiling takes its time, so most graphs are compiled only with their repeats looked at once.
void expect_native_right(const IR& graph, uint64_t seed, bool direct_too = false) {
  const kernel::test::Sample sample = sample_of(graph, seed);
  graph::RunRequest request;
  for (const auto& [name, value] : sample.inputs) request.inputs[name] = &value;
  request.dims = sample.dims;
  const std::vector<graph::Array> expected = graph::make_interpreter(graph)->run(request);
  for (const bool outline : direct_too ? std::vector<bool>{true, false} : std::vector<bool>{true}) {
    const std::vector<graph::Array> actual =
        make_compiled(graph, {.outline = outline})->run(request);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t k = 0; k < actual.size(); ++k)
      EXPECT_TRUE(kernel::test::near(actual[k], expected[k], {1e-4, 1e-3}))
          << "output " << graph.outputs()[k].name << ", seed " << seed
          << (outline ? ", outlined" : "");
  }
}

TEST(OutlinedProgram, NetworksGiveTheOraclesResults) {
  for (const IR& graph :
       {networks::gpt(3), networks::llama(3, {.tokens = 1}), networks::encoder_decoder(3, 3),
        networks::resnet({3}), networks::lstm(8), networks::mlp(12)})
    expect_native_right(graph, 11);
}

TEST(OutlinedProgram, DeclaredRepeatsGiveTheOraclesResults) {
  Graph g;
  const Tensor y = g.repeat("layer", 4, g.input("x", {3, 8}), [&](int64_t k, const Tensor& x) {
    return networks::gpt_layer(networks::layer_of(g, "l", static_cast<int>(k)), x, {});
  });
  expect_native_right(networks::finished(g, {{"y", y}}), 12);
}

// Positions and numbers are computed where they are read, but the first layer reads what the others
// have in memory.
TEST(OutlinedProgram, RepeatsMayBeginWithWhatNobodyStores) {
  const std::vector<std::function<Tensor(const Graph&)>> beginnings = {
      [](const Graph& g) { return eye(g, 4, 2, -1); },
      [](const Graph& g) {
        return full(g, {4, 2}, 0.25);
      },
      [](const Graph& g) {
        return expand(g.input("row", {1, 2}), {4, 2});
      }};
  for (const auto& beginning : beginnings)
    for (const int layers : {2, 5}) {
      Graph g;
      const Tensor first = beginning(g);
      const Tensor y = g.repeat("layer", layers, first, [&](int64_t k, const Tensor& x) {
        return x + matmul(x, g.input(fmt::format("w{}", k), {2, 2})) * 0.5;
      });
      expect_native_right(networks::finished(g, {{"y", y}, {"z", first * 2.0}}), 13, true);
      expect_native_right(networks::finished(g, {{"y", y}}), 13, true);
    }
}

TEST(OutlinedProgram, RandomNetworksWithPlantedRepeatsGiveTheOraclesResults) {
  for (uint64_t seed = 100; seed < 104; ++seed) {
    expect_native_right(networks::random_network(seed), seed, seed < 102);
    if (HasFailure()) return;
  }
}

TEST(OutlinedProgram, PositionsAreCheckedInEveryLayer) {
  Graph g;
  Tensor x = g.input("x", {3, 8});
  const Tensor ids = g.input("ids", {3}, i64);
  for (int k = 0; k < 6; ++k) {
    const networks::Layer l = networks::layer_of(g, "l", k);
    x = x + tanh(l.biased(layer_norm(x), "w", 8)) + embedding(l.weight("table", {5, 8}), ids + k);
  }
  const IR graph = networks::finished(g, {{"y", x}});
  const kernel::test::Sample sample = sample_of(graph, 1);
  graph::RunRequest request;
  for (const auto& [name, value] : sample.inputs) request.inputs[name] = &value;
  const graph::Array zeros = graph::Array::from<int64_t>(i64, {3}, std::vector<int64_t>{0, 0, 0});
  request.inputs["ids"] = &zeros;  // 5 is out of range, in the last layer
  EXPECT_THROW(make_compiled(graph)->run(request), UserError);
}

TEST(OutlinedProgram, MoreLayersAreNoMoreCode) {
  const Plan few = build_plan(networks::gpt(4)), many = build_plan(networks::gpt(24));
  EXPECT_EQ(few.kernels.size(), many.kernels.size());
  EXPECT_GT(many.steps.size(), 4 * few.steps.size());
}

TEST(OutlinedProgram, StepsThatReadOneRowAfterTheOtherAreNoMoreCode) {
  const IR graph = networks::rnn(12);
  const Plan few = build_plan(graph), many = build_plan(networks::rnn(20));
  EXPECT_EQ(few.kernels.size(), many.kernels.size());
  EXPECT_GT(many.steps.size(), few.steps.size());
  expect_native_right(graph, 5);
}

TEST(OutlinedProgram, StepsWithGatesShareMostOfTheirCode) {
  // Neighbouring steps are fused in ways that differ along the chain, so some code is added.
  const IR graph = networks::gated_rnn(12);
  const Plan few = build_plan(graph, {.threads = 2});
  const Plan many = build_plan(networks::gated_rnn(20), {.threads = 2});
  EXPECT_LE(many.kernels.size(), few.kernels.size() + 1)
      << plan::to_string(few) << plan::to_string(many);
  EXPECT_GT(many.steps.size(), few.steps.size() + 1);
  expect_native_right(graph, 5);
}

TEST(OutlinedProgram, WeightsOfSomeLayersMayBeConstant) {
  const IR graph = networks::mlp(12);
  const kernel::test::Sample sample = sample_of(graph, 3);
  graph::RunRequest request;
  for (const auto& [name, value] : sample.inputs) request.inputs[name] = &value;
  const std::vector<graph::Array> expected = graph::make_interpreter(graph)->run(request);
  const auto program = make_compiled(graph, {.weights = {"l3_w", "l4_w", "l4_w_b"}});
  EXPECT_TRUE(kernel::test::near(program->run(request)[0], expected[0], {1e-4, 1e-3}));
}

}  // namespace
}  // namespace luminal::compiler
