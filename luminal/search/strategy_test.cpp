#include "luminal/search/strategy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "luminal/search/grid_space_for_tests.h"

namespace luminal::search {
namespace {

constexpr StrategyKind kAll[] = {StrategyKind::kCostModel, StrategyKind::kLocalMoves,
                                 StrategyKind::kEvolution, StrategyKind::kRandom};

std::vector<Trial> some_trials() {
  return {{"0,0", Timing{50, 1, 9}},
          {"3,3", Timing{20, 1, 9}},
          {"4,3", Rejected{Rejected::Why::kWrongResult, "no"}},
          {"7,1", Timing{30, 1, 9}}};
}

TEST(Strategy, TheFirstProposalsContainTheDefault) {
  const GridSpace space(8, {"0,0", "5,5"});
  for (const StrategyKind kind : kAll) {
    const auto proposed = make_strategy(kind)->propose(space, {}, 4, 1);
    ASSERT_FALSE(proposed.empty()) << to_string(kind);
    EXPECT_EQ(proposed.front(), "0,0") << to_string(kind);
  }
}

TEST(Strategy, NothingIsProposedTwiceOrAgain) {
  const GridSpace space(8);
  for (const StrategyKind kind : kAll)
    for (uint64_t seed = 0; seed < 50; ++seed) {
      const auto proposed = make_strategy(kind)->propose(space, some_trials(), 6, seed);
      EXPECT_LE(proposed.size(), 6U);
      const std::set<std::string> different(proposed.begin(), proposed.end());
      EXPECT_EQ(different.size(), proposed.size()) << to_string(kind);
      for (const Trial& trial : some_trials())
        EXPECT_FALSE(different.contains(trial.schedule)) << to_string(kind) << trial.schedule;
    }
}

TEST(Strategy, AnswersDependOnTheSeedAndNotOnTheOrderOfTrials) {
  const GridSpace space(8);
  std::vector<Trial> reversed = some_trials();
  std::reverse(reversed.begin(), reversed.end());
  for (const StrategyKind kind : kAll) {
    const auto strategy = make_strategy(kind);
    std::set<std::vector<std::string>> answers;
    for (uint64_t seed = 0; seed < 20; ++seed) {
      const auto proposed = strategy->propose(space, some_trials(), 3, seed);
      EXPECT_EQ(proposed, strategy->propose(space, some_trials(), 3, seed));
      EXPECT_EQ(proposed, strategy->propose(space, reversed, 3, seed)) << to_string(kind);
      answers.insert(proposed);
    }
    const bool draws = kind != StrategyKind::kCostModel;
    EXPECT_EQ(answers.size() > 1, draws) << to_string(kind);
  }
}

TEST(Strategy, TheCostModelProposesItsOwnOrderAndEnds) {
  const GridSpace space(8, {"0,0", "5,5", "1,2"});
  const auto strategy = make_strategy(StrategyKind::kCostModel);
  EXPECT_EQ(strategy->propose(space, {}, 2, 1), (std::vector<std::string>{"0,0", "5,5"}));
  EXPECT_EQ(strategy->propose(space, {{"0,0", Timing{}}, {"5,5", Timing{}}}, 2, 1),
            (std::vector<std::string>{"1,2"}));
  EXPECT_TRUE(
      strategy->propose(space, {{"0,0", Timing{}}, {"5,5", Timing{}}, {"1,2", Timing{}}}, 2, 1)
          .empty());
}

/// A grid in which the second choice makes no difference beside an even first one, and whose costs
/// are known of what lies in the upper half.
class IdleSpace : public GridSpace {
 public:
  using GridSpace::GridSpace;
  std::string identity(const std::string& schedule) const override {
    const auto [x, y] = point(schedule);
    return x % 2 == 0 ? text(x, 0) : schedule;
  }
  std::optional<double> cost(const std::string& schedule) const override {
    const auto [x, y] = point(schedule);
    return y < 4 ? std::nullopt : std::optional(100.0 - x);
  }
};

TEST(Strategy, WaysThatComeToTheSameAreTriedOnce) {
  const IdleSpace space(8, {"2,3", "5,5"});
  const std::vector<Trial> trials = {{"2,3", Timing{50, 1, 9}}, {"5,5", Timing{30, 1, 9}}};
  for (const StrategyKind kind : kAll)
    for (uint64_t seed = 0; seed < 20; ++seed) {
      std::set<std::string> seen = {"2,0", "5,5"};
      for (const std::string& each : make_strategy(kind)->propose(space, trials, 12, seed))
        EXPECT_TRUE(seen.insert(space.identity(each)).second) << to_string(kind) << " " << each;
    }
}

TEST(Strategy, AChoiceThatMakesNoDifferenceAtFirstIsTriedWhereItDoes) {
  const IdleSpace space(8, {"2,3"});
  const auto strategy = make_strategy(StrategyKind::kLocalMoves);
  const std::vector<Trial> trials = {{"2,3", Timing{50, 1, 9}}, {"3,3", Timing{20, 1, 9}}};
  const auto proposed = strategy->propose(space, trials, 10, 1);
  for (const char* way : {"3,2", "3,4"})
    EXPECT_NE(std::find(proposed.begin(), proposed.end(), way), proposed.end()) << way;
  for (const char* way : {"2,2", "2,4"})
    EXPECT_EQ(std::find(proposed.begin(), proposed.end(), way), proposed.end()) << way;
}

TEST(Strategy, TheCostModelRanksWhatItHasAnOpinionOf) {
  // Of (5, 5) and what is near it the model thinks the better the larger x is, of (0, 0) nothing.
  const IdleSpace space(8, {"0,0", "5,5"});
  EXPECT_EQ(make_strategy(StrategyKind::kCostModel)->propose(space, {}, 10, 1),
            (std::vector<std::string>{"0,0", "6,5", "5,5", "5,4", "5,6", "4,5"}));
}

TEST(Strategy, LocalMovesStartAtTheQuickestThatCounts) {
  const GridSpace space(8);
  const auto proposed =
      make_strategy(StrategyKind::kLocalMoves)->propose(space, some_trials(), 3, 7);
  const std::set<std::string> moves(proposed.begin(), proposed.end());
  EXPECT_EQ(moves, (std::set<std::string>{"2,3", "3,2", "3,4"}));  // (4, 3) was rejected
}

TEST(Strategy, ADefaultThatDoesNotCountIsNotTheEnd) {
  const Rejected wrong{Rejected::Why::kWrongResult, "no"};
  const GridSpace alone(8), beside(8, {"0,0", "5,5"});
  for (const StrategyKind kind : {StrategyKind::kLocalMoves, StrategyKind::kEvolution}) {
    const auto strategy = make_strategy(kind);
    const auto has = [&](const Space& space, const std::vector<Trial>& trials, const char* way) {
      const auto proposed = strategy->propose(space, trials, 8, 3);
      return std::ranges::count(proposed, way) > 0;
    };
    for (const char* near : {"0,1", "1,0"}) {
      EXPECT_TRUE(has(alone, {{"0,0", wrong}}, near)) << to_string(kind);
      EXPECT_TRUE(has(beside, {{"0,0", wrong}, {"5,5", Timing{9, 1, 9}}}, near)) << to_string(kind);
      EXPECT_TRUE(has(beside, {{"0,0", wrong}, {"5,5", wrong}}, near)) << to_string(kind);
      // What nobody let come to an end is for later.
      const Rejected interrupted{Rejected::Why::kInterrupted, ""};
      EXPECT_FALSE(has(alone, {{"0,0", interrupted}}, near)) << to_string(kind);
    }
    EXPECT_TRUE(has(beside, {{"0,0", wrong}, {"5,5", wrong}}, "5,4")) << to_string(kind);
  }
}

TEST(Strategy, EvolutionMixesTheParents) {
  // Of (0, 5) and (5, 0) no single step leads to (0, 0) or (5, 5).
  const GridSpace space(8, {"0,5", "5,0"});
  const std::vector<Trial> trials = {{"0,5", Timing{10, 1, 9}}, {"5,0", Timing{11, 1, 9}}};
  const auto proposed = make_strategy(StrategyKind::kEvolution)->propose(space, trials, 30, 3);
  EXPECT_NE(std::find(proposed.begin(), proposed.end(), "0,0"), proposed.end());
  EXPECT_NE(std::find(proposed.begin(), proposed.end(), "5,5"), proposed.end());
}

TEST(Strategy, ASpaceOfOneWayIsSoonDone) {
  const GridSpace space(1);
  for (const StrategyKind kind : kAll)
    EXPECT_TRUE(make_strategy(kind)->propose(space, {{"0,0", Timing{}}}, 4, 1).empty())
        << to_string(kind);
}

}  // namespace
}  // namespace luminal::search
