// Plans for several values of a dim: which one runs is a question of speed, never of the result.
#include <gtest/gtest.h>

#include "luminal/compiler/buckets.h"
#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/planned_program.h"
#include "luminal/plan/variants.h"
#include "plan_samples.h"

namespace luminal::test {
namespace {

/// An MLP over n tokens that see m others.
struct Net {
  Graph g;
  Dim n = g.dim("n", 1, 1000), m = g.dim("m", 1, 1000);
  Tensor x = g.input("x", {n, 32}), memory = g.input("memory", {m, 32});
  Tensor seen = matmul(softmax(matmul(x, transpose(memory, 0, 1)), -1), memory);
  Tensor y = gelu(matmul(x + seen, g.constant(numbers({32, 48}, 1)))).named("y");

  static void set(Executable& exe, int64_t tokens, int64_t others) {
    exe.set("x", numbers({tokens, 32}, 2));
    exe.set("memory", numbers({others, 32}, 3));
  }
};

void expect_oracle(Executable& exe, const Net& net, int64_t tokens, int64_t others) {
  Executable oracle = compile(net.g, {net.y}, {.backend = Backend::kInterpreter});
  for (Executable* each : {&exe, &oracle}) {
    Net::set(*each, tokens, others);
    each->run();
  }
  const std::vector<float> actual = exe.get(0).to_vector<float>();
  const std::vector<float> expected = oracle.get(0).to_vector<float>();
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < expected.size(); ++k)
    ASSERT_NEAR(actual[k], expected[k], 1e-4) << tokens << " tokens, element " << k;
}

const CompileOptions kOptions{.compiler = {.buckets = {{"n", {1, 16, 128}}, {"m", {8, 256}}}}};

plan::Plan plan_of(const Net& net) {
  graph::Graph graph = net.g.ir();
  graph.add_output("y", net.y.edge());
  return compiler::build_buckets(std::move(graph), kOptions.compiler);
}

graph::DimValues made_for(const plan::Plan& plan, int64_t n, int64_t m) {
  const size_t number = plan::variant_for(plan, {{"n", n}, {"m", m}});
  return number == 0 ? plan.made_for : plan.variants[number - 1].made_for;
}

TEST(Buckets, OutputsAreTheOraclesAtBetweenAndAboveTheValues) {
  const Net net;
  Executable exe = compile(net.g, {net.y}, kOptions);
  for (const int64_t tokens : {1, 2, 16, 17, 128, 129, 300})
    for (const int64_t others : {1, 8, 9, 300}) expect_oracle(exe, net, tokens, others);
}

TEST(Buckets, TheSmallestThatHoldsTheValueRuns) {
  const Net net;
  const plan::Plan plan = plan_of(net);
  EXPECT_EQ(plan.variants.size(), 5u);
  EXPECT_EQ(made_for(plan, 1, 8), (graph::DimValues{{"m", 8}, {"n", 1}}));
  EXPECT_EQ(made_for(plan, 2, 1), (graph::DimValues{{"m", 8}, {"n", 16}}));
  EXPECT_EQ(made_for(plan, 16, 9), (graph::DimValues{{"m", 256}, {"n", 16}}));
  EXPECT_EQ(made_for(plan, 17, 256), (graph::DimValues{{"m", 256}, {"n", 128}}));
  EXPECT_EQ(made_for(plan, 999, 999), (graph::DimValues{{"m", 256}, {"n", 128}}));
}

TEST(Buckets, PlansDifferAsTheirDimsDo) {
  const Net net;
  const plan::Plan plan = plan_of(net);
  const std::string text = to_string(plan);
  EXPECT_NE(text.find("steps for m = 8, n = 1,"), std::string::npos) << text;
  EXPECT_NE(text.find("steps for m = 256, n = 128,"), std::string::npos) << text;
  const auto schedules = [](const plan::Plan& one) {
    std::string all;
    for (const plan::PlanStep& step : one.steps) all += step.schedule + "\n";
    return all;
  };
  EXPECT_NE(schedules(plan), schedules(plan.variants.back()));
}

TEST(Buckets, ShareWhatRulesFound) {
  const Net net;
  graph::Graph graph = net.g.ir();
  graph.add_output("y", net.y.edge());
  compiler::FoundDefinitions found;
  compiler::build_plan(graph, {.dims = {{"n", 1}}}, &found);
  ASSERT_TRUE(found.whole.has_value() || found.reduced.has_value());
  EXPECT_EQ(to_string(compiler::build_plan(graph, {.dims = {{"n", 512}}}, &found)),
            to_string(compiler::build_plan(graph, {.dims = {{"n", 512}}})));
}

TEST(Buckets, AreSavedWithTheirCodeOnce) {
  const Folder folder;
  const Net net;
  compile(net.g, {net.y}, kOptions).save(folder.file("buckets"));
  Executable loaded = load(folder.file("buckets"));
  for (const int64_t tokens : {1, 5, 40, 200}) expect_oracle(loaded, net, tokens, 10);
  loaded.save(folder.file("again"));
  EXPECT_EQ(std::filesystem::file_size(folder.file("again")),
            std::filesystem::file_size(folder.file("buckets")));
}

TEST(Buckets, DimsMayBeToldByTheDataAlone) {
  const Net net;
  const auto program = plan::load_plan(plan_of(net));
  const Array x = numbers({20, 32}, 2), memory = numbers({9, 32}, 3);
  graph::RunRequest request;
  request.inputs = {{"x", &x}, {"memory", &memory}};
  Executable exe = compile(net.g, {net.y});
  Net::set(exe, 20, 9);
  exe.run();
  const std::vector<float> actual = program->run(request)[0].to_vector<float>();
  const std::vector<float> expected = exe.get(0).to_vector<float>();
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(actual[k], expected[k], 1e-4);
  request.inputs.erase("x");
  EXPECT_EQ(error_of([&] { program->run(request); }),
            "run: input 'x' of type f32[n, 32] has no data");
}

TEST(Buckets, WhatCannotBeABucketIsSaid) {
  const Net net;
  const auto error = [&](std::map<std::string, std::vector<int64_t>> buckets) {
    return error_of([&] { compile(net.g, {net.y}, {.compiler = {.buckets = buckets}}); });
  };
  EXPECT_EQ(error({{"k", {1}}}),
            "compile: buckets are for the dim 'k', which the graph does not have");
  EXPECT_EQ(error({{"n", {}}}), "compile: the dim 'n' has no values of buckets");
  EXPECT_EQ(error({{"n", {0}}}), "compile: the bucket n = 0 is outside the dim's range [1, 1000]");
  std::vector<int64_t> many;
  for (int64_t k = 1; k <= 9; ++k) many.push_back(k);
  EXPECT_EQ(error({{"n", many}, {"m", many}}),
            "compile: buckets ask for more than 64 plans; name fewer values");
}

}  // namespace
}  // namespace luminal::test
