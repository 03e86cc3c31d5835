// What a search found is remembered: the next one of the same program makes no drafts, measures
// nothing and compiles nothing. By counts, with times that are made up.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/plan_bench.h"
#include "luminal/compiler/remembered_plan.h"
#include "luminal/search/kernel_space.h"
#include "luminal/support/trace.h"
#include "tests/search/made_up_search.h"

namespace luminal::compiler {
namespace {

using search::TuningDatabase;
using support::TraceEvent;

/// What a search did, by its trace.
struct Counts {
  size_t recalled = 0;  ///< structures that were looked for among results
  size_t searched = 0;  ///< structures that were searched for or came from the cache
  size_t compiled = 0;  ///< kernels that were compiled
};

Counts counts_of(const support::TraceRecording& recording) {
  Counts counts;
  for (const TraceEvent& event : recording.events()) {
    counts.recalled += event.name == "recall kernels" ? 1 : 0;
    counts.searched += event.name == "choose kernels" ? 1 : 0;
    for (const auto& [key, value] : event.notes)
      counts.compiled += key == "from" && value == "compiler" ? 1 : 0;
  }
  return counts;
}

/// Searches until there is nothing left to try.
SearchedPlan searched_out(const graph::Graph& graph, MadeUp& times) {
  SearchedPlan result = search_plan(graph, kPlain, times.options);
  for (int run = 0; run < 12 && !result.report.recalled; ++run)
    result = search_plan(graph, kPlain, times.options);
  return result;
}

TEST(SearchReload, AFinishedSearchIsNotRepeated) {
  const graph::Graph graph = Net().ir();
  MadeUp times;
  const SearchedPlan first = searched_out(graph, times);
  ASSERT_TRUE(first.report.finished);
  ASSERT_TRUE(first.report.recalled);
  EXPECT_GT(first.report.structures, 0U);
  const int trials = times.kernel_trials + times.plan_trials;
  for (const double seconds : {1000.0, 0.0}) {
    times.options.seconds = seconds;
    const support::TraceRecording recording;
    const SearchedPlan again = search_plan(graph, kPlain, times.options);
    const Counts counts = counts_of(recording);
    EXPECT_EQ(counts.recalled, 1U);
    EXPECT_EQ(counts.searched, 0U);
    EXPECT_EQ(counts.compiled, 0U);
    EXPECT_EQ(times.kernel_trials + times.plan_trials, trials);
    EXPECT_EQ(again.report.measured, 0U);
    EXPECT_EQ(plan::to_string(again.plan), plan::to_string(first.plan));
    EXPECT_EQ(to_string(again.report), to_string(first.report));
    EXPECT_FALSE(again.report.trials.empty());
    EXPECT_EQ(again.report.trials, first.report.trials);
  }
}

TEST(SearchReload, TrialsAreToldAsNewOnceAndAsKnownLater) {
  const graph::Graph graph = Net().ir();
  MadeUp times;
  times.kernel_time = [](const search::KernelTask& task,
                         const std::string& schedule) -> search::Measurement {
    // A plan that is known to be wrong would not be remembered.
    const bool is_default = schedule == search::kernel_space(task)->starts().front();
    if (!is_default && support::hash128(task.text + schedule).lo % 3 == 0)
      return search::Rejected{search::Rejected::Why::kWrongResult, "made up"};
    return search::Timing{made_up(task.text + schedule), 0.01, 10};
  };
  std::vector<SearchTrial> told;
  times.options.on_trial = [&](const SearchTrial& trial) { told.push_back(trial); };
  const SearchReport report = search_plan(graph, kPlain, times.options).report;
  size_t plans = 0;
  size_t rejected = 0;
  std::set<std::tuple<std::string, std::string>> ways;
  std::map<std::string, int> defaults;
  for (const SearchTrial& trial : told) {
    if (trial.known) continue;
    EXPECT_TRUE(ways.emplace(trial.identity, trial.schedule).second) << trial.schedule;
    plans += trial.label == "a whole plan" ? 1 : 0;
    rejected += std::holds_alternative<search::Rejected>(trial.result) ? 1 : 0;
    defaults[trial.identity] += trial.is_default ? 1 : 0;
  }
  EXPECT_GT(plans, 0U);
  EXPECT_GT(rejected, 0U);
  EXPECT_EQ(report.measured, ways.size() - plans) << "plans are no trials of kernels";
  EXPECT_EQ(report.known, 0U) << "the database was empty before";
  EXPECT_GT(defaults.size(), 2U);
  for (const auto& [identity, count] : defaults) EXPECT_EQ(count, 1) << identity;

  const SearchReport last = searched_out(graph, times).report;
  EXPECT_GE(last.known, report.measured);
  told.clear();
  const SearchReport again = search_plan(graph, kPlain, times.options).report;
  ASSERT_TRUE(again.recalled);
  EXPECT_EQ(again.known, last.known + last.measured);
  ASSERT_FALSE(told.empty());
  for (const SearchTrial& trial : told) EXPECT_TRUE(trial.known) << trial.label;
}

TEST(SearchReload, AModelIsNotJudgedByKernelsThatNobodyMeasured) {
  SearchReport report;
  for (const size_t kernels : {0, 1, 2}) {
    report.model.kernels = kernels;
    EXPECT_EQ(to_string(report).find("the cost model ranks") != std::string::npos, kernels > 1)
        << to_string(report);
  }
}

TEST(SearchReload, ThePlanIsThatOfTheSearch) {
  // One program, several best plans: with schedules, with another structure, that of the cost
  // model.
  const graph::Graph graph = Net().ir();
  for (const int salt : {0, 1, 2, 3}) {
    MadeUp times;
    times.plan_time = [&](const std::string& name) -> search::Measurement {
      return search::Timing{made_up(std::to_string(salt) + name), 0.01, 10};
    };
    const SearchedPlan first = search_plan(graph, kPlain, times.options);
    EXPECT_FALSE(first.report.recalled);
    times.options.seconds = 0;
    const SearchedPlan again = search_plan(graph, kPlain, times.options);
    EXPECT_TRUE(again.report.recalled);
    EXPECT_EQ(plan::to_string(again.plan), plan::to_string(first.plan));
    EXPECT_EQ(again.report.gains.size(), first.report.gains.size());
    EXPECT_EQ(again.report.best_us, first.report.best_us);
    EXPECT_EQ(again.report.fast_us, first.report.fast_us);
    EXPECT_EQ(again.report.trials, first.report.trials);
    EXPECT_EQ(std::count_if(again.report.trials.begin(), again.report.trials.end(),
                            [](const StructureTrial& trial) { return trial.used; }),
              1);
  }
}

TEST(SearchReload, AnotherGraphOtherOptionsAndAnotherDatabaseAreSearched) {
  const graph::Graph graph = Net().ir();
  MadeUp times;
  searched_out(graph, times);
  const auto recalled = [&](const graph::Graph& of, const Options& options,
                            const SearchOptions& search) {
    return search_plan(of, options, search).report.recalled;
  };
  EXPECT_TRUE(recalled(graph, kPlain, times.options));

  Graph g;
  graph::Graph wider = g.ir();
  {
    const Tensor x = g.input("x", {33, 64});
    const Tensor y = softmax(silu(layer_norm(matmul(x, g.input("w", {64, 64})), 1)) + x, -1);
    wider = g.ir();
    wider.add_output("y", y.edge());
  }
  EXPECT_FALSE(recalled(wider, kPlain, times.options));
  Options other = kPlain;
  other.threads = 1;
  EXPECT_FALSE(recalled(graph, other, times.options));
  other = kPlain;
  other.round_each = true;
  EXPECT_FALSE(recalled(graph, other, times.options));
  SearchOptions search = times.options;
  search.seed = 2;
  EXPECT_FALSE(recalled(graph, kPlain, search));
  search = times.options;
  search.most_trials = 12;
  EXPECT_FALSE(recalled(graph, kPlain, search));
  MadeUp elsewhere;
  EXPECT_FALSE(recalled(graph, kPlain, elsewhere.options));
}

TEST(SearchReload, ASearchThatHadNoTimeGoesOnWithMoreOrWhereItIsAsked) {
  const graph::Graph graph = Net().ir();
  MadeUp times;
  times.options.seconds = 1e-6;
  EXPECT_FALSE(search_plan(graph, kPlain, times.options).report.finished);
  // All of it was spent, and so is none.
  for (const double seconds : {1e-6, 0.0}) {
    times.options.seconds = seconds;
    EXPECT_TRUE(search_plan(graph, kPlain, times.options).report.recalled);
  }
  EXPECT_EQ(times.kernel_trials, 0);
  // As long again is as much more, and counts for those who come later.
  times.options.seconds = 1e-6;
  times.options.go_on = true;
  EXPECT_FALSE(search_plan(graph, kPlain, times.options).report.recalled);
  times.options.go_on = false;
  times.options.seconds = 2e-6;
  EXPECT_TRUE(search_plan(graph, kPlain, times.options).report.recalled);
  times.options.seconds = 1000;
  const SearchReport whole = search_plan(graph, kPlain, times.options).report;
  EXPECT_FALSE(whole.recalled);
  EXPECT_TRUE(whole.finished);
  EXPECT_GT(times.kernel_trials, 0);
  times.options.go_on = true;  // there is nothing to go on with
  EXPECT_TRUE(search_plan(graph, kPlain, times.options).report.recalled);
}

TEST(SearchReload, ASearchThatDidNotLookForOtherStructuresIsNotFinished) {
  const graph::Graph graph = Net().ir();
  const auto kernels = static_cast<double>(PlanDraft(graph, kPlain).uses().size());
  MadeUp times;
  times.options.most_trials = 1;
  // Runs of the first structure are so long that there is no time for kernels of others, but for
  // comparing plans: 15 runs are more than half of the time, and less than all.
  times.options.seconds = 1000;
  times.kernel_time = [&](const search::KernelTask&, const std::string&) -> search::Measurement {
    return search::Timing{50e6 / kernels, 0.01, 10};
  };
  const SearchReport first = search_plan(graph, kPlain, times.options).report;
  EXPECT_EQ(first.structures, 1U);
  EXPECT_EQ(first.measured, first.kernels);
  EXPECT_EQ(times.plan_trials, 1);
  EXPECT_FALSE(first.finished);
  EXPECT_TRUE(search_plan(graph, kPlain, times.options).report.recalled) << "it had as much time";
  times.options.seconds = 1e6;
  const SearchReport longer = search_plan(graph, kPlain, times.options).report;
  EXPECT_FALSE(longer.recalled);
  EXPECT_GT(longer.structures, 1U);
  EXPECT_TRUE(longer.finished);
}

TEST(SearchReload, AnInterruptedOrDisturbedSearchGoesOn) {
  const graph::Graph graph = Net().ir();
  MadeUp interrupted;
  const std::atomic<bool> cancel{true};
  interrupted.options.cancel = &cancel;
  EXPECT_TRUE(search_plan(graph, kPlain, interrupted.options).report.interrupted);
  interrupted.options.cancel = nullptr;
  EXPECT_FALSE(search_plan(graph, kPlain, interrupted.options).report.recalled);

  MadeUp busy;
  busy.options.seconds = 1000;
  busy.options.tools.kernels =
      [&](const search::KernelTask& task) -> std::unique_ptr<search::Workbench> {
    auto bench = std::make_unique<search::FormulaBench>(
        [&](const std::string& schedule) { return busy.kernel_time(task, schedule); });
    bench->disturbed = 1000;
    return bench;
  };
  EXPECT_TRUE(search_plan(graph, kPlain, busy.options).report.unreliable);
  EXPECT_FALSE(search_plan(graph, kPlain, busy.options).report.recalled);
  // Where it is always so, the next one goes by what these have found.
  EXPECT_TRUE(search_plan(graph, kPlain, busy.options).report.recalled);
}

TEST(SearchReload, ABatchOfManyThatWasDisturbedIsNoAlarm) {
  const graph::Graph graph = Net().ir();
  MadeUp times;
  times.options.most_trials = 48;
  int benches = 0;
  times.options.tools.kernels =
      [&](const search::KernelTask& task) -> std::unique_ptr<search::Workbench> {
    auto bench = std::make_unique<search::FormulaBench>(
        [&](const std::string& schedule) { return times.kernel_time(task, schedule); });
    bench->disturbed = benches++ == 0 ? 3 : 2;  // the others are quiet when they are repeated
    return bench;
  };
  EXPECT_FALSE(search_plan(graph, kPlain, times.options).report.unreliable);
  EXPECT_GT(benches, 1);
}

TEST(SearchReload, BetterSchedulesThatBecameKnownMakeAResultStale) {
  const graph::Graph graph = Net().ir();
  MadeUp times;
  searched_out(graph, times);
  times.options.seconds = 0;
  EXPECT_TRUE(search_plan(graph, kPlain, times.options).report.recalled);
  for (const search::TunedKernel& kernel : times.database.kernels())
    for (search::TuningRecord record : times.database.records(kernel.kernel)) {
      if (record.schedule.find(' ') == std::string::npos) continue;
      record.result = search::Timing{0.001, 0.00001, 10};
      record.schedule += " unroll=1";  // a schedule that nobody tried
      times.database.record(record);
      break;
    }
  EXPECT_FALSE(search_plan(graph, kPlain, times.options).report.recalled);
}

/// Plans that are known by name. The first that is asked for is that of the cost model.
struct KnownPlans {
  std::map<std::string, double> times;
  double others = 50;

