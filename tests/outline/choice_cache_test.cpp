// Choices kept on disk: what is found there is what a search finds, and whatever does not fit is
// searched for anew.
#include "luminal/compiler/choice_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "luminal/compiler/build_plan.h"
#include "luminal/rules/choices.h"
#include "networks.h"

namespace luminal::compiler {
namespace {

using networks::IR;

class ChoiceCache : public testing::Test {
 protected:
  ChoiceCache()
      : cache_({.directory = (std::filesystem::temp_directory_path() /
                              fmt::format("luminal-choices-{}", ::getpid()))
                                 .string()}) {
    options_.machine = kernel::Machine::cpu(2);
    options_.group_launches = false;
  }
  ~ChoiceCache() override { std::filesystem::remove_all(cache_.options().directory); }

  struct Found {
    std::vector<size_t> choice;
    kernel::CutPlan plan;
  };
  Found found(const IR& graph, support::FileCache* cache) {
    rules::Choices choices = rules::choices(graph);
    kernel::Arena arena;
    kernel::CutPlan plan = search_choice(arena, choices.program, options_, cache);
    return {choices.program.choice(), std::move(plan)};
  }
  support::Hash128 key(const IR& graph) {
    return choice_key(rules::choices(graph).program, options_);
  }

  support::FileCache cache_;
  kernel::CutSearchOptions options_;
};

void expect_same(const kernel::CutPlan& a, const kernel::CutPlan& b) {
  EXPECT_EQ(a.cut, b.cut);
  ASSERT_EQ(a.kernels.size(), b.kernels.size());
  for (size_t k = 0; k < a.kernels.size(); ++k) {
    EXPECT_EQ(a.kernels[k].nodes, b.kernels[k].nodes);
    EXPECT_EQ(a.kernels[k].reads, b.kernels[k].reads);
  }
  EXPECT_DOUBLE_EQ(a.microseconds, b.microseconds);
}

TEST_F(ChoiceCache, WhatIsFoundAgainIsWhatWasSearched) {
  for (const IR& graph : {networks::gpt(1, networks::large()), networks::llama(1),
                          networks::lstm(3), networks::resnet({1, 1})}) {
    const Found searched = found(graph, nullptr);
    const Found first = found(graph, &cache_), again = found(graph, &cache_);
    EXPECT_GT(first.plan.estimated, 0);
    EXPECT_EQ(again.plan.estimated, 0) << "nothing is searched again";
    for (const Found* each : {&first, &again}) {
      EXPECT_EQ(each->choice, searched.choice);
      expect_same(each->plan, searched.plan);
    }
  }
  EXPECT_EQ(cache_.list().size(), 4);
}

TEST_F(ChoiceCache, WhatAChoiceFollowsFromIsInItsKey) {
  const IR graph = networks::mlp(3);
  const support::Hash128 before = key(graph);
  EXPECT_EQ(before, key(networks::mlp(3)));
  EXPECT_NE(before, key(networks::mlp(4)));
  EXPECT_NE(before, key(networks::mlp(3, 7)));
  options_.machine.launch_us *= 2;
  EXPECT_NE(before, key(graph));
  options_.machine = kernel::Machine::cpu(2);
  EXPECT_EQ(before, key(graph));
  options_.estimate.dims["n"] = 3;
  EXPECT_NE(before, key(graph));
  options_.estimate.dims.clear();
  options_.work_per_node += 1;
  EXPECT_NE(before, key(graph));
}

TEST_F(ChoiceCache, EntriesThatDoNotFitAreReplaced) {
  const IR graph = networks::mlp(3);
  const Found searched = found(graph, nullptr);
  const size_t size = rules::choices(graph).program.size();
  std::string choice = "0";
  for (size_t k = 1; k < size; ++k) choice += " 0";
  const std::string nothing_stored = choice + ";" + std::string(size, '0');
  const std::string no_such_definition = "99" + choice.substr(1) + ";" + std::string(size, '1');
  for (const std::string& bad : {std::string(), std::string("0 0;11"), std::string("x;1"),
                                 nothing_stored, no_such_definition, choice}) {
    cache_.put(key(graph), bad);
    const Found replaced = found(graph, &cache_);
    EXPECT_GT(replaced.plan.estimated, 0) << bad;
    expect_same(replaced.plan, searched.plan);
    EXPECT_EQ(found(graph, &cache_).plan.estimated, 0) << bad;
  }
}

TEST_F(ChoiceCache, PlansWithAndWithoutItAreTheSame) {
  const IR graph = networks::encoder_decoder(3, 3);
  const Plan without = build_plan(graph, {.cache = false});
  const Plan first = build_plan(graph), again = build_plan(graph);
  EXPECT_EQ(to_string(without), to_string(first));
  EXPECT_EQ(to_string(without), to_string(again));
}

}  // namespace
}  // namespace luminal::compiler
