// Searches on a machine that does other work: what is found is nearly as good as on a quiet one, or
// the search says that times were unreliable. The machine is a model with a clock of its own, so
// every run gives the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "luminal/search/grid_space_for_tests.h"
#include "luminal/search/measure.h"

namespace luminal::search {
namespace {

/// What the other work does.
enum class Load {
  kNone,
  kSteady,  ///< takes half of the machine, all the time
  kBursts,  ///< takes two thirds of it, for some milliseconds now and then
  kSpikes,  ///< takes it for five milliseconds, rarely
  kGrows,   ///< takes more and more
  kWild,    ///< takes anything at any time
};

/// Time passes as work is done, slower while there is other work.
class Machine {
 public:
  Machine(Load load, uint64_t seed) : load_(load), random_(seed) {}

  double now() const { return now_; }
  void run(double microseconds) {
    now_ += microseconds * (1 + 0.01 * (uniform() - 0.5)) * slowness();
    if (load_ == Load::kSpikes && uniform() < microseconds / 100'000) now_ += 5000;
  }

 private:
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  double slowness() {
    switch (load_) {
      case Load::kSteady:
        return 2;
      case Load::kGrows:
        return 1 + now_ / 4e6;
      case Load::kWild:
        return 1 + 2 * uniform();
      case Load::kBursts:
        if (now_ >= phase_end_) {
          is_busy_ = !is_busy_;
          phase_end_ = now_ - 4000 * std::log(1 - uniform());
        }
        return is_busy_ ? 3 : 1;
      default:
        return 1;
    }
  }

  Load load_;
  std::mt19937_64 random_;
  double now_ = 0;
  double phase_end_ = 0;
  bool is_busy_ = false;
};

/// What a way really takes: a bowl with some roughness, 50 us at the bottom.
double true_us(const std::string& schedule) {
  const auto [x, y] = GridSpace::point(schedule);
  return 50 + 2.0 * std::pow(x - 4, 2) + 3.0 * std::pow(y - 2, 2) + 5.0 * ((x * 7 + y * 3) % 3);
}

/// Times ways on the model.
class ModelBench : public Workbench {
 public:
  explicit ModelBench(Machine& machine) : machine_(machine) {}
  Tried try_out(const std::vector<std::string>& schedules) override {
    std::vector<std::function<void()>> runs;
    for (const std::string& each : schedules)
      runs.emplace_back([this, us = true_us(each)] { machine_.run(us); });
    const Measured measured = measure_runs(runs, {.clock = [this] { return machine_.now(); }});
    Tried tried{{}, measured.unreliable};
    for (const Timing& timing : measured.timings) tried.results.emplace_back(timing);
    return tried;
  }

 private:
  Machine& machine_;
};

struct Found {
  double us = 0;  ///< what the way that was chosen really takes
  bool unreliable = false;
};

Found found(Load load, uint64_t seed) {
  Machine machine(load, seed);
  ModelBench bench(machine);
  TuningDatabase database = TuningDatabase::in_memory();
  const TuneResult result = tune(database, {{1, 1}, "", "model", "v1"}, GridSpace(6), bench,
                                 {.seed = seed, .most_trials = 24});
  return {true_us(result.choice.schedule), result.unreliable};
}

constexpr uint64_t kSeeds = 60;

TEST(BusyMachine, WhatIsFoundIsWithinATenthOfTheQuietOneOrIsSaidToBeUnreliable) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Found quiet = found(Load::kNone, seed);
    for (const Load load :
         {Load::kSteady, Load::kBursts, Load::kSpikes, Load::kGrows, Load::kWild}) {
      const Found busy = found(load, seed);
      EXPECT_TRUE(busy.unreliable || busy.us <= 1.1 * quiet.us)
          << "load " << static_cast<int>(load) << ", seed " << seed << ": " << busy.us
          << " us, on the quiet machine " << quiet.us;
    }
  }
}

TEST(BusyMachine, OnlyWhatDisturbsTimesIsCalledUnreliable) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const Load load : {Load::kNone, Load::kSteady, Load::kSpikes})
      EXPECT_FALSE(found(load, seed).unreliable) << static_cast<int>(load) << ", seed " << seed;
    EXPECT_TRUE(found(Load::kWild, seed).unreliable) << seed;
  }
}

TEST(BusyMachine, AQuietMachineFindsTheBottom) {
  double best = true_us("0,0");
  for (int x = 0; x < 6; ++x)
    for (int y = 0; y < 6; ++y) best = std::min(best, true_us(GridSpace::text(x, y)));
  int missed = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed)
    missed += found(Load::kNone, seed).us > 1.1 * best ? 1 : 0;
  EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace luminal::search
