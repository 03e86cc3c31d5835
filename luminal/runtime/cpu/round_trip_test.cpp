#include "luminal/runtime/cpu/round_trip.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "luminal/runtime/cpu/thread_team.h"

namespace luminal::runtime {
namespace {

TEST(RoundTrip, IsNothingWithoutAnotherThread) {
  ThreadTeam team({.threads = 1});
  EXPECT_EQ(round_trip_seconds(team), 0);
}

TEST(RoundTrip, TakesSomeTimeAndEnds) {
  ThreadTeam team({.threads = 2, .pin = false});
  // A busy machine may never run both at a time; that is told, too.
  double longest = 0;
  for (int trial = 0; trial < 100 && longest == 0; ++trial)
    longest = std::max(longest, round_trip_seconds(team));
  EXPECT_GE(longest, 0);
  EXPECT_LT(longest, 200e-6);
}

TEST(RoundTrip, EndsInsideOfAJobWhereOneThreadRunsAll) {
  ThreadTeam team({.threads = 3, .pin = false});
  double inside = 1;
  team.run([&](int thread) {
    if (thread == 0) inside = round_trip_seconds(team);
  });
  EXPECT_EQ(inside, 0);
}

}  // namespace
}  // namespace luminal::runtime
