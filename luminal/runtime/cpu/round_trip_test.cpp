#include "luminal/runtime/cpu/round_trip.h"

#include <gtest/gtest.h>

#include "luminal/runtime/cpu/thread_team.h"
#include "luminal/support/thread_pool.h"

namespace luminal::runtime {
namespace {

TEST(RoundTrip, IsNothingWithoutAnotherThread) {
  ThreadTeam team({.threads = 1});
  EXPECT_EQ(round_trip_seconds(team), 0);
}

TEST(RoundTrip, IsSomeTimeWhereThereAreProcessorsForAll) {
  if (support::available_processors() < 2) GTEST_SKIP() << "one processor";
  ThreadTeam team({.threads = 2});
  // Another program may be on one of them for a while.
  double seconds = 0;
  for (int trial = 0; trial < 100 && seconds == 0; ++trial) seconds = round_trip_seconds(team);
  EXPECT_GT(seconds, 5e-9);
}

TEST(RoundTrip, EndsWhereThreadsShareAProcessor) {
  ThreadTeam team({.threads = 16, .pin = false});
  EXPECT_GE(round_trip_seconds(team), 0);
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
