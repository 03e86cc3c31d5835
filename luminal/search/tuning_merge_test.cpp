// What is known in several databases, in one: exports and merges.
#include "luminal/search/tuning_files_for_tests.h"

namespace luminal::search {
namespace {

class TuningMergeTest : public TuningFiles {};

TEST_F(TuningMergeTest, ExportsMergeWithoutLosingTheBetterMeasurement) {
  TuningDatabase ours(path("ours.db"));
  ours.record(timed(key(), "few", 5, 3, 100));
  ours.record(timed(key(), "many", 5, 30, 100));
  ours.record({key(), "bad", Rejected{Rejected::Why::kWrongResult, "x"}, 1});
  TuningDatabase theirs(path("theirs.db"));
  theirs.add_kernel({1, 7}, "text", "softmax");
  theirs.record(timed(key(), "few", 4, 9, 50));
  theirs.record(timed(key(), "many", 4, 9, 200));
  theirs.record(timed(key(), "bad", 1, 99, 200));
  theirs.record(timed(key(), "new", 9));
  theirs.export_to(path("shipped.db"));
  EXPECT_FALSE(std::filesystem::exists(path("shipped.db-wal")));
  const MergeCounts counts = ours.merge_from(TuningDatabase(path("shipped.db"), Access::kRead));
  EXPECT_EQ(counts.added, 1);
  EXPECT_EQ(counts.replaced, 1);
  EXPECT_EQ(counts.kept, 2);
  // Their machine was quicker then.
  EXPECT_EQ(std::get<Timing>(*ours.find(key(), "few")).samples, 9);
  EXPECT_EQ(std::get<Timing>(*ours.find(key(), "few")).median_us, 5);
  EXPECT_EQ(std::get<Timing>(*ours.find(key(), "new")).median_us, 9 * 1.25);
  EXPECT_EQ(std::get<Timing>(*ours.find(key(), "many")).samples, 30);
  EXPECT_TRUE(std::holds_alternative<Rejected>(*ours.find(key(), "bad")));
  EXPECT_EQ(ours.kernel_text({1, 7}), "text");
  EXPECT_EQ(ours.merge_from(TuningDatabase(path("shipped.db"), Access::kRead)).kept, 4);
}

TEST_F(TuningMergeTest, TimesOfTwoDatabasesAreMergedAsPartsOfOneDefault) {
  // Twice as slow there: "theirs" would be the best by its time here, and "ours" by theirs.
  const auto fill = [&](TuningDatabase& ours, TuningDatabase& theirs) {
    ours.record(timed(key(), "default", 100, 9));
    ours.record(timed(key(), "ours", 70, 9));
    ours.record(timed(key(8), "alone", 100, 9));
    theirs.record(timed(key(), "default", 200, 9));
    theirs.record(timed(key(), "theirs", 180, 9));
    theirs.record(timed(key(9), "alone", 200, 9));
  };
  const auto part = [&](const TuningDatabase& database, const std::string& schedule) {
    return std::get<Timing>(*database.find(key(), schedule)).median_us /
           std::get<Timing>(*database.find(key(), "default")).median_us;
  };
  for (const bool is_swapped : {false, true}) {
    TuningDatabase ours = TuningDatabase::in_memory();
    TuningDatabase theirs = TuningDatabase::in_memory();
    fill(ours, theirs);
    TuningDatabase& to = is_swapped ? theirs : ours;
    const double before = std::get<Timing>(*to.find(key(), "default")).median_us;
    to.merge_from(is_swapped ? ours : theirs);
    EXPECT_DOUBLE_EQ(part(to, "ours"), 0.7);
    EXPECT_DOUBLE_EQ(part(to, "theirs"), 0.9);
    EXPECT_EQ(std::get<Timing>(*to.find(key(), "default")).median_us, before);
    EXPECT_EQ(std::get<Timing>(*to.find(key(8), "alone")).median_us, 100);
    EXPECT_EQ(std::get<Timing>(*to.find(key(9), "alone")).median_us, 200);
    // Once more changes nothing.
    EXPECT_EQ(to.merge_from(is_swapped ? ours : theirs).kept, 3);
    EXPECT_DOUBLE_EQ(part(to, "theirs"), 0.9);
  }
}

TEST_F(TuningMergeTest, AMergeTakesTheQuietDefaultAndWhatIsThereFollowsIt) {
  TuningDatabase ours = TuningDatabase::in_memory();
  TuningRecord disturbed = timed(key(), "default", 300, 9);
  std::get<Timing>(disturbed.result).disturbed = true;
  ours.record(disturbed);
  ours.record(timed(key(), "ours", 150, 9));
  TuningDatabase theirs = TuningDatabase::in_memory();
  theirs.record(timed(key(), "default", 100, 9));
  ours.merge_from(theirs);
  EXPECT_EQ(ours.find(key(), "default"), theirs.find(key(), "default"));
  EXPECT_DOUBLE_EQ(std::get<Timing>(*ours.find(key(), "ours")).median_us, 50);
}

TEST_F(TuningMergeTest, WhatASmallerMachineCouldNotDoIsNoRejectionElsewhere) {
  for (const auto why : {Rejected::Why::kTimeout, Rejected::Why::kResources})
    for (const bool is_swapped : {false, true}) {
      TuningDatabase small = TuningDatabase::in_memory();
      TuningDatabase large = TuningDatabase::in_memory();
      for (TuningDatabase* each : {&small, &large}) each->record(timed(key(), "default", 100, 9));
      small.record({key(), "wide", Rejected{why, "x"}, 200});
      large.record(timed(key(), "wide", 50, 9));
      TuningDatabase& to = is_swapped ? small : large;
      to.merge_from(is_swapped ? large : small);
      EXPECT_TRUE(std::holds_alternative<Timing>(*to.find(key(), "wide")));
    }
}

TEST_F(TuningMergeTest, TimesThatNothingMakesComparableAreNotMerged) {
  TuningDatabase ours = TuningDatabase::in_memory();
  ours.record(timed(key(), "default", 100, 9));
  TuningDatabase theirs = TuningDatabase::in_memory();
  theirs.record({key(), "default", Rejected{Rejected::Why::kCrash, "x"}, 1});
  theirs.record({key(), "bad", Rejected{Rejected::Why::kWrongResult, "x"}, 1});
  theirs.record(timed(key(), "theirs", 10, 9));
  const MergeCounts counts = ours.merge_from(theirs);
  EXPECT_EQ(counts.added, 1);
  EXPECT_EQ(counts.replaced, 1);
  EXPECT_EQ(counts.kept, 1);
  EXPECT_EQ(ours.find(key(), "theirs"), std::nullopt);
  EXPECT_TRUE(std::holds_alternative<Rejected>(*ours.find(key(), "bad")));
}

TEST_F(TuningMergeTest, WhatWasInterruptedIsTakenOverAndNotCountedTwice) {
  TuningDatabase ours = TuningDatabase::in_memory();
  TuningDatabase theirs = TuningDatabase::in_memory();
  ours.note_interrupted(key(), {"a"});
  for (int times = 0; times < 2; ++times) theirs.note_interrupted(key(), {"b"});
  for (int times = 0; times < 3; ++times) theirs.note_interrupted(key(), {"c"});
  for (int times = 0; times < 3; ++times) EXPECT_EQ(ours.merge_from(theirs).added, 0);
  ours.note_interrupted(key(), {"b"});
  ours.note_interrupted(key(), {"b"});
  EXPECT_EQ(ours.interrupted(key()), (std::vector<std::string>{"a", "c", "b"}));
}

TEST_F(TuningMergeTest, AnExportThatCannotBeWrittenNamesItsFile) {
  TuningDatabase database(path());
  EXPECT_EQ(message_of([&] { database.export_to("/proc/luminal.db"); }),
            "tuning export: \"/proc/luminal.db\": No such file or directory");
}

}  // namespace
}  // namespace luminal::search
