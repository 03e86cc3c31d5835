// A search for several buckets is one search: it has one budget, and one interrupt ends it.
#include <gtest/gtest.h>

#include <csignal>
#include <set>
#include <string>

#include "luminal/compiler/make_compiled.h"
#include "tests/search/made_up_search.h"

namespace luminal::compiler {
namespace {

TEST(BucketSearch, OneInterruptEndsTheSearchOfAllBuckets) {
  std::signal(SIGINT, SIG_DFL);  // ignored in the background of a script
  Graph g;
  const Tensor y = exp(g.input("x", {g.dim("n", 1, 1024), 32})) * 2.0F;
  MadeUp times;
  std::set<std::string> measured;  // values of dims
  times.kernel_time = [&](const search::KernelTask& task,
                          const std::string& schedule) -> search::Measurement {
    if (times.kernel_trials == 1) std::raise(SIGINT);
    measured.insert(task.key("").shapes);
    return search::Timing{made_up(task.text + schedule), 0.01, 10};
  };
  CompileOptions options{.mode = Mode::kSearch, .budget_seconds = 1000};
  options.search = times.options;
  options.compiler.buckets = {{"n", {8, 64, 512}}};
  EXPECT_TRUE(compile(g, {y}, options).search_report()->interrupted);
  EXPECT_EQ(measured.size(), 1U) << "of the first bucket";
  // The next search knows nothing of it, and goes on with all of them.
  EXPECT_FALSE(compile(g, {y}, options).search_report()->interrupted);
  EXPECT_EQ(measured.size(), 3U);
}

TEST(BucketSearch, WhatThereWasNoTimeForIsToldOfAllBuckets) {
  Graph g;
  const Tensor y = matmul(g.input("a", {g.dim("n", 1, 8192), 4096}), g.input("b", {4096, 4096}));
  MadeUp times;
  CompileOptions options{.mode = Mode::kSearch, .budget_seconds = 1};
  options.search = times.options;
  options.compiler.buckets = {{"n", {4096, 8192}}};
  const auto program = compile(g, {y}, options);
  EXPECT_EQ(times.kernel_trials, 0);
  EXPECT_EQ(program.search_report()->untried, 2U);
}

TEST(BucketSearch, WhatABucketDoesNotNeedIsForThoseAfterIt) {
  EXPECT_EQ(next_part(60, 0, 1, 0).seconds, 60);
  EXPECT_EQ(next_part(60, 0, 4, 0).seconds, 15);
  EXPECT_EQ(next_part(60, 15, 4, 1).seconds, 15);
  EXPECT_EQ(next_part(60, 0, 4, 1).seconds, 20);
  EXPECT_EQ(next_part(60, 0, 4, 3).seconds, 60);
  EXPECT_EQ(next_part(60, 50, 4, 3).seconds, 10);
  EXPECT_EQ(next_part(60, 50, 4, 3).share, 15);
  // One that comes too late is still searched for, and one without a budget is not.
  EXPECT_GT(next_part(60, 70, 4, 3).seconds, 0);
  EXPECT_LT(next_part(60, 70, 4, 3).seconds, 1);
  EXPECT_EQ(next_part(0, 1, 4, 2).seconds, 0);
}

TEST(BucketSearch, WhatOthersLeaveIsNoReasonToSearchAgain) {
  const graph::Graph graph = Net().ir();
  MadeUp times;
  const auto is_recalled = [&](const SearchPart& part) {
    return search_plan(graph, kPlain, times.options, nullptr, part).report.recalled;
  };
  // What others take beyond their share is little as a rule.
  EXPECT_FALSE(is_recalled({.seconds = 0.9e-6, .share = 1e-6, .plans = 2}));
  EXPECT_TRUE(is_recalled({.seconds = 0.9e-6, .share = 1e-6, .plans = 2}));
  EXPECT_TRUE(is_recalled({.seconds = 1000, .share = 1e-6, .plans = 2}));
  EXPECT_EQ(times.kernel_trials, 0);
  // A larger budget is.
  EXPECT_FALSE(is_recalled({.seconds = 1e-7, .share = 2e-6, .plans = 2}));
}

TEST(BucketSearch, ABucketThatOthersLeftNoTimeGetsItNextTime) {
  const graph::Graph graph = Net().ir();
  MadeUp times;
  const auto search = [&](const SearchPart& part) {
    return search_plan(graph, kPlain, times.options, nullptr, part).report;
  };
  EXPECT_FALSE(search({.seconds = 1e-7, .share = 500, .plans = 2}).recalled);
  EXPECT_EQ(times.kernel_trials, 0);
  // The others are recalled by now, and leave all of it.
  EXPECT_FALSE(search({.seconds = 1000, .share = 500, .plans = 2}).recalled);
  EXPECT_GT(times.kernel_trials, 0);

  // What it had counts, and adds up.
  MadeUp little;
  for (const bool recalled : {false, false, true}) {
    const SearchPart part{.seconds = 0.5e-6, .share = 1e-6, .plans = 2};
    EXPECT_EQ(search_plan(graph, kPlain, little.options, nullptr, part).report.recalled, recalled);
  }
}

}  // namespace
}  // namespace luminal::compiler
