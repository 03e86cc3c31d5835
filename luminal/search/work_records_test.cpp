#include "luminal/search/work_records.h"

#include <gtest/gtest.h>

#include <limits>

namespace luminal::search {
namespace {

/// A kernel that only computes, so long on two cores that nothing else counts.
kernel::Work computing(double flops) { return {.vector_flops = flops}; }

TuningKey key(uint64_t kernel, const std::string& compiler = "v1",
              const std::string& device = "cpu a, 2 threads") {
  return {{kernel, 1}, "", device, compiler};
}

void add(TuningDatabase& database, const TuningKey& key, const kernel::Work& work, double us,
         int64_t when = 0) {
  database.note_work(key, "default", to_text(work));
  database.record({key, "default", Timing{us, 0.1, 10}, when});
  database.record({key, "slower", Timing{2 * us, 0.1, 10}, when});
  database.record({key, "wrong", Rejected{Rejected::Why::kCrash, ""}, when});
}

TEST(WorkRecords, TextIsReadAsItWasWritten) {
  const kernel::Work work{2, 3, 1.0 / 3, 1e12, 0.5, 7, 1e-9, 0.25};
  EXPECT_EQ(parse_work(to_text(work)), work);
  EXPECT_EQ(parse_work(""), std::nullopt);
  EXPECT_EQ(parse_work("work1 1 2 3"), std::nullopt);
  EXPECT_EQ(parse_work("work2 1 1 1 1 1 1 1 1"), std::nullopt);
  EXPECT_EQ(parse_work("work1 1 1 1 1 1 1 -1 1"), std::nullopt);
  EXPECT_EQ(parse_work("work1 1 1 1 1 1 1 nan 1"), std::nullopt);
  EXPECT_EQ(parse_work("work1 1 1 1 1 1 1 1 0"), std::nullopt);  // nothing is divided by it
}

TEST(WorkRecords, TheBestTimeOfThisVersionCountsElseTheNewest) {
  TuningDatabase database = TuningDatabase::in_memory();
  add(database, key(1, "v1"), computing(1e9), 10, 1);
  add(database, key(1, "v2"), computing(1e9), 20, 2);
  add(database, key(1, "v3"), computing(1e9), 30, 3);
  add(database, key(2, "v0"), computing(2e9), 40, 1);
  add(database, key(2, "v4"), computing(2e9), 50, 2);
  add(database, key(3, "v2", "cpu b, 2 threads"), computing(2e9), 60);
  database.record({key(4, "v2"), "no work", Timing{70, 1, 5}, 1});
  const std::vector<KnownWork> works = known_works(database, "cpu a, 2 threads", "v2");
  ASSERT_EQ(works.size(), 2U);
  EXPECT_EQ(works[0].timed.measured_us, 20);
  EXPECT_EQ(works[1].timed.measured_us, 50);
  EXPECT_EQ(database.devices(), (std::vector<std::string>{"cpu a, 2 threads", "cpu b, 2 threads"}));
}

TEST(WorkRecords, WorksGoWithMergesAndWithTheirKernels) {
  TuningDatabase database = TuningDatabase::in_memory();
  add(database, key(1), computing(1e9), 10, 1);
  EXPECT_EQ(database.timed_works("cpu a, 2 threads").size(), 1U);
  database.prune({.kernel = support::Hash128{1, 1}});
  database.record({key(1), "again", Timing{70, 1, 5}, 1});
  EXPECT_TRUE(database.timed_works("cpu a, 2 threads").empty());
}

TEST(WorkRecords, AMachineIsFittedToEverythingThatIsKnown) {
  const kernel::Machine machine = kernel::Machine::cpu(2);
  kernel::Machine real = machine;
  real.vector_flops /= 4;
  real.memory_bytes *= 2;
  TuningDatabase database = TuningDatabase::in_memory();
  uint64_t number = 0;
  for (double amount = 1e4; amount < 1e10; amount *= 7) {
    const kernel::Work reading{.memory_bytes = amount};
    add(database, key(++number), computing(amount), kernel::microseconds(computing(amount), real));
    add(database, key(++number, "v0"), reading, kernel::microseconds(reading, real));
  }
  const Calibration found = calibrated(known_works(database, "cpu a, 2 threads", "v1"), machine);
  EXPECT_EQ(found.before.kernels, number);
  EXPECT_GT(found.before.typical_factor, 1.5);
  EXPECT_LT(found.after.typical_factor, 1.2);
  EXPECT_GE(found.after.rank_correlation, found.before.rank_correlation);
  EXPECT_GE(found.after.pairs_in_order, found.before.pairs_in_order);
  EXPECT_NEAR(found.machine.vector_flops / real.vector_flops, 1, 0.3);
  // Of nothing there is nothing to learn.
  const Calibration none = calibrated({}, machine);
  EXPECT_EQ(none.machine.vector_flops, machine.vector_flops);
  EXPECT_EQ(none.before.kernels, 0U);
}

}  // namespace
}  // namespace luminal::search
