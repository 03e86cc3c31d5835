// Launches as a choice of the search: texts give the same plan again, what does not fit is not
// taken, and a search finds joined and split launches quicker where they are.
#include <gtest/gtest.h>

#include <algorithm>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/plan_bench.h"
#include "luminal/plan/compiled_program.h"
#include "tests/search/made_up_search.h"

namespace luminal::compiler {
namespace {

/// Two products that the rule puts into one launch, and a softmax that it leaves alone.
graph::Graph three_kernels() {
  Graph g;
  const Tensor x = g.input("x", {32, 64});
  const std::vector<Tensor> outputs = {matmul(x, g.input("a", {64, 48})),
                                       matmul(x, g.input("b", {64, 48})),
                                       softmax(g.input("z", {32, 64}), -1)};
  graph::Graph graph = g.ir();
  for (const Tensor& each : outputs)
    graph.add_output("y" + std::to_string(graph.outputs().size()), each.edge());
  return graph;
}

PlanDraft draft_of(const graph::Graph& graph, const std::string& choice,
                   const Options& options = kPlain) {
  return {graph, options, nullptr, nullptr,
          [choice](support::Hash128) { return std::optional(choice); }};
}

/// How many kernels each launch of a plan runs.
std::vector<size_t> sizes(const Plan& plan) {
  std::vector<size_t> result;
  for (const PlanStep& step : plan.steps)
    if (const auto* launch = std::get_if<LaunchStep>(&step.action))
      result.push_back(1 + launch->beside.size());
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<graph::Array> results(const Plan& plan, const graph::Graph& graph) {
  const auto data = random_inputs(graph, {}, 7);
  graph::RunRequest request;
  for (const auto& [name, array] : data) request.inputs[name] = &array;
  return plan::load_plan(plan)->run(request);
}

const OtherLaunches& found(const std::vector<OtherLaunches>& all, const std::string& how) {
  const auto place = std::find_if(all.begin(), all.end(),
                                  [&](const OtherLaunches& each) { return each.how == how; });
  EXPECT_NE(place, all.end()) << how;
  return *place;
}

TEST(LaunchSearch, ATextGivesTheSamePlanAgain) {
  const graph::Graph graph = three_kernels();
  PlanDraft first(graph, kPlain);
  const std::vector<OtherLaunches> others = first.other_launches();
  const support::Hash128 structure = first.structure();
  EXPECT_EQ(first.choice().find("apart"), std::string::npos);
  EXPECT_EQ(first.saved_launches(), 1);
  EXPECT_EQ(sizes(first.finish()), (std::vector<size_t>{1, 2}));
  const auto plan_of = [&](const std::string& how) {
    const std::string choice = found(others, how).choice;
    PlanDraft draft = draft_of(graph, choice);
    EXPECT_TRUE(draft.is_recalled());
    EXPECT_EQ(draft.choice(), choice);
    EXPECT_NE(draft.structure(), structure);
    PlanDraft again = draft_of(graph, draft.choice());
    EXPECT_EQ(again.structure(), draft.structure());
    Plan plan = draft.finish();
    EXPECT_EQ(plan::to_string(again.finish()), plan::to_string(plan));
    return plan;
  };
  EXPECT_EQ(sizes(plan_of("launches joined")), std::vector<size_t>{3});
  EXPECT_EQ(sizes(plan_of("launches apart")), (std::vector<size_t>{1, 1, 1}));
  EXPECT_EQ(found(others, "launches joined").saved, 1);
  EXPECT_EQ(found(others, "launches apart").saved, -1);
}

TEST(LaunchSearch, EveryChoiceComputesTheSame) {
  const graph::Graph graph = three_kernels();
  PlanDraft first(graph, kPlainHere);
  const std::vector<OtherLaunches> others = first.other_launches();
  ASSERT_GE(others.size(), 2U);
  const std::vector<graph::Array> expected = results(first.finish(), graph);
  for (const OtherLaunches& each : others) {
    const auto actual = results(draft_of(graph, each.choice, kPlainHere).finish(), graph);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t k = 0; k < expected.size(); ++k)
      EXPECT_TRUE(actual[k].identical(expected[k])) << each.how << ", output " << k;
  }
}

TEST(LaunchSearch, GroupsThatDoNotFitAreNotTaken) {
  const graph::Graph graph = three_kernels();
  PlanDraft first(graph, kPlain);
  const support::Hash128 structure = first.structure();
  for (const char* groups : {";0+1", ";99999+1", ";", ";joined", ";apart;apart"}) {
    const PlanDraft draft = draft_of(graph, first.choice() + groups);
    EXPECT_FALSE(draft.is_recalled()) << groups;
    EXPECT_EQ(draft.structure(), structure) << groups;
  }
}

TEST(LaunchSearch, LayersShareTheirLaunchesAlike) {
  Graph g;
  Tensor h = g.input("x", {16, 32});
  for (int k = 0; k < 6; ++k) {
    const std::string number = std::to_string(k);
    const Tensor a = matmul(h, g.input("a" + number, {32, 32}));
    const Tensor b = matmul(h, g.input("b" + number, {32, 32}));
    h = matmul(softmax(matmul(a, transpose(b)), 1), h) + h;
  }
  graph::Graph graph = g.ir();
  graph.add_output("y", h.edge());
  PlanDraft draft(graph, kPlain);
  const auto others = draft.other_launches();
  const double saved = draft.saved_launches();
  EXPECT_EQ(saved, 6);
  const PlanDraft apart = draft_of(graph, found(others, "launches apart").choice);
  EXPECT_TRUE(apart.is_recalled());
  EXPECT_EQ(apart.saved_launches(), 0);
}

/// A search in which plans whose launches have these sizes are quickest.
SearchedPlan searched_for(const graph::Graph& graph, const std::vector<size_t>& quickest,
                          MadeUp& times) {
  // Kernels as quick as a launch, so that launches matter.
  times.kernel_time = [](const search::KernelTask&, const std::string&) -> search::Measurement {
    return search::Timing{2.5, 0.001, 10};
  };
  times.options.tools.plans = [&times,
                               quickest](const std::function<Plan(const std::string&)>& plan)
      -> std::unique_ptr<search::Workbench> {
    return std::make_unique<search::FormulaBench>(
        [&times, quickest, plan](const std::string& name) -> search::Measurement {
          ++times.plan_trials;
          return search::Timing{sizes(plan(name)) == quickest ? 5.0 : 10.0, 0.001, 10};
        });
  };
  return search_plan(graph, kPlain, times.options);
}

TEST(LaunchSearch, TheSearchReachesJoinedAndSplitLaunches) {
  const graph::Graph graph = three_kernels();
  for (const std::vector<size_t>& quickest :
       {std::vector<size_t>{3}, std::vector<size_t>{1, 1, 1}, std::vector<size_t>{1, 2}}) {
    MadeUp times;
    const SearchedPlan result = searched_for(graph, quickest, times);
    EXPECT_EQ(sizes(result.plan), quickest);
    EXPECT_EQ(result.report.best_us, 5);
    // Told, with the launches that were chosen.
    const auto& trials = result.report.trials;
    const auto used = std::find_if(trials.begin(), trials.end(),
                                   [](const StructureTrial& trial) { return trial.used; });
    ASSERT_NE(used, trials.end());
    const bool is_other = used->name.find("launch") != std::string::npos;
    EXPECT_EQ(is_other, quickest.size() != 2) << used->name;
    // And remembered.
    times.options.seconds = 0;
    const SearchedPlan again = search_plan(graph, kPlain, times.options);
    EXPECT_TRUE(again.report.recalled);
    EXPECT_EQ(plan::to_string(again.plan), plan::to_string(result.plan));
  }
}

TEST(LaunchSearch, TheLaunchesOfALongRunAreLeftAsTheyAre) {
  const graph::Graph graph = three_kernels();
  MadeUp times;
  times.kernel_time = [](const search::KernelTask&, const std::string&) -> search::Measurement {
    return search::Timing{10'000, 1, 10};
  };
  const SearchedPlan result = search_plan(graph, kPlain, times.options);
  for (const StructureTrial& trial : result.report.trials)
    EXPECT_EQ(trial.name.find("launch"), std::string::npos) << trial.name;
}

}  // namespace
}  // namespace luminal::compiler
