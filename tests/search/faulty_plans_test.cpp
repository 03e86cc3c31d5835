// Plans with kernels that are known to be wrong: they are no result of a search as long as there is
// another plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "luminal/compiler/build_plan.h"
#include "luminal/search/kernel_space.h"
#include "luminal/support/log.h"
#include "tests/search/made_up_search.h"

namespace luminal::compiler {
namespace {

using search::KernelTask;
using search::Measurement;
using search::Rejected;
using search::Timing;
using Why = search::Rejected::Why;

constexpr const char* kDetail = "element 5 is 3, the oracle says 4";

/// Searches of a small network. Something is wrong with the first kernel that is tried, which is
/// one of the plan of the cost model.
struct Planted {
  MadeUp times;
  graph::Graph graph = Net().ir();
  std::string fast = plan::to_string(build_plan(graph, kPlain));
  std::string kernel;           ///< its text
  std::string label;            ///< and what people call it
  bool default_only = true;     ///< all other schedules of it are right
  Why why = Why::kWrongResult;  ///< what is wrong with it
  std::function<Measurement(const std::string&)> plan_time = nullptr;
  std::set<std::string> asked;    ///< plans that were timed, as text
  std::vector<std::string> said;  ///< warnings

  Planted() {
    times.kernel_time = [this](const KernelTask& task, const std::string& schedule) -> Measurement {
      if (kernel.empty()) {
        kernel = task.text;
        label = task.label;
      }
      const bool is_default = schedule == search::kernel_space(task)->starts().front();
      if (task.text == kernel && (is_default || !default_only)) return Rejected{why, kDetail};
      return Timing{is_default ? 10.0 : made_up(task.text + schedule), 0.01, 10};
    };
    times.options.tools.plans = [this](const std::function<Plan(const std::string&)>& plan) {
      return std::make_unique<search::FormulaBench>(
          [this, plan](const std::string& name) -> Measurement {
            ++times.plan_trials;
            const std::string text = plan::to_string(plan(name));
            asked.insert(text);
            if (plan_time) return plan_time(name);
            // By time alone nobody would take another.
            return Timing{text == fast ? 1.0 : 100 + made_up(name), 0.01, 10};
          });
    };
  }

  SearchedPlan search(double seconds = 1000) {
    said.clear();
    times.options.seconds = seconds;
    const support::ScopedLogSink capture(
        [this](support::LogLevel, std::string_view message) { said.emplace_back(message); });
    return search_plan(graph, kPlain, times.options);
  }

