// Searches of kernels that take long keep to their time. On a clock of the tests' own.
#include "luminal/search/trial_time.h"

#include <gtest/gtest.h>

#include "luminal/search/grid_space_for_tests.h"

namespace luminal::search {
namespace {

const TuningKey kKey{support::hash128("kernel"), "", "cpu", "version"};

/// Trying a way takes so many seconds; the default is tried once, and then runs along.
class SlowBench : public FormulaBench {
 public:
  explicit SlowBench(double seconds)
      : FormulaBench([this](const std::string& schedule) -> Measurement {
          if (times_tried[schedule] == 1) now_ += seconds_;
          const auto [x, y] = GridSpace::point(schedule);
          return Timing{seconds_ * 1e5 * (1 - 0.01 * (x + y)), 0.1, 9};  // there is always more
        }),
        seconds_(seconds) {}

  /// With so many seconds for it.
  TuneOptions options(double seconds) {
    return {.seconds_left = [this, seconds] { return seconds - now_; },
            .clock = [this] { return now_ * 1e6; }};
  }
  double now() const { return now_; }

 private:
  double seconds_;
  double now_ = 0;
};

TEST(TrialTime, ASearchEndsInTime) {
  for (const double seconds : {0.01, 0.3, 2.0, 7.0, 19.0}) {
    TuningDatabase database = TuningDatabase::in_memory();
    SlowBench bench(seconds);
    TuneOptions options = bench.options(20);
    options.most_trials = 1;  // as searches begin
    options.seconds_per_way = tune(database, kKey, GridSpace(10), bench, options).seconds_per_way;
    options.most_trials = 48;
    const TuneResult result = tune(database, kKey, GridSpace(10), bench, options);
    EXPECT_LE(bench.now(), 20 + 1e-9) << seconds;
    EXPECT_EQ(result.finished, seconds < 0.35) << seconds;
    EXPECT_TRUE(result.finished || bench.now() + 3 * seconds > 20) << "it uses it, " << seconds;
  }
}

TEST(TrialTime, TheDefaultIsTriedHoweverLongItTakes) {
  TuningDatabase database = TuningDatabase::in_memory();
  SlowBench bench(1000);
  const TuneResult result = tune(database, kKey, GridSpace(10, {"0,0"}), bench, bench.options(20));
  EXPECT_EQ(result.measured, 1U);
  EXPECT_EQ(result.choice.schedule, "0,0");
  EXPECT_FALSE(result.finished);
}

TEST(TrialTime, ADefaultThatIsKnownTellsWhatTryingOthersTakes) {
  TuningDatabase database = TuningDatabase::in_memory();
  database.record({kKey, "0,0", Timing{5e6, 1, 9}, 1});
  SlowBench bench(50);
  EXPECT_EQ(tune(database, kKey, GridSpace(10), bench, bench.options(20)).measured, 0U);
  EXPECT_EQ(bench.batches, 0);
  EXPECT_EQ(tune(database, kKey, GridSpace(10), bench, bench.options(110)).measured, 2U);
}

TEST(TrialTime, WhatWasDisturbedIsRepeatedIfThereIsTime) {
  for (const bool enough : {false, true}) {
    TuningDatabase database = TuningDatabase::in_memory();
    SlowBench bench(15);
    bench.disturbed = 1000;
    TuneOptions options = bench.options(enough ? 40 : 20);
    options.most_trials = 1;
    tune(database, kKey, GridSpace(10), bench, options);
    EXPECT_EQ(bench.batches, enough ? 3 : 1);
  }
}

TEST(TrialTime, WithoutALimitEverythingFits) {
  const TrialTime time(nullptr, 100, nullptr);
  EXPECT_EQ(time.that_fit(6, 1e9), 6U);
  EXPECT_TRUE(time.fits_again());
}

}  // namespace
}  // namespace luminal::search
