#include "luminal/search/other_work.h"

#include <gtest/gtest.h>

namespace luminal::search {
namespace {

/// Whether others disturb `threads` of ours on four processors, two seconds after the first look.
bool disturbed(double busy, double ours, int threads, double passed = 2) {
  ProcessorTimes now{100, 50, 10};
  const OtherWork others([&] { return now; });
  now = {100 + passed, 50 + busy, 10 + ours};
  return others.disturbs(threads, 4);
}

TEST(OtherWork, DisturbsWhereThreadsHaveToShareProcessors) {
  EXPECT_TRUE(disturbed(8, 6, 4));            // one of four, all of which we use
  EXPECT_FALSE(disturbed(8, 8, 4));           // it is all ours
  EXPECT_FALSE(disturbed(8, 7.6, 4));         // a little
  EXPECT_FALSE(disturbed(4, 2, 2));           // there are two more
  EXPECT_FALSE(disturbed(4, 2, 3));           // and one more
  EXPECT_TRUE(disturbed(6, 2, 3));            // two of four
  EXPECT_FALSE(disturbed(8, 8.5, 4));         // clocks that differ
  EXPECT_FALSE(disturbed(0.4, 0.2, 4, 0.1));  // too short to know
}

TEST(OtherWork, ItSaysHowLongUntilItKnows) {
  ProcessorTimes now{100, 50, 10};
  const OtherWork others([&] { return now; });
  for (const double passed : {0.1, 0.2}) {
    now = {100 + passed, 50 + 4 * passed, 10};
    EXPECT_FALSE(others.disturbs(4, 4));
    EXPECT_GT(others.seconds_to_know(), 0.0);
  }
  const double more = others.seconds_to_know() + 1e-9;
  now = {100.2 + more, 50 + 4 * (0.2 + more), 10};
  EXPECT_TRUE(others.disturbs(4, 4));
  EXPECT_EQ(others.seconds_to_know(), 0.0);
}

TEST(OtherWork, WithoutTimesNothingIsSaid) {
  const OtherWork others([] { return std::optional<ProcessorTimes>(); });
  EXPECT_EQ(others.seconds_to_know(), 0.0);
  EXPECT_FALSE(others.disturbs(4, 4));
}

TEST(OtherWork, TheSystemTellsTimes) {
  const std::optional<ProcessorTimes> first = processor_times();
  // Some sandboxes tell of processors that never were at work.
  if (!first || first->busy == 0) GTEST_SKIP() << "this system does not";
  EXPECT_GT(first->passed, 0);
  EXPECT_GT(first->busy, 0);
  EXPECT_GT(first->ours, 0);
  const ProcessorTimes second = processor_times().value();
  EXPECT_GE(second.passed, first->passed);
  EXPECT_GT(second.busy, 0);  // less than before if a processor was switched off
  EXPECT_GE(second.ours, first->ours);
  EXPECT_GE(usable_processors(), 1);
}

}  // namespace
}  // namespace luminal::search