  /// Whether some warning names the kernel and what is wrong with it.
  bool is_said() const {
    return std::ranges::any_of(said, [this](const std::string& each) {
      return each.find(label) != std::string::npos && each.find(kDetail) != std::string::npos;
    });
  }
};

const StructureTrial* used_in(const SearchReport& report) {
  const auto used = std::ranges::find(report.trials, true, &StructureTrial::used);
  return used == report.trials.end() ? nullptr : &*used;
}

TEST(FaultyPlans, AWrongDefaultKeepsThePlanOfTheCostModelFromBeingTheResult) {
  for (const Why why : {Why::kWrongResult, Why::kCrash, Why::kOutOfBounds}) {
    Planted planted;
    planted.times.options.structures = 0;  // only other schedules are right
    planted.why = why;
    const SearchedPlan result = planted.search();
    EXPECT_NE(plan::to_string(result.plan), planted.fast);
    EXPECT_FALSE(planted.asked.empty());
    EXPECT_FALSE(planted.asked.contains(planted.fast)) << "nothing that is wrong is timed";
    EXPECT_EQ(result.report.fault, "");
    EXPECT_EQ(result.report.fast_us, 0);
    EXPECT_GT(result.report.best_us, 100);
    ASSERT_NE(used_in(result.report), nullptr);
    EXPECT_EQ(used_in(result.report)->name, "structure 1, tuned schedules");
    EXPECT_TRUE(std::ranges::any_of(result.report.trials, [](const StructureTrial& trial) {
      return trial.name == "structure 1, default schedules" && !trial.used &&
             trial.rejected.find(kDetail) != std::string::npos;
    }));
    EXPECT_TRUE(planted.is_said()) << "who compiles without search gets it";
    // Nor is it what is remembered.
    const SearchedPlan again = planted.search(0);
    EXPECT_TRUE(again.report.recalled);
    EXPECT_EQ(plan::to_string(again.plan), plan::to_string(result.plan));
  }
}

TEST(FaultyPlans, WithAKernelThatNothingComputesRightlyAnotherStructureIsTheResult) {
  Planted planted;
  planted.default_only = false;
  planted.times.options.structures = 8;
  const SearchedPlan result = planted.search();
  ASSERT_GT(result.report.structures, 1U);
  EXPECT_NE(plan::to_string(result.plan), planted.fast);
  EXPECT_EQ(result.report.fault, "");
  ASSERT_NE(used_in(result.report), nullptr);
  EXPECT_NE(used_in(result.report)->name.substr(0, 11), "structure 1");
  EXPECT_EQ(used_in(result.report)->rejected, "");
  // Without measuring it is no other, also where nothing is remembered.
  EXPECT_EQ(plan::to_string(planted.search(0).plan), plan::to_string(result.plan));
  planted.times.options.most_trials = 12;
  const SearchedPlan unmeasured = planted.search(0);
  EXPECT_FALSE(unmeasured.report.recalled);
  EXPECT_NE(plan::to_string(unmeasured.plan), planted.fast);
}

TEST(FaultyPlans, IfThereIsNoOtherThePlanOfTheCostModelIsGivenWithAWarningAndNotRemembered) {
  Planted planted;
  planted.default_only = false;
  planted.times.options.structures = 0;
  for (const double seconds : {1000.0, 1000.0, 0.0}) {
    const SearchedPlan result = planted.search(seconds);
    EXPECT_FALSE(result.report.recalled);
    EXPECT_EQ(plan::to_string(result.plan), planted.fast);
    EXPECT_TRUE(planted.is_said());
    EXPECT_NE(result.report.fault.find(planted.label), std::string::npos) << result.report.fault;
    EXPECT_NE(result.report.fault.find(kDetail), std::string::npos) << result.report.fault;
    EXPECT_NE(to_string(result.report).find("known to be wrong"), std::string::npos);
    ASSERT_NE(used_in(result.report), nullptr);
    EXPECT_NE(used_in(result.report)->rejected.find(kDetail), std::string::npos);
  }
  // If it were remembered it would be recalled when nothing is known to be wrong with it.
  for (search::TuningRecord record :
       planted.times.database.records(support::hash128(planted.kernel))) {
    record.result = Rejected{Why::kTimeout, ""};
    planted.times.database.record(record);
  }
  EXPECT_FALSE(planted.search(0).report.recalled);
}

TEST(FaultyPlans, WhatStandsInForThePlanOfTheCostModelAndFailsIsNotTheResult) {
  Planted planted;
  planted.default_only = false;
  planted.times.options.structures = 8;
  std::string first;
  planted.plan_time = [&](const std::string& name) -> Measurement {
    if (first.empty()) first = name;
    if (name == first) return Rejected{Why::kCompile, "made up"};
    return Timing{100 + made_up(name), 0.01, 10};
  };
  const SearchedPlan result = planted.search();
  ASSERT_GT(planted.asked.size(), 1U);
  ASSERT_NE(used_in(result.report), nullptr);
  EXPECT_GT(used_in(result.report)->measured_us, 100);
  EXPECT_EQ(result.report.fault, "");
}

TEST(FaultyPlans, WhatTookTooLongOrTooMuchIsNotWrong) {
  for (const Why why : {Why::kTimeout, Why::kResources, Why::kInterrupted, Why::kCompile}) {
    Planted planted;
    planted.default_only = false;
    planted.why = why;
    const SearchedPlan result = planted.search();
    EXPECT_EQ(plan::to_string(result.plan), planted.fast);
    EXPECT_EQ(result.report.fault, "");
    EXPECT_GT(result.report.fast_us, 0);
    EXPECT_FALSE(planted.is_said());
  }
}

}  // namespace
}  // namespace luminal::compiler
