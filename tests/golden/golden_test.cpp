// Plans of fixed graphs for a fixed machine, as text in the repository: what was fused, the loops
// of every kernel, how each is run. A change of the compiler that changes a plan shows here as a
// difference to be read; GOLDEN_WRITE=1 build/release/bin/golden_suite writes the files anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include "graphs.h"
#include "line_diff.h"
#include "luminal/compiler/build_plan.h"
#include "luminal/plan/plan.h"
#include "luminal/support/file.h"

namespace luminal::golden {
namespace {

const std::filesystem::path kPlans = std::filesystem::path(LUMINAL_SUITE_DIR) / "plans";

bool writing() {
  return std::getenv("GOLDEN_WRITE") != nullptr;  // NOLINT(concurrency-mt-unsafe)
}

plan::Plan plan_of(const FixedGraph& graph) {
  return compiler::build_plan(graph.graph, fixed_options(graph));
}

/// The plan without what the cost model thinks of it: a better guess is no other plan. The loops of
/// a kernel of several launches stand there once.
std::string text_of(plan::Plan plan) {
  std::string before;
  for (std::vector<plan::PlanStep>* steps : {&plan.prepare, &plan.steps})
    for (plan::PlanStep& step : *steps) {
      step.estimated_us = 0;
      const std::string text = std::exchange(step.text, step.text == before ? "" : step.text);
      before = text;
    }
  std::istringstream lines(plan::to_string(plan));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

class GoldenPlan : public testing::TestWithParam<std::string> {};

TEST_P(GoldenPlan, IsTheOneInTheRepository) {
  const std::filesystem::path file = kPlans / (GetParam() + ".txt");
  const std::string actual = text_of(plan_of(graph_named(GetParam())));
  if (writing()) return support::write_file_atomic(file.string(), actual);
  const std::string expected =
      std::filesystem::exists(file) ? support::read_file(file.string()) : "";
  EXPECT_TRUE(actual == expected)
      << "the plan of " << GetParam() << " has changed (- kept, + now):\n"
      << line_diff(expected, actual)
      << "if it is meant to: GOLDEN_WRITE=1 build/release/bin/golden_suite";
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const FixedGraph& graph : all_graphs()) result.push_back(graph.name);
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenPlan, testing::ValuesIn(names()),
                         [](const auto& each) { return each.param; });

TEST(GoldenPlans, EveryFileIsOfAGraph) {
  const std::vector<std::string> known = names();
  for (const auto& entry : std::filesystem::directory_iterator(kPlans))
    EXPECT_NE(std::find(known.begin(), known.end(), entry.path().stem().string()), known.end())
        << entry.path();
}

/// Launches of a run: what is prepared once does not count.
size_t launches_of(const plan::Plan& plan) {
  size_t launches = 0;
  for (const plan::PlanStep& step : plan.steps)
    launches += std::holds_alternative<plan::LaunchStep>(step.action) ? 1 : 0;
  return launches;
}

void expect_launches(const std::string& name, size_t most) {
  const plan::Plan plan = plan_of(graph_named(name));
  EXPECT_LE(launches_of(plan), most) << name << "\n" << plan::to_string(plan);
}

// The cut is promised by tests/kernel; here is what the processor is given in the end.

TEST(GoldenPlans, NormsAndSoftmaxesAreOneLaunchEach) {
  for (const char* name : {"softmax", "log_softmax", "layer_norm", "rms_norm"})
    expect_launches(name, 1);
}

TEST(GoldenPlans, AnMlpLayerIsOneLaunch) { expect_launches("mlp_layer", 1); }

TEST(GoldenPlans, AGptBlockInPrefillIsAtMostEightLaunches) {
  expect_launches("gpt_block_prefill", 8);
}

TEST(GoldenPlans, ConvolutionBiasReluAndPoolAreAtMostTwoLaunches) {
  expect_launches("conv_bias_relu_pool", 2);
}

TEST(LineDiff, ShowsWhatWentAndWhatCame) {
  EXPECT_EQ(line_diff("a\nb\nc\n", "a\nx\nc\n"), "  a\n- b\n+ x\n  c\n");
  EXPECT_EQ(line_diff("", "a\n"), "+ a\n");
  EXPECT_EQ(line_diff("a\n", "a\n"), "");
}

TEST(LineDiff, LeavesOutWhatIsFarFromADifference) {
  EXPECT_EQ(line_diff("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\n7\n"), "  ...\n  4\n  5\n- 6\n+ 7\n");
}

}  // namespace
}  // namespace luminal::golden
