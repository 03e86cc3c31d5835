// Duels on a model of a machine with a clock of its own, so that every run gives the same.
#include "luminal/search/duel.h"

#include <gtest/gtest.h>

#include <random>

namespace luminal::search {
namespace {

/// Time passes as work is done, with noise that `noise` is the standard deviation of; now and then
/// something else runs for 5 ms.
struct Machine {
  explicit Machine(uint64_t seed, double noise_of_runs = 0.01, double spikes_per_us = 0)
      : random(seed), noise(noise_of_runs), spikes(spikes_per_us) {}

  void run(double microseconds) {
    // Slow and quick times of a machine last for many runs.
    if (uniform() < microseconds / 3000) mood = 1 + noise * normal();
    now += microseconds * mood * (1 + noise * normal());
    if (uniform() < spikes * microseconds) now += 5000;
  }
  double uniform() { return static_cast<double>(random() >> 11) * 0x1p-53; }
  double normal() {
    double sum = -6;
    for (int k = 0; k < 12; ++k) sum += uniform();
    return sum;
  }

  std::mt19937_64 random;
  double noise;
  double spikes;
  double mood = 1;
  double now = 0;
};

constexpr uint64_t kSeeds = 200;

/// What is taken of ways that take so long, timed and settled: 0 if the first stays.
struct Outcome {
  size_t winner = 0;
  bool unreliable = false;
};

/// `placement` is how much the place in memory of a way that is loaded matters to it.
Outcome settled(const std::vector<double>& times, Machine& machine, double placement = 0) {
  const auto load = [&](size_t way) -> std::function<void()> {
    const double us = times[way] * (1 + placement * (2 * machine.uniform() - 1));
    return [&machine, us] { machine.run(us); };
  };
  const auto clock = [&] { return machine.now; };
  std::vector<std::function<void()>> runs;
  for (size_t k = 0; k < times.size(); ++k) runs.push_back(load(k));
  Measured measured = measure_runs(runs, {.sample_us = 1000, .clock = clock});
  settle_by_duels(measured, load, {.clock = clock});
  Outcome outcome{0, measured.unreliable};
  for (size_t k = 1; k < times.size(); ++k)
    if (measured.timings[k].median_us < measured.timings[outcome.winner].median_us)
      outcome.winner = k;
  return outcome;
}

TEST(Duel, EqualsAreNeverTakenForTheFirst) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Machine machine(seed, 0.02);
    EXPECT_EQ(settled({20, 20, 20, 20}, machine).winner, 0U) << seed;
  }
}

TEST(Duel, WhatIsALittleSlowerIsNeverTaken) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Machine machine(seed, 0.03, 1e-6);
    EXPECT_EQ(settled({20, 20.5, 20.2}, machine).winner, 0U) << seed;
  }
}

TEST(Duel, WhatIsClearlyQuickerIsTaken) {
  size_t taken = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Machine machine(seed, 0.02, 1e-6);
    const Outcome outcome = settled({20, 21, 18.5, 19.9}, machine);
    EXPECT_TRUE(outcome.winner == 0 || outcome.winner == 2) << seed;
    taken += outcome.winner == 2 ? 1 : 0;
  }
  EXPECT_GT(taken, kSeeds * 95 / 100);
}

TEST(Duel, LuckWithPlacesInMemoryIsNotTakenForSpeed) {
  size_t taken = 0;
  size_t once = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Machine machine(seed, 0.005);
    taken += settled({20, 20}, machine, 0.04).winner;
    // As it would be without loading again.
    Machine other(seed, 0.005);
    const double first = 20 * (1 + 0.04 * (2 * other.uniform() - 1));
    const double second = 20 * (1 + 0.04 * (2 * other.uniform() - 1));
    once += second < 0.98 * first ? 1 : 0;
  }
  EXPECT_GT(once, kSeeds / 5);
  EXPECT_LT(taken, kSeeds / 20);
}

