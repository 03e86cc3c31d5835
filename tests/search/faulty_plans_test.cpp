// Plans with kernels that are known to be wrong: they are no result of a search as long as there is
// another plan, whether it was this search that found out or another one since.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/kernel_set.h"
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

// ---- What is found wrong after a plan was remembered.

/// Searches for schedules alone, whose plans take 50 us at first, that of the cost model 100.
struct Remembered {
  MadeUp times;
  graph::Graph graph = Net().ir();
  std::string fast = plan::to_string(build_plan(graph, kPlain));
  double others = 50;
  std::map<std::string, double> plans;

  Remembered() {
    times.options.structures = 0;
    times.plan_time = [this](const std::string& name) -> Measurement {
      const double standard = plans.empty() ? 100 : others;
      return Timing{plans.emplace(name, standard).first->second, 0.01, 10};
    };
  }

  SearchedPlan search(double seconds) {
    times.options.seconds = seconds;
    return search_plan(graph, kPlain, times.options);
  }

  /// Changes what is known of each schedule of each kernel.
  void change(const std::function<std::optional<Measurement>(const search::TunedKernel&,
                                                             const search::TuningRecord&)>& to) {
    for (const search::TunedKernel& kernel : times.database.kernels()) {
      if (kernel.label == "a whole plan") continue;
      for (search::TuningRecord record : times.database.records(kernel.kernel))
        if (const auto result = to(kernel, record)) {
          record.result = *result;
          times.database.record(record);
        }
    }
  }

  /// What a merge or another search finds of schedules of a plan.
  void make_wrong(const SearchReport& report) {
    change([&](const search::TunedKernel& kernel,
               const search::TuningRecord& record) -> std::optional<Measurement> {
      for (const KernelGain& gain : report.gains)
        if (gain.label == kernel.label && gain.schedule == record.schedule)
          return Rejected{Why::kWrongResult, kDetail};
      return std::nullopt;
    });
  }
};

bool share_schedules(const SearchReport& a, const SearchReport& b) {
  return std::ranges::any_of(a.gains, [&](const KernelGain& one) {
    return std::ranges::any_of(b.gains, [&](const KernelGain& other) {
      return one.label == other.label && one.schedule == other.schedule;
    });
  });
}

TEST(FaultyPlans, APlanWithAScheduleThatWasFoundWrongSinceIsNotGivenAgain) {
  Remembered known;
  const SearchedPlan proved = known.search(1000);
  ASSERT_EQ(proved.report.best_us, 50);
  ASSERT_FALSE(proved.report.gains.empty());
  known.make_wrong(proved.report);
  known.others = 80;  // it would win by its time
  for (const double seconds : {0.0, 1000.0, 0.0}) {
    const SearchedPlan result = known.search(seconds);
    EXPECT_FALSE(share_schedules(result.report, proved.report)) << seconds;
    EXPECT_NE(plan::to_string(result.plan), plan::to_string(proved.plan)) << seconds;
  }
}

TEST(FaultyPlans, APlanWhoseScheduleIsNotTheBestOfItsKernelAndWrongIsNotRecalled) {
  Remembered known;
  const SearchedPlan proved = known.search(1000);
  ASSERT_EQ(proved.report.best_us, 50);
  // Other schedules are better now, but not the plans made of them.
  known.change([&](const search::TunedKernel& kernel,
                   const search::TuningRecord& record) -> std::optional<Measurement> {
    for (const KernelGain& gain : proved.report.gains)
      if (gain.label == kernel.label && gain.schedule == record.schedule) return std::nullopt;
    auto timing = std::get<Timing>(record.result);
    if (timing.median_us > 0.9 * kernel.best_us && timing.median_us < 1.1 * kernel.best_us)
      return std::nullopt;
    timing.median_us *= 0.01;
    return timing;
  });
  known.others = 80;
  const SearchedPlan stays = known.search(1000);
  ASSERT_EQ(plan::to_string(stays.plan), plan::to_string(proved.plan));
  ASSERT_TRUE(known.search(0).report.recalled);
  known.make_wrong(proved.report);
  for (const double seconds : {0.0, 1000.0, 0.0}) {
    const SearchedPlan result = known.search(seconds);
    EXPECT_FALSE(share_schedules(result.report, proved.report)) << seconds;
  }
}

TEST(FaultyPlans, ARememberedPlanWithADefaultThatWasFoundWrongSinceIsNotGivenAgain) {
  Remembered known;
  known.others = 200;  // the plan of the cost model stays
  const SearchedPlan kept = known.search(1000);
  ASSERT_EQ(plan::to_string(kept.plan), known.fast);
  ASSERT_TRUE(known.search(0).report.recalled);
  PlanDraft draft(known.graph, kPlain);
  const KernelTask task = draft.kernels().task(0);
  const std::string standard = search::kernel_space(task)->starts().front();
  known.change([&](const search::TunedKernel& kernel,
                   const search::TuningRecord& record) -> std::optional<Measurement> {
    if (kernel.kernel != support::hash128(task.text) || record.schedule != standard)
      return std::nullopt;
    return Rejected{Why::kCrash, kDetail};
  });
  for (const double seconds : {0.0, 1000.0, 0.0}) {
    const SearchedPlan result = known.search(seconds);
    EXPECT_NE(plan::to_string(result.plan), known.fast) << seconds;
    EXPECT_EQ(result.report.fault, "");
  }
}

}  // namespace
}  // namespace luminal::compiler
