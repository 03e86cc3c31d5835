// How often threads are started: transformer blocks as the processor runs them, with weights that
// are marked. Siblings share a launch, small work is done by every thread for itself, and what is
// computed stays what the interpreter computes.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/make_compiled.h"
#include "luminal/graph/dim_binding.h"
#include "luminal/graph/pass.h"
#include "luminal/kernel/test_kernels.h"
#include "luminal/luminal.h"
#include "luminal/plan/compiled_program.h"
#include "luminal/plan/plan_file.h"
#include "plan_samples.h"

namespace luminal::test {
namespace {

using compiler::LaunchStep;
using compiler::Options;
using compiler::Plan;
using compiler::PlanStep;

struct Sizes {
  Dim tokens = 1;
  int64_t heads = 8, kv_heads = 2, d = 32, hidden = 512;
  int64_t cache = 64;
  DType dtype = f32;
  int64_t width() const { return heads * d; }
};

/// A block that is being written.
struct Block {
  Graph g;
  Sizes s;

  Tensor weight(const std::string& name, const Shape& shape) const {
    return g.weight(name, shape, s.dtype);
  }
  Tensor linear(const Tensor& x, const std::string& name, int64_t outputs) const {
    return matmul(x, transpose(weight(name, {outputs, x.dim(-1)})));
  }
  Tensor biased(const Tensor& x, const std::string& name, int64_t outputs) const {
    return linear(x, name, outputs) + weight(name + "_bias", {outputs});
  }
  Tensor layer_norm(const Tensor& x, const std::string& name) const {
    return luminal::layer_norm(x, weight(name + "_weight", {s.width()}),
                               weight(name + "_bias", {s.width()}));
  }
  Tensor rms_norm(const Tensor& x, const std::string& name) const {
    return luminal::rms_norm(x, weight(name, {s.width()}));
  }
  static Tensor split(const Tensor& x, int64_t heads) {
    return transpose(split_dims(x, -1, {heads, -1}), 0, 1);
  }
  static Tensor merge(const Tensor& x) { return merge_dims(transpose(x, 0, 1), 1, 2); }
};

graph::Graph finished(const Graph& g, const std::vector<std::pair<std::string, Tensor>>& outputs) {
  graph::Graph ir = g.ir();
  for (const auto& [name, tensor] : outputs) ir.add_output(name, tensor.edge());
  return graph::default_passes().run(ir).graph;
}

graph::Graph gpt_block(const Sizes& sizes) {
  const Block b{{}, sizes};
  const int64_t width = sizes.width();
  const Tensor x = b.g.input("x", {sizes.tokens, width}, sizes.dtype);
  const Tensor h = b.layer_norm(x, "norm1");
  const Tensor q = Block::split(b.biased(h, "q", width), sizes.heads);
  const Tensor k = Block::split(b.biased(h, "k", width), sizes.heads);
  const Tensor v = Block::split(b.biased(h, "v", width), sizes.heads);
  const Tensor mixed = Block::merge(attention(q, k, v, {.causal = true}));
  const Tensor y = x + b.biased(mixed, "o", width);
  const Tensor up = gelu_tanh(b.biased(b.layer_norm(y, "norm2"), "up", sizes.hidden));
  return finished(b.g, {{"y", y + b.biased(up, "down", width)}});
}

/// Grouped heads, rotary positions, SwiGLU, and caches of keys and values that get one more row.
graph::Graph llama_block(const Sizes& sizes, int layers = 1) {
  Block b{{}, sizes};
  const int64_t width = sizes.width(), kv = sizes.kv_heads * sizes.d;
  const Dim past = b.g.dim("past", 0, sizes.cache - 1);
  Tensor x = b.g.input("x", {sizes.tokens, width}, sizes.dtype);
  std::vector<std::pair<std::string, Tensor>> outputs;
  for (int layer = 0; layer < layers; ++layer) {
    const std::string p = layers == 1 ? "" : fmt::format("l{}_", layer);
    const Tensor h = b.rms_norm(x, p + "norm1");
    const Tensor positions = arange(b.g, past, past + sizes.tokens);
    const Tensor q = rope(Block::split(b.linear(h, p + "q", width), sizes.heads), positions);
    const Tensor k = rope(Block::split(b.linear(h, p + "k", kv), sizes.kv_heads), positions);
    const Tensor v = Block::split(b.linear(h, p + "v", kv), sizes.kv_heads);
    const Shape cache{sizes.kv_heads, sizes.cache, sizes.d};
    const Tensor keys = update_slice(b.g.input(p + "keys", cache, sizes.dtype), 1, past, k);
    const Tensor values = update_slice(b.g.input(p + "values", cache, sizes.dtype), 1, past, v);
    const Dim seen = past + sizes.tokens;
    const Tensor mixed = attention(q, slice(keys, 1, {.end = seen}),
                                   slice(values, 1, {.end = seen}), {.causal = true});
    const Tensor y = x + b.linear(Block::merge(mixed), p + "o", width);
    const Tensor n = b.rms_norm(y, p + "norm2");
    const Tensor gated =
        silu(b.linear(n, p + "gate", sizes.hidden)) * b.linear(n, p + "up", sizes.hidden);
    x = y + b.linear(gated, p + "down", width);
    outputs.push_back({p + "keys_out", keys});
    outputs.push_back({p + "values_out", values});
  }
  outputs.push_back({"y", x});
  return finished(b.g, outputs);
}

Options two_threads() { return {.machine = kernel::Machine::cpu(2), .threads = 2}; }

/// Launches of a run: what is prepared once does not count.
size_t launches(const Plan& plan) {
  return static_cast<size_t>(std::count_if(
      plan.steps.begin(), plan.steps.end(),
      [](const PlanStep& step) { return std::holds_alternative<LaunchStep>(step.action); }));
}

void expect_launches(const graph::Graph& graph, size_t most) {
  Options options = two_threads();
  options.target = codegen::cpu_target("znver4");  // others have other instructions for bf16
  const Plan plan = compiler::build_plan(graph, options);
  EXPECT_LE(launches(plan), most) << to_string(plan);
}

std::map<std::string, Array> random_inputs(const graph::Graph& graph, const graph::DimValues& dims,
                                           uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<> normal(0.0, 0.3);
  std::map<std::string, Array> inputs;
  for (const graph::Node& node : graph.nodes()) {
    if (node.op != graph::Op::kInput) continue;
    Array array(node.dtype(), graph::extents_of(node.shape(), dims));
    for (int64_t k = 0; k < array.size(); ++k)
      array.set(k, graph::Scalar::of(node.dtype(), normal(random)));
    inputs.emplace(node.attribute<graph::InputAttribute>().name, std::move(array));
  }
  return inputs;
}

/// Runs a plan twice and compares with the interpreter, as near as rounding allows.
void expect_right(plan::CompiledProgram& program, const graph::Graph& graph,
                  const graph::DimValues& dims, uint64_t seed) {
  const std::map<std::string, Array> inputs = random_inputs(graph, dims, seed);
  graph::RunRequest request;
  for (const auto& [name, value] : inputs) request.inputs[name] = &value;
  request.dims = dims;
  const std::vector<Array> expected = graph::make_interpreter(graph)->run(request);
  for (int run = 0; run < 2; ++run) {
    const std::vector<Array> actual = program.run(request);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t k = 0; k < actual.size(); ++k) {
      const bool narrow = actual[k].dtype() == bf16;
      const kernel::test::Closeness close =
          narrow ? kernel::test::Closeness{0.2, 0.05} : kernel::test::Closeness{1e-4, 1e-3};
      EXPECT_TRUE(kernel::test::near(actual[k], expected[k], close))
          << "output " << graph.outputs()[k].name << ", run " << run << ", seed " << seed;
    }
  }
}

void expect_right(const graph::Graph& graph, const graph::DimValues& dims, uint64_t seed) {
  expect_right(*compiler::make_compiled(graph, two_threads()), graph, dims, seed);
}

TEST(Launches, AGptBlockInPrefillIsAtMostEight) {
  for (const DType dtype : {f32, bf16})
    for (const int64_t tokens : {16, 128, 512})
      expect_launches(gpt_block({.tokens = tokens,
                                 .heads = 12,
                                 .kv_heads = 12,
                                 .d = 64,
                                 .hidden = 3072,
                                 .dtype = dtype}),
                      8);
}

TEST(Launches, ALlamaBlockInDecodeIsAtMostSix) {
  for (const DType dtype : {f32, bf16}) {
    expect_launches(llama_block({.dtype = dtype}), 6);
    for (const int64_t cache : {256, 2048})  // Llama 3.2 1B and Llama 3 8B
      for (const auto& [d, hidden] : {std::pair(64, 8192), std::pair(128, 14336)})
        expect_launches(llama_block({.heads = 32,
                                     .kv_heads = 8,
                                     .d = d,
                                     .hidden = hidden,
                                     .cache = cache,
                                     .dtype = dtype}),
                        6);
  }
}

/// Every layer but the first and the last has the launches of one.
TEST(Launches, LayersOfANetworkHaveNoMoreThanABlock) {
  const Plan two = compiler::build_plan(llama_block({}, 4), two_threads());
  const Plan four = compiler::build_plan(llama_block({}, 8), two_threads());
  EXPECT_LE(launches(four) - launches(two), 4 * 6) << to_string(four);
}

/// The products of a plan's launches that read what they share with others: by launch.
size_t most_products_in_a_launch(const Plan& plan) {
  size_t most = 0;
  for (const PlanStep& step : plan.steps)
    if (const auto* launch = std::get_if<LaunchStep>(&step.action))
      most = std::max(most, launch->beside.size() + 1);
  return most;
}

TEST(Launches, SiblingsThatReadOneValueAreOneLaunch) {
  Graph g;
  const Tensor x = g.input("x", {1, 256});
  std::vector<std::pair<std::string, Tensor>> outputs;
  for (const auto& [name, width] : {std::pair("q", 256), std::pair("k", 64), std::pair("v", 64)})
    outputs.push_back(
        {std::string("y_") + name, tanh(matmul(x, transpose(g.weight(name, {width, 256}))))});
  const graph::Graph graph = finished(g, outputs);
  const Plan plan = compiler::build_plan(graph, two_threads());
  EXPECT_EQ(launches(plan), 1) << to_string(plan);
  EXPECT_EQ(most_products_in_a_launch(plan), 3) << to_string(plan);
  expect_right(graph, {}, 1);
}

TEST(Launches, GateAndUpAreOneLaunchWithTheNormBeforeThem) {
  for (const DType dtype : {f32, bf16}) {
    const Block b{{}, {.dtype = dtype}};
    const Tensor n = b.rms_norm(b.g.input("x", {1, b.s.width()}, dtype), "norm");
    const Tensor y = silu(b.linear(n, "gate", 512)) * b.linear(n, "up", 512);
    const graph::Graph graph = finished(b.g, {{"y", y}});
    const Plan plan = compiler::build_plan(graph, two_threads());
    EXPECT_EQ(launches(plan), 1) << to_string(plan);
    expect_right(graph, {}, 2);
  }
}

/// Three products of a norm: the norm is one, whoever reads it.
TEST(Launches, WhatSiblingsBeginWithRunsOncePerThread) {
  Block b{{}, {}};
  const Tensor n = b.rms_norm(b.g.input("x", {1, b.s.width()}), "norm");
  std::vector<std::pair<std::string, Tensor>> outputs;
  for (const char* name : {"q", "k", "v"})
    outputs.push_back({std::string("y_") + name, b.biased(n, name, name[0] == 'q' ? 256 : 64)});
  const graph::Graph graph = finished(b.g, outputs);
  const Plan plan = compiler::build_plan(graph, two_threads());
  ASSERT_EQ(launches(plan), 1) << to_string(plan);
  const auto& launch = std::get<LaunchStep>(plan.steps[0].action);
  EXPECT_EQ(launch.beside.size(), 2) << to_string(plan);
  // The sum of squares, and the row times the gain of the norm: not once for each of the three.
  EXPECT_EQ(launch.first.size(), 2) << to_string(plan);
  expect_right(graph, {}, 3);
}

TEST(Launches, BlocksComputeWhatTheInterpreterDoes) {
  const Sizes small{.tokens = 5, .heads = 4, .kv_heads = 4, .d = 16, .hidden = 96};
  expect_right(gpt_block(small), {}, 4);
  for (const DType dtype : {f32, bf16})
    for (const int64_t past : {0, 7, 63})
      expect_right(llama_block({.dtype = dtype}), {{"past", past}}, 5);
  expect_right(llama_block({}, 3), {{"past", 9}}, 6);
}

TEST(Launches, StepsThatAreCheckedRunOneByOne) {
  Options options = two_threads();
  options.check_steps = true;
  const graph::Graph graph =
      llama_block({.heads = 4, .kv_heads = 2, .d = 8, .hidden = 48, .cache = 16});
  const Plan plan = compiler::build_plan(graph, options);
  EXPECT_EQ(most_products_in_a_launch(plan), 1) << to_string(plan);
  expect_right(*compiler::make_compiled(graph, options), graph, {{"past", 3}}, 7);
}

TEST(Launches, SharedOnesAreSavedAndLoaded) {
  const Folder folder;
  const graph::Graph graph = llama_block({});
  const Plan plan = compiler::build_plan(graph, two_threads());
  plan::save_plan(plan, folder.file("block.plan"));
  const Plan again = plan::load_plan_file(folder.file("block.plan"));
  EXPECT_EQ(to_string(again), to_string(plan));
  EXPECT_EQ(most_products_in_a_launch(again), most_products_in_a_launch(plan));
  expect_right(*plan::load_plan(again), graph, {{"past", 11}}, 8);
}

/// A launch beside others may have nothing to do for some dims.
TEST(Launches, OneOfAGroupMayBeEmpty) {
  Graph g;
  const Dim n = g.dim("n", 0, 8);
  const Tensor x = g.input("x", {1, 64});
  const Tensor few = g.input("few", {64, n});
  const graph::Graph graph =
      finished(g, {{"a", matmul(x, few)}, {"b", matmul(x, g.weight("w", {64, 48}))}});
  for (const int64_t value : {0, 3}) expect_right(graph, {{"n", value}}, 9);
}

}  // namespace
}  // namespace luminal::test
