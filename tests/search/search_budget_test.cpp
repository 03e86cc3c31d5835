// Searches of what takes long do not begin what they cannot end in time. By times that are made up,
// so that no clock matters: what is said to take long takes none.
#include <gtest/gtest.h>

#include "luminal/compiler/build_plan.h"
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

TEST(SearchBudget, QuickKernelsAreTriedAsBefore) {
  const graph::Graph graph = Net().ir();
  Slow times(1e-6);
  EXPECT_TRUE(search_plan(graph, kPlain, times.options).report.finished);
  EXPECT_GT(times.plan_trials, 0);
}

}  // namespace
}  // namespace luminal::compiler