TEST(Duel, TheNextBestIsTakenIfTheBestLookedBetterThanItIs) {
  // The first times are made up: way 1 had luck.
  Machine machine(1);
  const double times[] = {20, 20, 17};
  const auto load = [&](size_t way) -> std::function<void()> {
    return [&machine, us = times[way]] { machine.run(us); };
  };
  Measured measured{{{20, 0.1, 5}, {15, 0.1, 5}, {17, 0.1, 5}}, true};
  settle_by_duels(measured, load, {.clock = [&] { return machine.now; }});
  EXPECT_GE(measured.timings[1].median_us, measured.timings[0].median_us);
  EXPECT_LT(measured.timings[2].median_us, 0.9 * measured.timings[0].median_us);
  // The rounds before were disturbed; the pairs were not, and it is they who decide.
  EXPECT_FALSE(measured.unreliable);
}

TEST(Duel, WhoWinsBesideOtherWorkMayLoseWithoutIt) {
  Machine machine(1);
  const auto load = [&](size_t way) -> std::function<void()> {
    return [&machine, us = way == 0 ? 20.0 : 15.0] { machine.run(us); };
  };
  Measured measured{{{20, 0.1, 5}, {15, 0.1, 5}}};
  settle_by_duels(measured, load,
                  {.clock = [&] { return machine.now; }, .disturbed = [] { return true; }});
  EXPECT_GE(measured.timings[1].median_us, measured.timings[0].median_us);
  EXPECT_TRUE(measured.unreliable);
}

TEST(Duel, NobodyFightsWhoDoesNotLookQuicker) {
  const Measured before{{{20, 0.1, 5}, {20, 0.1, 5}, {30, 0.1, 5}}, true};
  Measured measured = before;
  settle_by_duels(measured, [](size_t) -> std::function<void()> {
    ADD_FAILURE() << "nothing had to be loaded";
    return [] {};
  });
  EXPECT_EQ(measured.timings, before.timings);
  EXPECT_TRUE(measured.unreliable);  // somebody may have looked slower than he is
  Measured nothing;
  settle_by_duels(nothing, nullptr);
  EXPECT_TRUE(nothing.timings.empty());
}

TEST(Duel, WhatIsSlowIsRunAFewTimesOnly) {
  Machine machine(1);
  int runs = 0;
  const auto load = [&](size_t way) -> std::function<void()> {
    return [&, us = way == 0 ? 1e6 : 0.8e6] {
      ++runs;
      machine.run(us);
    };
  };
  Measured measured{{{1e6, 1, 5}, {0.8e6, 1, 5}}};
  settle_by_duels(measured, load, {.loads = 1, .clock = [&] { return machine.now; }});
  EXPECT_LT(measured.timings[1].median_us, 0.85 * measured.timings[0].median_us);
  EXPECT_LE(runs, 18);  // 7 pairs, and 2 of each to warm up
}

TEST(Verdict, NeedsAllLoadsAGainAndNoDoubt) {
  const std::vector<Pair> quicker(9, {10, 9});
  const std::vector<Pair> slower(9, {10, 10.5});
  EXPECT_TRUE(judge({quicker, quicker}, 0.02).quicker);
  EXPECT_FALSE(judge({quicker, quicker, slower}, 0.02).quicker);
  EXPECT_FALSE(judge({std::vector<Pair>(9, {10, 9.9})}, 0.02).quicker);
  EXPECT_FALSE(judge({}, 0.02).quicker);
  // Six of nine pairs may be luck.
  std::vector<Pair> mixed = quicker;
  mixed[0] = mixed[4] = mixed[8] = {10, 12};
  EXPECT_FALSE(judge({mixed}, 0.02).quicker);
  EXPECT_TRUE(judge({mixed}, 0.02).disturbed);
  EXPECT_FALSE(judge({slower}, 0.02).disturbed);
}

}  // namespace
}  // namespace luminal::search
