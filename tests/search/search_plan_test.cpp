// The search of whole plans, mostly with times that tests make up: what is chosen, kept and told,
// not how fast anything is.
#include "luminal/compiler/search_plan.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/plan_bench.h"
#include "luminal/luminal.h"
#include "luminal/search/kernel_space.h"
#include "luminal/search/schedule_hints.h"
#include "luminal/support/error.h"
#include "tests/search/made_up_search.h"

namespace luminal::compiler {
namespace {

using search::FormulaBench;
using search::KernelTask;
using search::Measurement;
using search::Rejected;
using search::Timing;
using search::TuningDatabase;
using search::Workbench;

TEST(SearchPlan, OneDatabaseGivesOnePlanInTwentyRuns) {
  const Net net;
  const graph::Graph graph = net.ir();
  MadeUp first;
  search_plan(graph, kPlain, first.options);
  EXPECT_GT(first.kernel_trials, 3);
  MadeUp again;
  again.options.seconds = 0;
  again.options.database = &first.database;
  const std::string expected = plan::to_string(search_plan(graph, kPlain, again.options).plan);
  for (int run = 0; run < 19; ++run) {
    const SearchedPlan result = search_plan(graph, kPlain, again.options);
    EXPECT_EQ(plan::to_string(result.plan), expected);
    EXPECT_EQ(result.report.measured, 0U);
  }
  EXPECT_EQ(again.kernel_trials + again.plan_trials, 0);
}

TEST(SearchPlan, TheCostModelIsJudgedByAllThatWasEverMeasuredHere) {
  MadeUp times;
  const SearchReport first = search_plan(Net().ir(), kPlain, times.options).report;
  EXPECT_GT(first.model.kernels, 0U);
  EXPECT_LE(first.fitted_model.typical_factor, first.model.typical_factor);
  Graph g;
  const Tensor y = exp(g.input("x", {300, 32}));
  graph::Graph other = g.ir();
  other.add_output("y", y.edge());
  const SearchReport second = search_plan(other, kPlain, times.options).report;
  EXPECT_EQ(second.kernels, 1U);
  EXPECT_GT(second.model.kernels, first.model.kernels);
  // On another device nothing of it is known.
  Options alone = kPlain;
  alone.threads = 1;
  EXPECT_LT(search_plan(other, alone, times.options).report.model.kernels, second.model.kernels);
}

TEST(SearchPlan, WhatOthersFoundBestIsTriedFirst) {
  const graph::Graph graph = Net().ir();
  MadeUp times;
  times.options.structures = 0;
  search_plan(graph, kPlain, times.options);
  // The last schedule that a search came to, of each kernel.
  std::vector<search::ScheduleHint> hints;
  for (const search::TunedKernel& kernel : times.database.kernels()) {
    if (kernel.label == "a whole plan") continue;
    const auto records = times.database.records(kernel.kernel);
    const search::TuningRecord& last = records.back();
    hints.push_back({kernel.label, kernel.kernel, last.key.shapes, "elsewhere", last.schedule, 2});
  }
  ASSERT_FALSE(hints.empty());
  MadeUp hinted;
  hinted.options.structures = 0;
  hinted.options.most_trials = 2;
  hinted.options.hints = &hints;
  search_plan(graph, kPlain, hinted.options);
  for (const search::ScheduleHint& hint : hints) {
    const auto records = hinted.database.records(hint.kernel);
    EXPECT_TRUE(std::any_of(records.begin(), records.end(), [&](const auto& each) {
      return each.schedule == hint.schedule;
    })) << hint.label;
  }
}

TEST(SearchPlan, ARunThatFindsEverythingMeasuredMeasuresNothing) {
  const graph::Graph graph = Net().ir();
  MadeUp made_up_times;
  // Every search sees more times than the one before it, until there is nothing new.
  size_t measured = 1;
  std::string before;
  for (int run = 0; run < 12 && measured > 0; ++run) {
    const SearchedPlan result = search_plan(graph, kPlain, made_up_times.options);
    measured = result.report.measured;
    before = plan::to_string(result.plan);
  }
  EXPECT_EQ(measured, 0U);
  const int trials = made_up_times.kernel_trials + made_up_times.plan_trials;
  EXPECT_EQ(plan::to_string(search_plan(graph, kPlain, made_up_times.options).plan), before);
  EXPECT_EQ(made_up_times.kernel_trials + made_up_times.plan_trials, trials);
}

TEST(SearchPlan, NoOtherPlanIsTakenUnlessItIsQuickerThanThatOfTheCostModel) {
  const graph::Graph graph = Net().ir();
  const std::string fast = plan::to_string(build_plan(graph, kPlain));
  MadeUp slower;
  int asked = 0;
  slower.plan_time = [&](const std::string&) -> Measurement {
    return Timing{asked++ == 0 ? 100.0 : 99.5, 0.1, 20};  // the first that is asked for is `fast`
  };
  const SearchedPlan kept = search_plan(graph, kPlain, slower.options);
  EXPECT_EQ(plan::to_string(kept.plan), fast);
  EXPECT_EQ(kept.report.best_us, kept.report.fast_us);

  MadeUp quicker;
  asked = 0;
  quicker.plan_time = [&](const std::string&) -> Measurement {
    return Timing{asked++ == 0 ? 100.0 : 60.0, 0.1, 20};
  };
  const SearchedPlan changed = search_plan(graph, kPlain, quicker.options);
  EXPECT_GT(asked, 1);
  EXPECT_EQ(changed.report.fast_us, 100);
  EXPECT_EQ(changed.report.best_us, 60);
}

TEST(SearchPlan, PlansThatGiveSomethingElseAreNotTaken) {
  const graph::Graph graph = Net().ir();
  MadeUp wrong;
  int asked = 0;
  wrong.plan_time = [&](const std::string&) -> Measurement {
    if (asked++ == 0) return Timing{100, 1, 10};
    return Rejected{Rejected::Why::kWrongResult, "made up"};
  };
  const SearchedPlan result = search_plan(graph, kPlain, wrong.options);
  EXPECT_EQ(plan::to_string(result.plan), plan::to_string(build_plan(graph, kPlain)));
}

TEST(SearchPlan, AStructureWithAKernelThatFailsIsNotAFinalist) {
  const graph::Graph graph = Net().ir();
  const auto kernels_of_fast = PlanDraft(graph, kPlain).uses().size();
  MadeUp failing;
  failing.options.structures = 20;  // few machines cut a small net in another way
  std::set<std::string> first;
  failing.kernel_time = [&](const KernelTask& task, const std::string& schedule) -> Measurement {
    if (first.size() < kernels_of_fast) first.insert(task.text);
    // So slow that other structures look better.
    if (first.contains(task.text)) return Timing{1000 + made_up(task.text + schedule), 0.01, 10};
    return Rejected{Rejected::Why::kCrash, "made up"};
  };
  const SearchedPlan result = search_plan(graph, kPlain, failing.options);
  EXPECT_EQ(plan::to_string(result.plan), plan::to_string(build_plan(graph, kPlain)));
  EXPECT_GT(result.report.rejected, 0U);
}

TEST(SearchPlan, ACancelledSearchGivesThePlanOfTheCostModel) {
  const graph::Graph graph = Net().ir();
  MadeUp made_up_times;
  const std::atomic<bool> cancel{true};
  made_up_times.options.cancel = &cancel;
  const SearchedPlan result = search_plan(graph, kPlain, made_up_times.options);
  EXPECT_TRUE(result.report.interrupted);
  EXPECT_FALSE(result.report.finished);
  EXPECT_EQ(result.report.measured, 0U);
  EXPECT_EQ(plan::to_string(result.plan), plan::to_string(build_plan(graph, kPlain)));
}

TEST(SearchPlan, AnInterruptKeepsWhatWasMeasuredAndTheNextSearchGoesOn) {
  std::signal(SIGINT, SIG_DFL);  // ignored in the background of a script
  const graph::Graph graph = Net().ir();
  const size_t kernels = PlanDraft(graph, kPlain).uses().size();  // each is tried once at first
  MadeUp interrupted;
  auto time = interrupted.kernel_time;
  interrupted.kernel_time = [&](const KernelTask& task, const std::string& schedule) {
    if (interrupted.kernel_trials == static_cast<int>(kernels)) std::raise(SIGINT);
    return time(task, schedule);
  };
  const SearchedPlan result = search_plan(graph, kPlain, interrupted.options);
  EXPECT_TRUE(result.report.interrupted);
  EXPECT_FALSE(result.report.finished);
  EXPECT_EQ(result.report.measured, kernels);
  EXPECT_EQ(interrupted.database.kernels().size(), kernels);

  MadeUp next;
  next.options.database = &interrupted.database;
  const size_t measured_next = search_plan(graph, kPlain, next.options).report.measured;
  MadeUp whole;
  const SearchedPlan at_once = search_plan(graph, kPlain, whole.options);
  EXPECT_TRUE(at_once.report.finished);
  EXPECT_EQ(result.report.measured + measured_next, at_once.report.measured);
}

TEST(SearchPlan, AnInterruptKeepsTheBestThatWasFound) {
  const graph::Graph graph = Net().ir();
  MadeUp times;
  std::atomic<bool> cancel{false};
  times.options.cancel = &cancel;
  // Whatever is not the default is better, and so is the plan that is made of it.
  std::set<std::string> kernels;
  times.kernel_time = [&](const KernelTask& task, const std::string& schedule) -> Measurement {
    const bool is_default = kernels.insert(task.text).second ||
                            schedule == search::kernel_space(task)->starts().front();
    if (times.kernel_trials == 20) cancel = true;
    return Timing{is_default ? 10.0 : 5.0, 0.01, 10};
  };
  std::string first;
  times.plan_time = [&](const std::string& name) -> Measurement {
    if (first.empty()) first = name;
    return Timing{name == first ? 100.0 : 50.0, 0.1, 10};
  };
  const SearchedPlan result = search_plan(graph, kPlain, times.options);
  EXPECT_TRUE(result.report.interrupted);
  EXPECT_FALSE(result.report.finished);
  EXPECT_EQ(result.report.fast_us, 100);
  EXPECT_EQ(result.report.best_us, 50);
  EXPECT_FALSE(result.report.gains.empty());
  EXPECT_NE(plan::to_string(result.plan), plan::to_string(build_plan(graph, kPlain)));
}

TEST(SearchPlan, ASearchThatMeasuresNothingWritesNothing) {
  const std::string path =
      testing::TempDir() + "/luminal_read_only_" + std::to_string(::getpid()) + ".db";
  const graph::Graph graph = Net().ir();
  { const TuningDatabase made(path); }
  MadeUp times;
  times.options.seconds = 0;
  TuningDatabase database(path, search::Access::kRead);
  times.options.database = &database;
  const SearchedPlan result = search_plan(graph, kPlain, times.options);
  EXPECT_EQ(plan::to_string(result.plan), plan::to_string(build_plan(graph, kPlain)));
  // What may not be written is kept in memory.
  times.options.seconds = 1000;
  EXPECT_GT(search_plan(graph, kPlain, times.options).report.measured, 0U);
  times.options.seconds = 0;
  EXPECT_TRUE(search_plan(graph, kPlain, times.options).report.recalled);
  EXPECT_TRUE(TuningDatabase(path).kernels().empty());
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(path + suffix);
}

TEST(SearchPlan, EqualLayersAreMeasuredOnce) {
  const auto kernels = [](int layers) {
    Graph g;
    Tensor h = g.input("x", {16, 32});
    for (int k = 0; k < layers; ++k)
      h = relu(layer_norm(matmul(h, g.input("w" + std::to_string(k), {32, 32})), 1)) + h;
    graph::Graph graph = g.ir();
    graph.add_output("y", h.edge());
    MadeUp made_up_times;
    made_up_times.options.structures = 0;
    return search_plan(graph, kPlain, made_up_times.options).report.kernels;
  };
  EXPECT_EQ(kernels(16), kernels(8));
}

TEST(SearchPlan, WithoutMemoryTheDefaultStaysAndTheSearchGoesOn) {
  const graph::Graph graph = Net().ir();
  const std::string fast = plan::to_string(build_plan(graph, kPlain));
  MadeUp times;
  std::string without;  // the first kernel
  times.kernel_time = [&](const KernelTask& task, const std::string& schedule) -> Measurement {
    if (without.empty()) without = task.text;
    if (task.text == without) throw std::bad_alloc();
    return Timing{made_up(task.text + schedule), 0.01, 10};
  };
  const SearchedPlan result = search_plan(graph, kPlain, times.options);
  EXPECT_GT(result.report.measured, 1U);
  EXPECT_FALSE(result.report.finished);
  EXPECT_EQ(plan::to_string(result.plan), fast);
  for (const search::TuningRecord& record : times.database.records(support::hash128(without)))
    ADD_FAILURE() << "recorded: " << record.schedule;
  // The next search, with more of it, tries it again.
  without = "none";
  EXPECT_TRUE(search_plan(graph, kPlain, times.options).report.finished);

  MadeUp plans;
  plans.plan_time = [](const std::string&) -> Measurement {
    throw DeviceError("mmap", 12, "no memory");
  };
  const SearchedPlan alone = search_plan(graph, kPlain, plans.options);
  EXPECT_FALSE(alone.report.finished);
  EXPECT_EQ(plan::to_string(alone.plan), fast);
}

TEST(SearchPlan, DisturbedTimesAreTold) {
  const graph::Graph graph = Net().ir();
  MadeUp busy;
  busy.options.tools.kernels = [&](const KernelTask& task) -> std::unique_ptr<Workbench> {
    auto bench = std::make_unique<FormulaBench>(
        [&](const std::string& schedule) { return busy.kernel_time(task, schedule); });
    bench->disturbed = 1000;
    return bench;
  };
  const SearchedPlan result = search_plan(graph, kPlain, busy.options);
  EXPECT_TRUE(result.report.unreliable);
  EXPECT_NE(to_string(result.report).find("times were unreliable"), std::string::npos);
}

TEST(SearchPlan, WhenPlansCannotBeComparedThatOfTheCostModelIsKeptAndTheNextSearchComparesAgain) {
  const graph::Graph graph = Net().ir();
  const std::string fast = plan::to_string(build_plan(graph, kPlain));
  MadeUp busy;
  int asked = 0;
  bool is_disturbed = true;
  busy.options.tools.plans =
      [&](const std::function<Plan(const std::string&)>&) -> std::unique_ptr<Workbench> {
    auto bench = std::make_unique<FormulaBench>([&](const std::string&) -> Measurement {
      return Timing{asked++ == 0 ? 100.0 : 60.0, 0.1, 20};  // the first is that of the cost model
    });
    bench->disturbed = is_disturbed ? 1000 : 0;
    return bench;
  };
  const SearchedPlan kept = search_plan(graph, kPlain, busy.options);
  EXPECT_TRUE(kept.report.unreliable);
  EXPECT_EQ(plan::to_string(kept.plan), fast);
  EXPECT_GT(kept.report.fast_us, 0);
  EXPECT_EQ(kept.report.best_us, kept.report.fast_us);
  asked = 0;
  is_disturbed = false;
  const SearchedPlan changed = search_plan(graph, kPlain, busy.options);
  EXPECT_GT(asked, 1);
  EXPECT_EQ(changed.report.fast_us, 100);
  EXPECT_EQ(changed.report.best_us, 60);
}

TEST(SearchPlan, ThePlanOfTheCostModelIsTimedHoweverShortTheBudget) {
  const graph::Graph graph = Net().ir();
  MadeUp times;
  times.options.seconds = 1e-6;
  const SearchedPlan result = search_plan(graph, kPlain, times.options);
  EXPECT_EQ(times.kernel_trials, 0);
  EXPECT_EQ(times.plan_trials, 1);
  EXPECT_GT(result.report.fast_us, 0);
  EXPECT_EQ(result.report.best_us, result.report.fast_us);
}

TEST(SearchPlan, BucketsShareWhatTheyMeasure) {
  const auto measured = [](const std::vector<int64_t>& values) {
    Graph g;
    const Tensor x = g.input("x", {g.dim("n", 1, 1024), 32});
    const Tensor without_dims = exp(g.input("w", {32, 32}));
    MadeUp made_up_times;
    CompileOptions options{.mode = Mode::kSearch, .budget_seconds = 1000};
    options.search = made_up_times.options;
    options.compiler.buckets = {{"n", values}};
    const Executable executable = compile(g, {x * 2.0F, without_dims}, options);
    return executable.search_report().value().measured;
  };
  EXPECT_LT(measured({8, 512}), measured({8}) + measured({512}));
}

TEST(Compile, ASearchedPlanGivesWhatTheInterpreterGives) {
  const Net net;
  TuningDatabase database = TuningDatabase::in_memory();
  CompileOptions options;
  options.mode = Mode::kSearch;
  options.budget_seconds = 2;
  options.search.database = &database;
  options.search.progress = false;
  // How long it takes to come to the first measurement is up to the machine.
  std::optional<Executable> found;
  for (int tries = 0; tries < 8 && (!found || found->search_report()->measured == 0); ++tries) {
    *options.budget_seconds *= 2;
    found.emplace(compile(net.g, {net.y}, options));
  }
  ASSERT_GT(found->search_report()->measured, 0U);
  Executable& searched = *found;
  Executable oracle = compile(net.g, {net.y}, {.backend = Backend::kInterpreter});
  for (Executable* each : {&searched, &oracle}) {
    for (const auto& [name, array] : random_inputs(each->ir(), {}, 1)) each->set(name, array);
    each->run();
  }
  const std::vector<float> actual = searched.get<float>(net.y);
  const std::vector<float> expected = oracle.get<float>(net.y);
  for (size_t k = 0; k < expected.size(); ++k) EXPECT_NEAR(actual[k], expected[k], 1e-5);
  EXPECT_NE(searched.explain().find("\nSearch\n"), std::string::npos);
}

TEST(Compile, ABudgetBelowZeroIsRefused) {
  const Net net;
  try {
    compile(net.g, {net.y}, {.mode = Mode::kSearch, .budget_seconds = -1});
    FAIL() << "it was taken";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("a budget of -1 seconds"), std::string::npos);
  }
}

TEST(RandomInputs, PositionsAreInRangeAndEqualSeedsGiveEqualData) {
  Graph g;
  const Tensor y = index_select(g.input("t", {50, 16}), 0, g.input("i", {200}, DType::kI32));
  graph::Graph graph = g.ir();
  graph.add_output("y", y.edge());
  const auto data = random_inputs(graph, {}, 5);
  int64_t largest = 0;
  for (int64_t k = 0; k < 200; ++k) {
    const int64_t position = data.at("i").at(k).as_int64();
    EXPECT_GE(position, 0);
    EXPECT_LT(position, 50);
    largest = std::max(largest, position);
  }
  EXPECT_GT(largest, 25);
  const auto again = random_inputs(graph, {}, 5);
  EXPECT_TRUE(data.at("t").identical(again.at("t")));
}

}  // namespace
}  // namespace luminal::compiler
