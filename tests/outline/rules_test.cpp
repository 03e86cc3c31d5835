// Rules in the plan: definitions are chosen among those that rules find, never to a worse plan, and
// reports still speak of the graph.
#include <gtest/gtest.h>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/make_compiled.h"
#include "luminal/compiler/outline_expand.h"
#include "luminal/compiler/planned_program.h"
#include "networks.h"
#include "random_network.h"
#include "samples.h"

namespace luminal::compiler {
namespace {

using networks::IR;

std::vector<IR> all_networks() {
  return {networks::gpt(1, networks::large()),
          networks::gpt(3, networks::large()),
          networks::llama(1, networks::decoding()),
          networks::llama(3, networks::large()),
          networks::llama(3, networks::decoding()),
          networks::alternating(6),
          networks::mixture(3, 2),
          networks::resnet({3, 3}),
          networks::lstm(8),
          networks::mlp(12),
          networks::elementwise_chain(10)};
}

void expect_right(const IR& graph, const Options& options, uint64_t seed) {
  const kernel::test::Sample sample = sample_of(graph, seed);
  graph::RunRequest request;
  for (const auto& [name, value] : sample.inputs) request.inputs[name] = &value;
  request.dims = sample.dims;
  const std::vector<graph::Array> expected = graph::make_interpreter(graph)->run(request);
  const std::vector<graph::Array> actual = make_compiled(graph, options)->run(request);
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.size(); ++k)
    EXPECT_TRUE(kernel::test::near(actual[k], expected[k], {1e-4, 1e-3}))
        << "output " << graph.outputs()[k].name << ", seed " << seed;
}

TEST(PlansWithRules, AreNeverEstimatedWorseThanWithout) {
  for (const IR& graph : all_networks())
    for (const bool outline : {true, false}) {
      if (!outline && graph.size() > 150) continue;
      const auto planned = [&](std::optional<rules::RuleOptions> rules) {
        ProgramSearch search{.cut = search_options(), .rules = rules};
        if (!outline) search.outline.reset();
        PlannedProgram found(graph, {}, search);
        for (const std::string& problem : problems(found.program(), found.plan()))
          ADD_FAILURE() << problem;
        return found.plan().microseconds;
      };
      const double written = planned(std::nullopt);
      EXPECT_LE(planned(rules::RuleOptions{}), written * (1 + 1e-9)) << graph.size() << " nodes";
    }
}

TEST(PlansWithRules, AreTheSameEveryTime) {
  for (const IR& graph : {networks::llama(3, networks::decoding()), networks::mixture(3, 2)})
    EXPECT_EQ(to_string(build_plan(graph)), to_string(build_plan(graph)));
}

TEST(PlansWithRules, ComputeWhatIsCheaper) {
  Graph g;
  const Tensor x = g.input("x", {256, 8}), a = g.input("a", {8, 256}), b = g.input("b", {256, 8});
  const IR graph = networks::finished(g, {{"y", matmul(matmul(x, a), b)}});
  const Plan plan = build_plan(graph, {.threads = 2});
  // a b is 8 by 8, and x (a b) costs a sixteenth.
  bool thin = false;
  for (const PlanStep& step : plan.steps)
    thin = thin || (step.made_by_rules && step.type.shape[0].is_constant(8));
  EXPECT_TRUE(thin) << to_string(plan);
  for (const PlanStep& step : build_plan(graph, {.rules = false}).steps)
    EXPECT_FALSE(step.made_by_rules);
  expect_right(graph, {}, 3);
}

TEST(PlansWithRules, SpeakOfTheGraph) {
  for (const IR& graph : {networks::gpt(3), networks::mlp(12)}) {
    const Plan plan = build_plan(graph);
    for (const PlanStep& step : plan.steps) {
      ASSERT_LT(step.node.value, graph.size());
      if (step.made_by_rules) continue;
      EXPECT_EQ(graph.node(step.node).dtype(), step.type.dtype) << step.label;
    }
    // Every kernel has a name that somebody gave to a part of the graph.
    for (const PlanStep& step : plan.steps) {
      const auto is_told = [&](const auto& named) {
        return step.label.find(named.name) != std::string::npos;
      };
      EXPECT_TRUE(!std::holds_alternative<plan::LaunchStep>(step.action) ||
                  std::any_of(graph.named().begin(), graph.named().end(), is_told))
          << step.label;
    }
  }
}

TEST(PlansWithRules, LayersThatReadOneValueStayApart) {
  // Products of one value with matrices of different layers are siblings, which are not joined
  // across the borders of a layer.
  Graph g;
  const Tensor context = tanh(g.input("context", {4, 8}));
  Tensor x = g.input("x", {4, 8});
  for (int k = 0; k < 6; ++k) {
    const networks::Layer l = networks::layer_of(g, "l", k);
    x = x + tanh(l.biased(layer_norm(x), "w", 8)) * l.linear(context, "c", 8);
  }
  const Tensor y = x + matmul(context, g.input("last", {8, 8}));
  const IR graph = networks::finished(g, {{"y", y}});
  ASSERT_FALSE(find_outline(graph).regions.empty());
  expect_right(graph, {.weights = {"last", "l0_c"}}, 5);
}

/// Query, key and value of one input.
struct Siblings {
  Graph g;
  Tensor x, q, k, v, y;