  search::Measurement time(const std::string& name) {
    const double standard = times.empty() ? 100 : others;
    return search::Timing{times.emplace(name, standard).first->second, 0.01, 10};
  }
};

/// Another schedule of every kernel than the best becomes the best.
void make_others_best(TuningDatabase& database) {
  for (const search::TunedKernel& kernel : database.kernels()) {
    if (kernel.label == "a whole plan") continue;
    for (search::TuningRecord record : database.records(kernel.kernel)) {
      auto* timing = std::get_if<search::Timing>(&record.result);
      if (timing == nullptr || timing->median_us == kernel.best_us) continue;
      timing->median_us = kernel.best_us / 2;
      database.record(record);
      break;
    }
  }
}

TEST(SearchReload, APlanThatWasProvedStaysUntilABetterOneIs) {
  const graph::Graph graph = Net().ir();
  MadeUp times;
  times.options.structures = 0;  // what is found are schedules
  KnownPlans plans;
  times.plan_time = [&](const std::string& name) { return plans.time(name); };
  const SearchedPlan proved = searched_out(graph, times);
  const std::string text = plan::to_string(proved.plan);
  ASSERT_EQ(proved.report.best_us, 50);
  ASSERT_FALSE(proved.report.gains.empty());
  make_others_best(times.database);

  // Nothing is known of what those would be as a whole.
  times.options.seconds = 0;
  const SearchedPlan at_once = search_plan(graph, kPlain, times.options);
  EXPECT_FALSE(at_once.report.recalled);
  EXPECT_EQ(plan::to_string(at_once.plan), text);
  EXPECT_EQ(at_once.report.fast_us, 100);
  EXPECT_EQ(at_once.report.best_us, 50);
  ASSERT_EQ(at_once.report.gains.size(), proved.report.gains.size());
  std::set<std::string> before;
  std::set<std::string> now;
  for (const KernelGain& gain : proved.report.gains) before.insert(gain.schedule);
  for (const KernelGain& gain : at_once.report.gains) now.insert(gain.schedule);
  EXPECT_EQ(now, before) << "what the plan has, not what is best by now";
  EXPECT_EQ(plan::to_string(search_plan(graph, kPlain, times.options).plan), text);

  // Slower ones do not take its place, and what the next search remembers is the same plan.
  times.options.seconds = 1000;
  plans.others = 80;
  const SearchedPlan slower = search_plan(graph, kPlain, times.options);
  EXPECT_EQ(plan::to_string(slower.plan), text);
  EXPECT_EQ(slower.report.best_us, 50);
  times.options.seconds = 0;
  const SearchedPlan again = search_plan(graph, kPlain, times.options);
  EXPECT_TRUE(again.report.recalled);
  EXPECT_EQ(plan::to_string(again.plan), text);

  // Quicker ones do.
  make_others_best(times.database);
  times.options.seconds = 1000;
  plans.others = 20;
  const SearchedPlan quicker = search_plan(graph, kPlain, times.options);
  EXPECT_NE(plan::to_string(quicker.plan), text);
  EXPECT_EQ(quicker.report.best_us, 20);
}

TEST(SearchReload, APlanThatWasProvedStaysWhenOthersCannotBeCompared) {
  const graph::Graph graph = Net().ir();
  MadeUp times;
  KnownPlans plans;
  times.plan_time = [&](const std::string& name) { return plans.time(name); };
  const std::string text = plan::to_string(searched_out(graph, times).plan);
  make_others_best(times.database);
  times.options.tools.plans = [&](const std::function<Plan(const std::string&)>&) {
    auto bench = std::make_unique<search::FormulaBench>(
        [&](const std::string& name) { return plans.time(name); });
    bench->disturbed = 1000;
    return bench;
  };
  const SearchedPlan busy = search_plan(graph, kPlain, times.options);
  EXPECT_TRUE(busy.report.unreliable);
  EXPECT_EQ(plan::to_string(busy.plan), text);
  EXPECT_EQ(busy.report.best_us, 50);
}

TEST(SearchReload, BucketsAreRecalledEach) {
  Graph g;
  const Tensor y = exp(g.input("x", {g.dim("n", 1, 1024), 32})) * 2.0F;
  MadeUp times;
  CompileOptions options{.mode = Mode::kSearch, .budget_seconds = 1000};
  options.search = times.options;
  options.compiler.buckets = {{"n", {8, 512}}};
  compile(g, {y}, options);
  options.budget_seconds = 0;
  const int trials = times.kernel_trials + times.plan_trials;
  EXPECT_TRUE(compile(g, {y}, options).search_report()->recalled);
  EXPECT_EQ(times.kernel_trials + times.plan_trials, trials);
  options.compiler.buckets = {{"n", {8, 256, 512}}};
  EXPECT_FALSE(compile(g, {y}, options).search_report()->recalled);
}

RememberedPlan some_plan() {
  RememberedPlan plan;
  plan.choice = "0 0 1;011";
  plan.draft = support::hash128("a");
  plan.best = support::hash128("b");
  plan.schedules = {{2, 10.25, 7.5, "nest block=64 lanes=8"}, {0, 1e-3, 5e-4, "x"}};
  plan.seconds = 60;
  plan.report.fast_us = 100.125;
  plan.report.best_us = 1.0 / 3;
  plan.report.structures = 7;
  plan.report.finished = true;
  plan.report.model = {0.5, 1.25, 0.75, 12};
  plan.report.trials = {{"structure 1, default schedules", true, 99.5, 100.125, ""},
                        {"structure 2", false, 0, 0, "given up: it takes longer"}};
  return plan;
}

TEST(RememberedPlan, TextIsReadAsItWasWritten) {
  const RememberedPlan plan = some_plan();
  const auto read = parse_remembered(to_text(plan));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->choice, plan.choice);
  EXPECT_EQ(read->draft, plan.draft);
  EXPECT_EQ(read->best, plan.best);
  EXPECT_EQ(read->schedules, plan.schedules);
  EXPECT_EQ(read->seconds, plan.seconds);
  EXPECT_EQ(to_string(read->report), to_string(plan.report));
  EXPECT_EQ(read->report.best_us, plan.report.best_us);
  EXPECT_EQ(read->report.trials, plan.report.trials);
}

TEST(RememberedPlan, WhatIsKeptOfTrialsIsBounded) {
  RememberedPlan plan = some_plan();
  std::string reason = "a\nb\tc" + std::string(194, 'x');  // 199 bytes, then one of two
  for (int k = 0; k < 300; ++k) reason += "\u00e4";
  plan.report.trials.assign(1000, {"structure 3", false, 1, 2, reason});
  const std::string text = to_text(plan);
  EXPECT_LT(text.size(), 20'000U);
  const auto read = parse_remembered(text);
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->report.trials.size(), 64U);
  EXPECT_EQ(read->report.trials[63].rejected, "a b c" + std::string(194, 'x'));
  EXPECT_EQ(read->schedules, plan.schedules);
}

TEST(RememberedPlan, OtherTextIsNothing) {
  const std::string text = to_text(some_plan());
  EXPECT_FALSE(parse_remembered("").has_value());
  EXPECT_FALSE(parse_remembered("searched plan 2" + text.substr(15)).has_value());
  EXPECT_FALSE(parse_remembered(text + "trial 1 1 1 no reason\n").has_value());
  EXPECT_FALSE(parse_remembered(text + "trial 2 1 1 name\t\n").has_value());
  EXPECT_FALSE(parse_remembered(text + "trial 1 x 1 name\t\n").has_value());
  EXPECT_FALSE(parse_remembered(text + "schedule -1 1 1 x\n").has_value());
  EXPECT_FALSE(parse_remembered(text + "schedule 1 1 x\n").has_value());
  EXPECT_FALSE(parse_remembered(text + "choice 1;1\n").has_value());
  // Every line is needed but those of schedules and trials.
  for (size_t begin = 0; begin < text.find("schedule "); begin = text.find('\n', begin) + 1) {
    std::string shorter = text;
    shorter.erase(begin, text.find('\n', begin) + 1 - begin);
    EXPECT_FALSE(parse_remembered(shorter).has_value()) << text.substr(begin, 20);
  }
}

}  // namespace
}  // namespace luminal::compiler
