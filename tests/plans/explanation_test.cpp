// What explanations say of plans whose answer is known. Whole answers are in tests/commands.
#include <gtest/gtest.h>

#include "luminal/codegen/llvm/cpu_target.h"
#include "luminal/compiler/explanation_ways.h"
#include "luminal/luminal.h"
#include "luminal/support/error.h"

namespace luminal {
namespace {

using compiler::ExplainedKernel;
using compiler::Explanation;

/// What is chosen and told follows from the processor and the number of threads; nothing is run
/// here.
CompileOptions fixed() {
  CompileOptions options;
  options.compiler.target = codegen::cpu_target("znver4");
  options.compiler.threads = 2;
  return options;
}

CompileOptions with_reasons() {
  CompileOptions options = fixed();
  options.compiler.explain = true;
  return options;
}

double estimate_of_scan(int64_t n) {
  Graph g;
  const Tensor y = cumsum(g.input("x", {16, n}), 1);
  const Explanation all = compile(g, {y}, fixed()).explanation();
  EXPECT_EQ(all.kernels.size(), 1U);
  EXPECT_EQ(all.kernels[0].implementation, "scan");
  EXPECT_EQ(all.kernels[0].flops, 16.0 * static_cast<double>(n));
  return all.estimated_us;
}

TEST(Explanation, ScansAreEstimatedAsScans) {
  // As loops they would take four times as long for twice the elements.
  EXPECT_LT(estimate_of_scan(1 << 17), 3 * estimate_of_scan(1 << 16));
}

TEST(Explanation, AttentionIsEstimatedByItsTemplate) {
  Graph g;
  const Tensor q = g.input("q", {4, 256, 64}), k = g.input("k", {4, 256, 64});
  const Tensor v = g.input("v", {4, 256, 64});
  const Explanation all = compile(g, {attention(q, k, v)}, fixed()).explanation();
  ASSERT_EQ(all.kernels.size(), 1U);
  EXPECT_EQ(all.kernels[0].implementation, "attention");
  const double products = 2.0 * 4 * 256 * 256 * (64 + 64);
  EXPECT_GE(all.kernels[0].flops, products);
  EXPECT_LE(all.kernels[0].flops, 1.5 * products);
  EXPECT_EQ(all.kernels[0].bytes, 4.0 * 4 * 256 * 64 * 4);
}

TEST(Explanation, AValueWithSeveralReadersSaysWhatFusingItWouldCost) {
  Graph g;
  const Tensor x = g.input("x", {512, 512}), a = g.input("a", {512, 512});
  const Tensor h = matmul(x, a);
  const Explanation all =
      compile(g, {matmul(h, a), matmul(transpose(h), a)}, with_reasons()).explanation();
  ASSERT_TRUE(all.has_reasons);
  const plan::Boundary& boundary = all.kernels[0].boundaries.at(0);
  EXPECT_GT(boundary.fused_us, boundary.stored_us);
  EXPECT_NE(boundary.why.find("2 times over"), std::string::npos) << boundary.why;
  EXPECT_FALSE(boundary.fused_way.empty());
}

TEST(Explanation, ReasonsAreKeptOnlyIfAskedFor) {
  Graph g;
  const Tensor y = softmax(g.input("x", {8, 8}));
  const Explanation without = compile(g, {y}, fixed()).explanation();
  EXPECT_FALSE(without.has_reasons);
  EXPECT_TRUE(without.kernels[0].boundaries.empty());
  EXPECT_FALSE(without.kernels[0].refused.empty());
  EXPECT_NE(compile(g, {y}, fixed()).explain().find("Options::explain"), std::string::npos);
  const Explanation with = compile(g, {y}, with_reasons()).explanation();
  EXPECT_EQ(with.kernels[0].boundaries.at(0).why, "it is a result");
}

TEST(Explanation, ARefusedTemplateSaysWhy) {
  Graph g;
  const Tensor x = g.input("x", {2, 8, 16, 16}), w = g.weight("w", {8, 8, 5, 5});
  const Explanation all = compile(g, {conv2d(x, w)}, fixed()).explanation();
  const std::vector<plan::RefusedTemplate>& refused = all.kernels[0].refused;
  const auto winograd = std::find_if(refused.begin(), refused.end(),
                                     [](const auto& each) { return each.name == "winograd"; });
  ASSERT_NE(winograd, refused.end());
  EXPECT_EQ(winograd->why, "its windows are not 3x3 at steps of one");
}

TEST(Explanation, AConvolutionWithFewerProductsCountsThose) {
  Graph g;
  const Tensor x = g.input("x", {1, 64, 56, 56}), w = g.weight("w", {64, 64, 3, 3});
  const Executable program = compile(g, {conv2d(x, w)}, fixed());
  const Explanation all = program.explanation();
  ASSERT_EQ(all.kernels.size(), 1U);
  const ExplainedKernel& kernel = all.kernels[0];
  ASSERT_EQ(kernel.implementation, "Winograd convolution");
  EXPECT_EQ(kernel.defined_flops, 2.0 * 54 * 54 * 64 * 64 * 9);
  // 16 products instead of 36 for each of 27 x 27 squares, and the transformations.
  EXPECT_EQ(kernel.flops, 27.0 * 27 * (2 * 16 * 64 * 64 + 32 * 64 + 24 * 64));
  EXPECT_EQ(all.steps.back().flops, kernel.flops);
  const std::string text = to_string(all);
  EXPECT_NE(text.find("by this algorithm; as it is defined it would take 215 M"), std::string::npos)
      << text;
}

TEST(Explanation, ADirectSumHasNoSecondCount) {
  Graph g;
  const Tensor x = g.input("x", {64, 64}), w = g.weight("w", {64, 64});
  const Explanation all = compile(g, {matmul(x, w)}, fixed()).explanation();
  EXPECT_EQ(all.kernels[0].flops, 2.0 * 64 * 64 * 64);
  EXPECT_EQ(all.kernels[0].defined_flops, 0.0);
  EXPECT_EQ(to_string(all).find("as it is defined"), std::string::npos);
}

TEST(Explanation, AnInputThatMayBeGivenAwayIsAnAlias) {
  Graph g;
  const Tensor x = g.input("x", {1024});
  const Explanation all = compile(g, {(x * 2.0 + 1.0).named("y")}, fixed()).explanation();
  ASSERT_EQ(all.memory.aliases.size(), 1U);
  EXPECT_EQ(all.memory.aliases[0].of, "x");
  EXPECT_EQ(all.memory.aliases[0].why, "if given away");
}

/// A plan of one step that took so long, where bytes and flops take 10 us at least.
Explanation measured(double microseconds) {
  Explanation all;
  compiler::ExplainedStep& step = all.steps.emplace_back();
  step.label = "exp";
  step.kind = "launch";
  step.bound = "memory";
  step.floor_us = all.floor_us = 10;
  step.measured_us = all.run_us = all.measured_us = microseconds;
  return all;
}

TEST(Explanation, ALittleMoreThanTheBestIsExplainedToo) {
  const std::string more = "That is more than all";
  EXPECT_NE(to_string(measured(10 / 1.03)).find(more), std::string::npos);
  EXPECT_EQ(to_string(measured(10 / 1.004)).find(more), std::string::npos) << "100 % is shown";
}

TEST(Explanation, APlanOfSlowKernelsIsNotBlamedOnOtherWork) {
  compiler::SearchReport report;
  report.unreliable = true;
  report.trials = {{"0", true, 76, 80, ""}, {"1", false, 479, 0, ""}, {"2", false, 0, 0, ""}};
  const std::vector<compiler::ExplainedWay> plans = compiler::compared_plans(report);
  ASSERT_EQ(plans.size(), 3U);
  EXPECT_EQ(plans[1].why, "not timed as a whole: its kernels take 6.3 times as long");
  EXPECT_EQ(plans[2].why, "other work disturbed the times, so that the plan of the model is kept");
}

TEST(Explanation, MoreThanTheBestIsExplained) {
  const std::string slow = to_string(measured(20)), quick = to_string(measured(7.35));
  EXPECT_NE(slow.find("50 % of best"), std::string::npos) << slow;
  EXPECT_NE(slow.find("the rest is explained below"), std::string::npos) << slow;
  EXPECT_NE(slow.find("  of best: the least time that bytes and flops take"), std::string::npos);
  EXPECT_EQ(slow.find("more than"), std::string::npos) << slow;
  EXPECT_NE(quick.find("136 % of best"), std::string::npos) << quick;
  EXPECT_NE(quick.find("more than 100 %: data was still"), std::string::npos) << quick;
  EXPECT_NE(quick.find("That is more than all"), std::string::npos) << quick;
  EXPECT_EQ(quick.find("the rest is explained"), std::string::npos) << quick;
}

TEST(Explanation, DimsThatNoRunCouldHaveAreNotRefused) {
  Graph g;
  const Dim n = g.dim("n", 1, 1000), m = g.dim("m", 1, 1000);
  const Tensor x = g.input("x", {n, 4}), y = g.input("y", {m, 4});
  const Tensor rest = slice(x, 0, {m, n});  // there is none where m is larger
  Executable exe = compile(g, {rest, y + 1.0}, fixed());
  exe.set_dim("n", 2);
  exe.set_dim("m", 900);
  EXPECT_NE(exe.explain().find("Memory"), std::string::npos);
}

TEST(Explanation, TheInterpreterHasNone) {
  Graph g;
  const Tensor y = relu(g.input("x", {4}));
  const Executable exe = compile(g, {y}, {.backend = Backend::kInterpreter});
  EXPECT_THROW(exe.explanation(), UserError);
}

}  // namespace
}  // namespace luminal