  explicit Siblings(bool weights) {
    const auto matrix = [&](const std::string& name) {
      return weights ? g.weight(name, {64, 64}) : g.input(name, {64, 64});
    };
    x = g.input("x", {2, 64});
    q = matrix("q");
    k = matrix("k");
    v = matrix("v");
    y = tanh(matmul(x, q)) * matmul(x, k) + exp(matmul(x, v));
  }
};

bool is_kept(const Plan& plan, const PlanStep& step) {
  const auto& launch = std::get<LaunchStep>(step.action);
  return std::any_of(launch.buffers.begin(), launch.buffers.end(), [&](size_t buffer) {
    return plan.buffers[buffer].place == Place::kPrepared && plan.buffers[buffer].type.dtype == f32;
  });
}

TEST(PlansWithRules, ValuesMadeOfWeightsAloneAreMadeOnce) {
  Graph g;
  const Tensor w = g.weight("w", {64, 64}), x = g.input("x", {8, 64});
  const IR graph = networks::finished(g, {{"y", matmul(x, transpose(tanh(w)))}});
  const Plan plan = build_plan(graph);
  ASSERT_FALSE(plan.prepare.empty()) << to_string(plan);
  EXPECT_TRUE(is_kept(plan, plan.prepare[0])) << to_string(plan);
  EXPECT_EQ(plan.steps.size(), 1) << to_string(plan);
  expect_right(graph, {}, 4);
}

TEST(PlansWithRules, AWeightThatIsSetAgainGivesTheNewResult) {
  const Siblings net(true);
  Executable exe = compile(net.g, {net.y});
  Executable oracle = compile(net.g, {net.y}, {.backend = Backend::kInterpreter});
  const auto numbers = [](int64_t rows, int seed) {
    std::vector<float> values(static_cast<size_t>(rows * 64));
    for (size_t k = 0; k < values.size(); ++k)
      values[k] = 0.01F * static_cast<float>((k * 7 + static_cast<size_t>(seed) * 13) % 29);
    return graph::Array::from<float>(f32, {rows, 64}, values);
  };
  for (int round = 0; round < 4; ++round) {
    for (Executable* each : {&exe, &oracle}) {
      each->set(net.x, numbers(2, round));
      if (round == 0 || round == 1) each->set(net.q, numbers(64, 10 + round));
      if (round == 0 || round == 2) each->set(net.k, numbers(64, 20 + round));
      if (round == 0) each->set(net.v, numbers(64, 30));
      each->run();
    }
    EXPECT_TRUE(kernel::test::near(exe.get(net.y), oracle.get(net.y), {1e-4, 1e-3})) << round;
  }
}

TEST(PlansWithRules, AMarkOfAWeightIsKeptInText) {
  const Siblings net(true);
  const std::string text = graph::to_text(net.g.ir());
  EXPECT_NE(text.find("input weight \"q\""), std::string::npos) << text;
  EXPECT_EQ(graph::to_text(graph::parse_text(text)), text);
  EXPECT_EQ(graph::to_text(Siblings(false).g.ir()).find("weight"), std::string::npos);
}

TEST(PlansWithRules, RandomNetworksGiveTheOraclesResults) {
  for (uint64_t seed = 300; seed < 306; ++seed) {
    expect_right(networks::random_network(seed), {.outline = seed % 2 == 0}, seed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace luminal::compiler
