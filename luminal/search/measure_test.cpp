#include "luminal/search/measure.h"

#include <gtest/gtest.h>

#include <chrono>

namespace luminal::search {
namespace {

/// Code that computes nothing for so many microseconds, as its first scalar says.
void wait(void* const* buffers, const int64_t* scalars, int64_t, int64_t, std::byte*) {
  ++*static_cast<int64_t*>(buffers[0]);
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(scalars[0]);
  while (std::chrono::steady_clock::now() < end) {
  }
}

constexpr kernel::NodeId kCounter{0};

Candidate waiting(int64_t microseconds, bool prepare = false) {
  Candidate candidate;
  CandidateLaunch launch;
  launch.entry = wait;
  launch.buffers = {{codegen::LaunchBuffer::Kind::kTensor, kCounter, 0}};
  launch.scalars = {microseconds};
  launch.prepare = prepare;
  candidate.launches.push_back(launch);
  return candidate;
}

class MeasureTest : public testing::Test {
 protected:
  Measured measured(const std::vector<const Candidate*>& candidates,
                    const MeasureOptions& options = {}) {
    return measure(candidates, {{kCounter, reinterpret_cast<std::byte*>(&runs_)}}, team_, options);
  }
  int64_t runs_ = 0;
  runtime::ThreadTeam team_{{.threads = 1}};
};

TEST_F(MeasureTest, TheQuickerOfTwoIsQuicker) {
  const Candidate slow = waiting(20'000);
  const Candidate quick = waiting(50);
  const Measured result = measured({&slow, &quick});
  ASSERT_EQ(result.timings.size(), 2U);
  EXPECT_LT(result.timings[1].median_us, result.timings[0].median_us);
  EXPECT_GE(result.timings[1].median_us, 50);
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
  const Candidate quick = waiting(1);
  measured({&quick}, {.least_samples = 5, .most_samples = 5, .sample_us = 1000});
  EXPECT_GT(runs_, 100);
}

TEST_F(MeasureTest, LaunchesThatAreMadeAheadRunOnceAndDoNotCount) {
  Candidate both = waiting(100'000, true);
  both.launches.push_back(waiting(10).launches[0]);
  const Measured result = measured({&both}, {.least_samples = 3, .most_samples = 3});
  EXPECT_LT(result.timings[0].median_us, 100'000);
}

TEST_F(MeasureTest, NothingToMeasureIsNoError) {
  const Measured result = measured({});
  EXPECT_TRUE(result.timings.empty());
  EXPECT_FALSE(result.unreliable);
}

TEST_F(MeasureTest, TheTimeGivenIsKeptRoughly) {
  const Candidate slow = waiting(20'000);
  const auto begin = std::chrono::steady_clock::now();
  const Measured result =
      measured({&slow}, {.seconds = 0.0, .least_samples = 2, .most_samples = 1000});
  EXPECT_EQ(result.timings[0].samples, 2);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

}  // namespace
}  // namespace luminal::search
