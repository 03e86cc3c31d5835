#include "luminal/search/measure.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <functional>
#include <vector>

#include "luminal/search/duel.h"

namespace luminal::search {
namespace {

/// A clock that goes on only while code of these tests runs, so that no other work of the machine
/// disturbs what is measured.
struct Clock {
  double now = 0;
  int64_t runs = 0;
};

/// Code that takes so many microseconds of the clock, as its first scalar says.
void wait(void* const* buffers, const int64_t* scalars, int64_t, int64_t, std::byte*) {
  auto* clock = static_cast<Clock*>(buffers[0]);
  ++clock->runs;
  clock->now += static_cast<double>(scalars[0]);
}

constexpr kernel::NodeId kClock{0};

Candidate waiting(int64_t microseconds, bool prepare = false) {
  Candidate candidate;
  CandidateLaunch launch;
  launch.entry = wait;
  launch.buffers = {{codegen::LaunchBuffer::Kind::kTensor, kClock, 0}};
  launch.scalars = {microseconds};
  launch.prepare = prepare;
  candidate.launches.push_back(launch);
  return candidate;
}

class MeasureTest : public testing::Test {
 protected:
  Measured measured(const std::vector<const Candidate*>& candidates, MeasureOptions options = {}) {
    options.clock = [this] { return clock_.now; };
    return measure(candidates, {{kClock, reinterpret_cast<std::byte*>(&clock_)}}, team_, options);
  }
  Clock clock_;
  runtime::ThreadTeam team_{{.threads = 1}};
};

TEST_F(MeasureTest, ATimeIsThatOfOneRun) {
  const Candidate slow = waiting(20'000);
  const Candidate quick = waiting(50);
  const Measured result = measured({&slow, &quick});
  ASSERT_EQ(result.timings.size(), 2U);
  EXPECT_DOUBLE_EQ(result.timings[0].median_us, 20'000);
  EXPECT_DOUBLE_EQ(result.timings[1].median_us, 50);
  EXPECT_FALSE(result.unreliable);
}

TEST_F(MeasureTest, TheHopelessAreDroppedAfterAFewRounds) {
  const Candidate slow = waiting(50'000);
  const Candidate quick = waiting(20);
  const Measured result =
      measured({&slow, &quick}, {.least_samples = 12, .most_samples = 12, .hopeless = 2});
  EXPECT_EQ(result.timings[0].samples, 3);
  EXPECT_EQ(result.timings[1].samples, 12);
}

TEST_F(MeasureTest, QuickKernelsRunSeveralTimesForOneSample) {
  const Candidate quick = waiting(10);
  measured({&quick}, {.least_samples = 5, .most_samples = 5, .sample_us = 1000});
  EXPECT_EQ(clock_.runs, 2 + 5 * 100);  // two show how long one takes
}

TEST_F(MeasureTest, LaunchesThatAreMadeAheadRunOnceAndDoNotCount) {
  Candidate both = waiting(100'000, true);
  both.launches.push_back(waiting(10).launches[0]);
  const Measured result = measured({&both}, {.least_samples = 3, .most_samples = 3});
  EXPECT_DOUBLE_EQ(result.timings[0].median_us, 10);
  EXPECT_LT(clock_.now, 200'000);
}

TEST_F(MeasureTest, NothingToMeasureIsNoError) {
  const Measured result = measured({});
  EXPECT_TRUE(result.timings.empty());
  EXPECT_FALSE(result.unreliable);
}

TEST_F(MeasureTest, MeasuringEndsWithTheTimeGivenOnceThereAreTheLeastSamples) {
  const Candidate slow = waiting(20'000);
  const auto samples = [&](double seconds) {
    // Never so steady that no more are needed.
    return measured(
               {&slow},
               {.seconds = seconds, .least_samples = 2, .most_samples = 1000, .steady_spread = -1})
        .timings[0]
        .samples;
  };
  EXPECT_EQ(samples(0.0), 2);
  EXPECT_EQ(samples(0.15), 8);
}

TEST_F(MeasureTest, TheClockOfTheMachineIsUsedWhereNoOtherIsGiven) {
  const Candidate quick = waiting(1);
  const Measured result =
      measure({&quick}, {{kClock, reinterpret_cast<std::byte*>(&clock_)}}, team_);
  ASSERT_EQ(result.timings.size(), 1U);
  EXPECT_GT(result.timings[0].median_us, 0);
  EXPECT_GE(result.timings[0].samples, 1);
}

/// Runs that take so many microseconds each on a clock of their own, and are counted.
class Runs {
 public:
  explicit Runs(const std::vector<double>& microseconds) : counts_(microseconds.size(), 0) {
    for (size_t k = 0; k < microseconds.size(); ++k)
      functions_.emplace_back([this, k, us = microseconds[k]] {
        now_ += us;
        ++counts_[k];
      });
  }
  Measured measured(MeasureOptions options = {}) {
    options.clock = [this] { return now_; };
    return measure_runs(functions_, options);
  }
  const std::vector<int>& counts() const { return counts_; }

 private:
  double now_ = 0;
  std::vector<int> counts_;
  std::vector<std::function<void()>> functions_;
};

TEST(MeasureRuns, WhatTakesLongRunsAFewTimesAndIsNotCalledDisturbed) {
  Runs runs({10e6, 11e6, 15e6});
  const Measured result = runs.measured();
  EXPECT_EQ(runs.counts(), (std::vector<int>{3, 3, 3}));
  EXPECT_FALSE(result.unreliable);
  Runs shorter({0.2e6, 0.21e6, 0.3e6});  // dropped as soon as it is seen to be hopeless
  EXPECT_FALSE(shorter.measured().unreliable);
  EXPECT_LT(shorter.counts()[2], shorter.counts()[0]);
}

TEST(MeasureRuns, WhenTimeIsOverOneSampleOfWhatTakesLongIsEnough) {
  Runs runs({10e6});
  const Measured result = runs.measured({.stop = [] { return true; }});
  EXPECT_EQ(runs.counts(), (std::vector<int>{2}));
  EXPECT_EQ(result.timings[0].samples, 1);
  EXPECT_GT(result.timings[0].spread_us, 0) << "nothing is known of others";
  EXPECT_FALSE(result.unreliable);
}

/// How many processors the calling thread may run on.
int processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  EXPECT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  return CPU_COUNT(&allowed);
}

TEST(MeasureRuns, WhatRunsOnOneThreadRunsWhereverItMay) {
  const int all = processors();
  int inside = 0;
  const std::vector<std::function<void()>> runs = {[&] { inside = processors(); }};
  measure_runs(runs, {.seconds = 0.001, .threads = 1});
  EXPECT_EQ(inside, all);
  time_pairs(runs[0], runs[0], {.seconds = 0.001, .threads = 1});
  EXPECT_EQ(inside, all);
  measure_runs(runs, {.seconds = 0.001, .threads = 2});
  EXPECT_EQ(inside, 1) << "where workers leave a processor to it";
}

TEST(MeasureRuns, WhatTakesLittleIsMeasuredToTheEndAllTheSame) {
  Runs quick({10, 11});
  const Measured result = quick.measured({.stop = [] { return true; }});
  for (const Timing& timing : result.timings) EXPECT_GE(timing.samples, 5);
}

}  // namespace
}  // namespace luminal::search
