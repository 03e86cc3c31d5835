// Searches of what takes long do not begin what they cannot end in time. By times that are made up,
// so that no clock matters: what is said to take long takes none.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "luminal/compiler/build_plan.h"
#include "luminal/search/kernel_space.h"
#include "tests/search/made_up_search.h"

namespace luminal::compiler {
namespace {

/// A search of 1000 s in which every kernel takes so many seconds.
struct Slow : MadeUp {
  explicit Slow(double seconds) {
    kernel_time = [seconds](const search::KernelTask&, const std::string&) -> search::Measurement {
      return search::Timing{seconds * 1e6, 1, 10};
    };
  }
};

TEST(SearchBudget, KernelsThatTakeLongAreTriedOnceAndPlansOfThemAreNotRun) {
  const graph::Graph graph = Net().ir();
  const size_t kernels = PlanDraft(graph, kPlain).uses().size();
  Slow times(500);
  const SearchedPlan result = search_plan(graph, kPlain, times.options);
  EXPECT_EQ(times.kernel_trials, static_cast<int>(kernels));
  EXPECT_EQ(times.plan_trials, 0);
  EXPECT_FALSE(result.report.finished);
  EXPECT_FALSE(result.report.interrupted);
  EXPECT_EQ(result.report.structures, 1U);
  EXPECT_EQ(plan::to_string(result.plan), plan::to_string(build_plan(graph, kPlain)));
  // With as much time again there is nothing to be tried either, with more there is.
  search_plan(graph, kPlain, times.options);
  EXPECT_EQ(times.kernel_trials, static_cast<int>(kernels));
  times.options.seconds = 1e7;
  EXPECT_TRUE(search_plan(graph, kPlain, times.options).report.finished);
  EXPECT_GT(times.kernel_trials, static_cast<int>(kernels));
  EXPECT_GT(times.plan_trials, 1);
}

TEST(SearchBudget, WhatItTakesToMakeLargeDataDoesNotFitEither) {
  // Two tensors of 256 MB, which nobody makes here.
  Graph g;
  const Tensor y = exp(g.input("x", {1 << 26}));
  graph::Graph graph = g.ir();
  graph.add_output("y", y.edge());
  Slow times(1e-3);
  times.options.seconds = 0.5;
  const SearchedPlan result = search_plan(graph, kPlain, times.options);
  EXPECT_EQ(times.kernel_trials, 0);
  EXPECT_EQ(times.plan_trials, 0);
  EXPECT_FALSE(result.report.finished);
  times.options.seconds = 1000;
  search_plan(graph, kPlain, times.options);
  EXPECT_GT(times.kernel_trials, 1);
  EXPECT_GT(times.plan_trials, 0);
}

/// Searches of kernels that take long: with little time nothing of them is tried, and the result
/// says so, with more they are.
void expect_untried_with(double little, const Tensor& y) {
  graph::Graph graph = y.graph().ir();
  graph.add_output("y", y.edge());
  Slow times(0.1);
  times.options.seconds = little;
  const SearchedPlan result = search_plan(graph, kPlain, times.options);
  EXPECT_EQ(times.kernel_trials, 0);
  EXPECT_EQ(times.plan_trials, 0);
  EXPECT_EQ(result.report.untried, PlanDraft(graph, kPlain).uses().size());
  EXPECT_FALSE(result.report.finished);
  EXPECT_NE(to_string(result.report).find("no time to try"), std::string::npos);
  times.options.seconds = 1000;
  const SearchReport later = search_plan(graph, kPlain, times.options).report;
  EXPECT_GT(times.kernel_trials, 1);
  EXPECT_EQ(later.untried, 0U);
}

TEST(SearchBudget, WhatTheOracleTakesLongForDoesNotFit) {
  // A point is a sum of sums: seconds for data of a few megabytes.
  Graph g;
  const auto input = [&](const char* name) { return g.input(name, {1, 4, 4096, 64}); };
  expect_untried_with(0.5, attention(input("q"), input("k"), input("v")));
}

TEST(SearchBudget, WhatRunsLongByTheCostModelDoesNotFit) {
  Graph g;
  expect_untried_with(1, matmul(g.input("a", {8192, 4096}), g.input("b", {4096, 4096})));
}

TEST(SearchBudget, AWayThatTakesTooLongIsInTheWayOfNoOther) {
  const graph::Graph graph = Net().ir();
  MadeUp times;
  times.options.structures = 0;
  const SearchReport at_once = search_plan(graph, kPlain, times.options).report;
  EXPECT_TRUE(at_once.finished);

  // The first way that is tried besides defaults does not end before the time of a search does.
  MadeUp one_long;
  one_long.options.structures = 0;
  std::atomic<bool> is_over{false};
  one_long.options.cancel = &is_over;
  bool is_long = true;
  std::string which;
  std::vector<std::string> order;
  const auto time = one_long.kernel_time;
  one_long.kernel_time = [&](const search::KernelTask& task,
                             const std::string& schedule) -> search::Measurement {
    const std::string name = task.text + schedule;
    const bool is_default = schedule == search::kernel_space(task)->starts().front();
    if (which.empty() && !is_default) which = name;
    order.push_back(name);
    if (name != which || !is_long) return time(task, schedule);
    is_over = true;
    return search::Rejected{search::Rejected::Why::kInterrupted, "made up"};
  };
  const auto next = [&] {
    order.clear();
    is_over = false;
    return search_plan(graph, kPlain, one_long.options).report;
  };
  EXPECT_TRUE(next().interrupted);
  EXPECT_TRUE(next().interrupted);
  ASSERT_FALSE(order.empty());
  EXPECT_EQ(order.back(), which);
  EXPECT_EQ(std::ranges::count(order, which), 1);
  const SearchReport third = next();
  EXPECT_EQ(third.known, at_once.measured - 1);
  EXPECT_EQ(third.rejected, 0U);
  ASSERT_EQ(order.size(), 2U);  // with the default of its kernel
  EXPECT_EQ(order.back(), which);
  is_long = false;
  EXPECT_TRUE(next().finished);
  EXPECT_EQ(order.size(), 2U);
  EXPECT_TRUE(next().recalled);
}

TEST(SearchBudget, QuickKernelsAreTriedAsBefore) {
  const graph::Graph graph = Net().ir();
  Slow times(1e-6);
  EXPECT_TRUE(search_plan(graph, kPlain, times.options).report.finished);
  EXPECT_GT(times.plan_trials, 0);
}

}  // namespace
}  // namespace luminal::compiler
