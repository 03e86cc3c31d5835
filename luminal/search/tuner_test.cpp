#include "luminal/search/tuner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "luminal/search/grid_space_for_tests.h"

namespace luminal::search {
namespace {

const TuningKey kKey{support::hash128("kernel"), "S0=4", "cpu", "version"};

TuningRecord record(const std::string& schedule, Measurement result) {
  return {kKey, schedule, std::move(result), 1};
}

TEST(Choose, TakesTheQuickestThatCounts) {
  const TunedChoice choice =
      choose({record("a", Timing{100, 1, 20}), record("b", Rejected{Rejected::Why::kCrash, "gone"}),
              record("c", Timing{60, 1, 20}), record("d", Timing{60, 1, 20})},
             "a");
  EXPECT_EQ(choice, (TunedChoice{"c", 60, 100, 4, 1}));
}

TEST(Choose, KeepsTheDefaultUnlessAnotherIsQuickerBeyondNoise) {
  EXPECT_EQ(choose({record("a", Timing{100, 0, 20}), record("b", Timing{99, 0, 20})}, "a").schedule,
            "a");
  EXPECT_EQ(choose({record("a", Timing{100, 0, 20}), record("b", Timing{97, 0, 20})}, "a").schedule,
            "b");
  EXPECT_EQ(
      choose({record("a", Timing{100, 40, 16}), record("b", Timing{85, 40, 16})}, "a").schedule,
      "a");
  EXPECT_EQ(
      choose({record("a", Timing{100, 40, 16}), record("b", Timing{75, 40, 16})}, "a").schedule,
      "b");
}

TEST(Choose, ADefaultThatDoesNotCountIsNotChosen) {
  const Rejected wrong{Rejected::Why::kWrongResult, "no"};
  EXPECT_EQ(choose({record("a", wrong), record("b", Timing{70, 1, 9})}, "a").schedule, "b");
  EXPECT_EQ(choose({record("a", wrong)}, "a").schedule, "");
  EXPECT_EQ(choose({}, "a").schedule, "");
}

TEST(Choose, ANoisyTimeDoesNotHideAClearGain) {
  EXPECT_EQ(choose({record("a", Timing{100, 0.1, 20}), record("b", Timing{69, 200, 5}),
                    record("c", Timing{70, 0.1, 20})},
                   "a"),
            (TunedChoice{"c", 70, 100, 3, 0}));
}

TEST(Choose, DoesNotRestOnDisturbedTimesWhereThereAreOthers) {
  const TuningRecord standard = record("a", Timing{100, 1, 20});
  const TuningRecord disturbed = record("b", Timing{60, 1, 20, true});
  EXPECT_EQ(choose({standard, disturbed, record("c", Timing{80, 1, 20})}, "a").schedule, "c");
  EXPECT_EQ(choose({standard, disturbed, record("c", Timing{99, 1, 20})}, "a").schedule, "b");
}

TEST(Tuner, StrategiesThatLearnFindTheBottomOfABowl) {
  for (const StrategyKind kind : {StrategyKind::kLocalMoves, StrategyKind::kEvolution}) {
    TuningDatabase database = TuningDatabase::in_memory();
    FormulaBench bench = FormulaBench::bowl(6, 5);
    const TuneResult result = tune(database, kKey, GridSpace(10), bench,
                                   {.strategy = kind, .most_trials = 60, .batch = 4});
    EXPECT_EQ(result.choice.schedule, "6,5") << to_string(kind);
    EXPECT_EQ(result.choice.best_us, 10);
    EXPECT_EQ(result.choice.default_us, 71);
    EXPECT_LE(result.measured, 60U);
  }
}

TEST(Tuner, EverythingThatWasTriedIsRecordedAndTriedOnce) {
  TuningDatabase database = TuningDatabase::in_memory();
  FormulaBench bench = FormulaBench::bowl(3, 3);
  const TuneResult result = tune(database, kKey, GridSpace(4), bench, {.most_trials = 100});
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(database.records(kKey).size(), result.measured);
  EXPECT_EQ(bench.times_tried["0,0"], bench.batches);  // it runs along
  for (const auto& [schedule, times] : bench.times_tried)
    EXPECT_EQ(times, schedule == "0,0" ? bench.batches : 1) << schedule;
}

TEST(Tuner, TheRejectedAreRememberedAndNeverTriedAgain) {
  TuningDatabase database = TuningDatabase::in_memory();
  const auto formula = [](const std::string& schedule) -> Measurement {
    if (schedule == "1,0") return Rejected{Rejected::Why::kTimeout, "10 s"};
    return Timing{schedule == "0,0" ? 10.0 : 20.0, 0.1, 10};
  };
  FormulaBench first(formula);
  tune(database, kKey, GridSpace(2), first, {});
  EXPECT_EQ(first.times_tried["1,0"], 1);
  FormulaBench second(formula);
  const TuneResult again =
      tune(database, kKey, GridSpace(3), second, {.strategy = StrategyKind::kEvolution});
  EXPECT_EQ(second.times_tried["1,0"], 0);
  EXPECT_EQ(again.choice.rejected, 1U);
  EXPECT_EQ(again.choice.schedule, "0,0");
}

TEST(Tuner, WhatWasInterruptedIsForTheNextSearch) {
  TuningDatabase database = TuningDatabase::in_memory();
  bool interrupts = true;
  FormulaBench bench([&](const std::string& schedule) -> Measurement {
    if (schedule == "1,0" && interrupts) return Rejected{Rejected::Why::kInterrupted, "killed"};
    return Timing{schedule == "0,0" ? 10.0 : 20.0, 0.1, 10};
  });
  const TuneResult first = tune(database, kKey, GridSpace(2), bench, {.batch = 1});
  EXPECT_EQ(bench.times_tried["1,0"], 1);  // and not again and again
  EXPECT_FALSE(first.finished);
  EXPECT_EQ(database.find(kKey, "1,0"), std::nullopt);
  interrupts = false;
  const TuneResult second = tune(database, kKey, GridSpace(2), bench, {});
  EXPECT_TRUE(second.finished);
  EXPECT_EQ(bench.times_tried["1,0"], 2);
  EXPECT_TRUE(std::holds_alternative<Timing>(database.find(kKey, "1,0").value()));
}

/// A machine on which one way takes longer than any search has time for. All ways are worth trying,
/// in an order in which it is the second. Keeps the order in which they are begun.
struct OneTakesLong {
  GridSpace space{3, {"0,0", "1,0", "2,0", "0,1", "1,1", "2,1", "0,2", "1,2", "2,2"}};
  std::string long_one = "1,0";
  bool is_over = false;  // the time of the search
  std::vector<std::string> order;
  FormulaBench bench{[this](const std::string& schedule) -> Measurement {
    order.push_back(schedule);
    if (schedule != long_one) return Timing{schedule == "0,0" ? 10.0 : 20.0, 0.1, 10};
    is_over = true;
    return Rejected{Rejected::Why::kInterrupted, "no time"};
  }};

  TuneResult search(TuningDatabase& database, TuneOptions options) {
    order.clear();
    is_over = false;
    options.stop = [this] { return is_over; };
    return tune(database, kKey, space, bench, options);
  }
};

TEST(Tuner, WhatWasInterruptedIsTriedAfterAllOthersByTheNextSearch) {
  for (const StrategyKind kind :
       {StrategyKind::kCostModel, StrategyKind::kLocalMoves, StrategyKind::kEvolution})
    for (const size_t batch : {size_t{1}, size_t{4}}) {
      TuningDatabase database = TuningDatabase::in_memory();
      const TuneOptions options{.strategy = kind, .batch = batch};
      OneTakesLong machine;
      machine.search(database, options);
      ASSERT_TRUE(machine.is_over);
      const TuneResult second = machine.search(database, options);
      EXPECT_EQ(machine.order.back(), "1,0") << to_string(kind);
      EXPECT_EQ(database.records(kKey).size(), 8U) << to_string(kind);
      EXPECT_FALSE(second.finished);
      EXPECT_EQ(second.interrupted, 1U);
      EXPECT_EQ(second.choice.rejected, 0U);
      EXPECT_EQ(second.choice.tried, 8U);
      // Nothing else is left, so it is the turn of this one again.
      machine.search(database, options);
      EXPECT_EQ(machine.order, (std::vector<std::string>{"0,0", "1,0"}));
      machine.long_one = "none";
      const TuneResult last = machine.search(database, options);
      EXPECT_TRUE(last.finished);
      EXPECT_EQ(last.interrupted, 0U);
      EXPECT_TRUE(std::holds_alternative<Timing>(database.find(kKey, "1,0").value()));
    }
}

TEST(Tuner, OfWhatWasInterruptedThatIsTriedFirstThatWasSoLeastOften) {
  TuningDatabase database = TuningDatabase::in_memory();
  database.note_interrupted(kKey, {"0,1", "1,0", "2,2"});
  database.note_interrupted(kKey, {"0,1", "2,2"});
  database.record(record("2,2", Timing{20, 1, 9, true}));  // disturbed: to be measured again
  database.note_interrupted(kKey, {"2,2"});
  OneTakesLong machine;
  machine.long_one = "none";
  EXPECT_FALSE(machine.search(database, {.retry_interrupted = false}).unreliable);
  EXPECT_EQ(std::ranges::count(machine.order, "1,0"), 0);
  machine.search(database, {});
  // One at a time, each beside the default.
  EXPECT_EQ(machine.order, (std::vector<std::string>{"0,0", "1,0", "0,0", "0,1", "0,0", "2,2"}));
  EXPECT_TRUE(machine.search(database, {}).finished);
}

TEST(Tuner, ADefaultThatWasInterruptedIsTriedFirstAllTheSame) {
  TuningDatabase database = TuningDatabase::in_memory();
  OneTakesLong machine;
  machine.long_one = "0,0";
  for (int run = 0; run < 2; ++run) {
    EXPECT_FALSE(machine.search(database, {.batch = 1}).finished);
    EXPECT_EQ(machine.order, std::vector<std::string>{"0,0"});
  }
  // However many others were interrupted.
  database.note_interrupted(kKey, {"0,1", "1,0"});
  machine.long_one = "none";
  EXPECT_TRUE(machine.search(database, {.most_trials = 1, .retry_interrupted = false}).finished);
  EXPECT_EQ(machine.order, std::vector<std::string>{"0,0"});
}

TEST(Tuner, EveryTrialIsToldOnceWithItsResult) {
  TuningDatabase database = TuningDatabase::in_memory();
  FormulaBench bench([](const std::string& schedule) -> Measurement {
    if (schedule == "1,0") return Rejected{Rejected::Why::kTimeout, "10 s"};
    return Timing{schedule == "0,0" ? 10.0 : 20.0, 0.1, 10};
  });
  std::vector<TuningRecord> told;
  const auto listen = [&](const TuningRecord& record) { told.push_back(record); };
  tune(database, kKey, GridSpace(2), bench, {.on_trial = listen});
  ASSERT_EQ(told.size(), 4U);
  for (const TuningRecord& record : told)
    EXPECT_EQ(database.find(kKey, record.schedule), record.result) << record.schedule;
  EXPECT_EQ(told.front().schedule, "0,0");

  told.clear();
  tune(database, kKey, GridSpace(2), bench, {.on_trial = listen});
  EXPECT_TRUE(told.empty());  // everything was known

  TuningDatabase other = TuningDatabase::in_memory();
  bench.disturbed = bench.batches + 3;  // told, although not kept
  tune(other, kKey, GridSpace(2), bench, {.keep_disturbed = false, .on_trial = listen});
  EXPECT_FALSE(told.empty());
  EXPECT_TRUE(other.records(kKey).empty());
}

TEST(Tuner, AnInterruptedSearchGoesOnAsIfItHadNotBeen) {
  const GridSpace space(10);
  TuningDatabase whole = TuningDatabase::in_memory();
  FormulaBench bench = FormulaBench::bowl(7, 2);
  tune(whole, kKey, space, bench, {.most_trials = 24, .batch = 4});

  TuningDatabase parts = TuningDatabase::in_memory();
  size_t measured = 0;
  for (int part = 0; part < 30; ++part) {
    FormulaBench again = FormulaBench::bowl(7, 2);
    int asked = 0;
    const TuneResult result =
        tune(parts, kKey, space, again,
             {.most_trials = 24, .batch = 4, .stop = [&] { return ++asked > 1; }});
    measured += result.measured;
  }
  const auto expected = whole.records(kKey);
  const auto actual = parts.records(kKey);
  EXPECT_EQ(measured, expected.size());
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t k = 0; k < actual.size(); ++k) {
    EXPECT_EQ(actual[k].schedule, expected[k].schedule);
    EXPECT_EQ(actual[k].result, expected[k].result);
  }
}

TEST(Tuner, OneDatabaseGivesOneChoiceInTwentyRuns) {
  TuningDatabase database = TuningDatabase::in_memory();
  FormulaBench bench = FormulaBench::bowl(4, 4);
  const TuneResult first =
      tune(database, kKey, GridSpace(8), bench, {.seed = 11, .most_trials = 20});
  for (int run = 0; run < 20; ++run) {
    FormulaBench other = FormulaBench::bowl(0, 0);  // a machine with other times is not asked
    const TuneResult again =
        tune(database, kKey, GridSpace(8), other, {.seed = 11, .most_trials = 20});
    EXPECT_EQ(again.choice, first.choice);
    EXPECT_EQ(again.measured, 0U);
    EXPECT_TRUE(again.finished);
  }
}

TEST(Tuner, TimesOfASlowHourAreComparedByTheDefaults) {
  TuningDatabase database = TuningDatabase::in_memory();
  const GridSpace space(10);
  FormulaBench bench = FormulaBench::bowl(6, 5);
  tune(database, kKey, space, bench, {.most_trials = 5, .batch = 5});
  FormulaBench slow = FormulaBench::bowl(6, 5);
  slow.slowness = 3;
  const TuneResult result = tune(database, kKey, space, slow, {.most_trials = 60});
  EXPECT_EQ(result.choice.schedule, "6,5");
  EXPECT_NEAR(result.choice.best_us, 10, 1e-9);
  EXPECT_EQ(result.choice.default_us, 71);
}

TEST(Tuner, ADisturbedBatchIsRepeatedAndWhatStaysDisturbedIsSaid) {
  TuningDatabase database = TuningDatabase::in_memory();
  FormulaBench once = FormulaBench::bowl(1, 1);
  once.disturbed = 1;
  EXPECT_FALSE(tune(database, kKey, GridSpace(2), once, {}).unreliable);
  TuningDatabase other = TuningDatabase::in_memory();
  FormulaBench always = FormulaBench::bowl(1, 1);
  always.disturbed = 1000;
  EXPECT_TRUE(tune(other, kKey, GridSpace(2), always, {}).unreliable);
}

TEST(Tuner, ADefaultThatFailsDoesNotEndTheSearch) {
  TuningDatabase database = TuningDatabase::in_memory();
  FormulaBench bench([](const std::string& schedule) -> Measurement {
    if (schedule == "0,0") return Rejected{Rejected::Why::kCompile, "no code"};
    const auto [x, y] = GridSpace::point(schedule);
    return Timing{9.0 - x - y, 0.1, 10};
  });
  const TuneResult result =
      tune(database, kKey, GridSpace(3, {"0,0", "1,1"}), bench, {.most_trials = 9});
  EXPECT_EQ(result.choice.schedule, "2,2");
  EXPECT_EQ(bench.times_tried["0,0"], 1);
}

/// Tells of what is rejected at once, as real ones do.
class TellingBench : public FormulaBench {
 public:
  using FormulaBench::FormulaBench;
  Tried try_out_telling(const std::vector<std::string>& schedules,
                        const OnRejected& on_rejected) override {
    Tried tried = try_out(schedules);
    for (size_t k = 0; k < schedules.size() && tells; ++k)
      if (const auto* why = std::get_if<Rejected>(&tried.results[k]))
        on_rejected(schedules[k], *why);
    return tried;
  }
  bool tells = true;
};

TEST(Tuner, WhatWasTimedIsNotRejectedUnlessItIsWrong) {
  using Why = Rejected::Why;
  for (const bool tells : {true, false})
    for (const Why why : {Why::kTimeout, Why::kInterrupted, Why::kResources, Why::kWrongResult,
                          Why::kCrash, Why::kOutOfBounds}) {
      TuningDatabase database = TuningDatabase::in_memory();
      database.record(record("0,0", Timing{10, 0.1, 9}));
      database.record(record("1,0", Timing{8, 0.1, 9, true}));  // to be measured again
      TellingBench bench([&](const std::string& schedule) -> Measurement {
        if (schedule == "0,0" || schedule == "1,0") return Rejected{why, "later"};
        return Timing{20, 0.1, 9};
      });
      bench.tells = tells;
      const TuneResult result = tune(database, kKey, GridSpace(2), bench, {});
      const bool is_wrong =
          why == Why::kWrongResult || why == Why::kCrash || why == Why::kOutOfBounds;
      EXPECT_EQ(result.choice.default_us, is_wrong ? 0 : 10) << to_string(why) << tells;
      for (const char* schedule : {"0,0", "1,0"})
        EXPECT_EQ(std::holds_alternative<Rejected>(*database.find(kKey, schedule)), is_wrong)
            << schedule << ", " << to_string(why) << tells;
      EXPECT_EQ(result.finished, is_wrong) << to_string(why) << tells;
    }
}

TEST(Tuner, AStopBeforeTheFirstBatchMeasuresNothing) {
  TuningDatabase database = TuningDatabase::in_memory();
  FormulaBench bench = FormulaBench::bowl(1, 1);
  const TuneResult result =
      tune(database, kKey, GridSpace(4), bench, {.stop = [] { return true; }});
  EXPECT_EQ(result.choice.schedule, "");
  EXPECT_EQ(result.measured, 0U);
  EXPECT_FALSE(result.finished);
  EXPECT_EQ(bench.batches, 0);
}

TEST(Tuner, ProgressTellsTheBestSoFar) {
  TuningDatabase database = TuningDatabase::in_memory();
  FormulaBench bench = FormulaBench::bowl(3, 3);
  std::vector<TuneProgress> reports;
  tune(database, kKey, GridSpace(4), bench,
       {.on_progress = [&](const TuneProgress& each) { reports.push_back(each); }});
  ASSERT_GT(reports.size(), 1U);
  for (size_t k = 1; k < reports.size(); ++k) {
    EXPECT_LE(reports[k].best_us, reports[k - 1].best_us);
    EXPECT_GT(reports[k].tried, reports[k - 1].tried);
  }
  EXPECT_EQ(reports.back().best_us, 10);
}

/// On a busy machine: times are turned upside down.
FormulaBench busy_bench() {
  FormulaBench busy([](const std::string& schedule) -> Measurement {
    const auto [x, y] = GridSpace::point(schedule);
    return Timing{1000.0 - 10 * x - 10 * y, 200, 5};
  });
  busy.disturbed = 1000;
  return busy;
}

TEST(Tuner, WhatWasDisturbedIsMeasuredAgainByTheNextSearch) {
  TuningDatabase database = TuningDatabase::in_memory();
  FormulaBench busy = busy_bench();
  const TuneResult first = tune(database, kKey, GridSpace(4), busy, {});
  EXPECT_TRUE(first.unreliable);
  EXPECT_FALSE(first.finished);
  for (const TuningRecord& each : database.records(kKey))
    EXPECT_TRUE(std::get<Timing>(each.result).disturbed);
  FormulaBench quiet = FormulaBench::bowl(1, 2);
  const TuneResult second = tune(database, kKey, GridSpace(4), quiet, {});
  EXPECT_GE(second.measured, first.measured - 1);  // the default runs along
  EXPECT_TRUE(second.finished);
  EXPECT_EQ(second.choice.schedule, "1,2");
  EXPECT_EQ(second.choice.best_us, 10);
  EXPECT_EQ(second.choice.default_us, 15);
  for (const TuningRecord& each : database.records(kKey))
    EXPECT_FALSE(std::get<Timing>(each.result).disturbed) << each.schedule;
  FormulaBench third = FormulaBench::bowl(1, 2);
  EXPECT_EQ(tune(database, kKey, GridSpace(4), third, {}).measured, 0U);
  EXPECT_EQ(third.batches, 0);
}

TEST(Tuner, WhatWasDisturbedIsNotMeasuredAgainAndAgainInOneSearch) {
  TuningDatabase database = TuningDatabase::in_memory();
  std::set<std::string> tried;
  FormulaBench busy = busy_bench();
  tune(database, kKey, GridSpace(3), busy, {.tried_now = &tried});
  const int batches = busy.batches;
  EXPECT_EQ(tune(database, kKey, GridSpace(3), busy, {.tried_now = &tried}).measured, 0U);
  EXPECT_EQ(busy.batches, batches);
  // A later search tries once more, and as few as it may.
  EXPECT_EQ(tune(database, kKey, GridSpace(3), busy, {.most_trials = 1}).batches, 1U);
}

TEST(Tuner, TimesOfSearchesThatBeginAKernelAtATimeAreParts) {
  // Another search, on a machine half as fast just then, begins and ends while this one measures
  // its first batch.
  TuningDatabase database = TuningDatabase::in_memory();
  const auto time_of = [](const std::string& schedule) {
    const auto [x, y] = GridSpace::point(schedule);
    return Timing{10.0 + x + 4 * y, 0.1, 9};
  };
  bool is_first = true;
  FormulaBench bench([&](const std::string& schedule) -> Measurement {
    if (std::exchange(is_first, false)) {
      FormulaBench other(time_of);
      other.slowness = 2;
      tune(database, kKey, GridSpace(4), other,
           {.strategy = StrategyKind::kRandom, .seed = 7, .most_trials = 9});
    }
    return time_of(schedule);
  });
  std::vector<TuningRecord> told;
  tune(database, kKey, GridSpace(4), bench,
       {.strategy = StrategyKind::kRandom,
        .most_trials = 16,
        .on_trial = [&](const TuningRecord& each) { told.push_back(each); }});
  const auto records = database.records(kKey);
  EXPECT_EQ(records.size(), 16U);
  for (const TuningRecord& each : records)
    EXPECT_DOUBLE_EQ(std::get<Timing>(each.result).median_us, 2 * time_of(each.schedule).median_us)
        << each.schedule;
  for (const TuningRecord& each : told)
    EXPECT_EQ(std::get<Timing>(each.result).median_us,
              std::get<Timing>(*database.find(kKey, each.schedule)).median_us)
        << each.schedule;
}

TEST(Tuner, WhatAnotherSearchRejectedMeanwhileStaysRejected) {
  TuningDatabase database = TuningDatabase::in_memory();
  FormulaBench bench([&](const std::string& schedule) -> Measurement {
    if (schedule != "0,0")
      database.record(record(schedule, Rejected{Rejected::Why::kWrongResult, "of another"}));
    return Timing{10, 0.1, 9};
  });
  EXPECT_EQ(tune(database, kKey, GridSpace(2), bench, {}).choice,
            (TunedChoice{"0,0", 10, 10, 3, 2}));
}

TEST(Tuner, TimesBesideADefaultThatWasDisturbedAreItsParts) {
  TuningDatabase database = TuningDatabase::in_memory();
  database.record(record("0,0", Timing{200, 1, 9, true}));
  database.record(record("1,0", Timing{100, 1, 9}));  // half of the default, in a quiet batch
  FormulaBench quiet([](const std::string& schedule) -> Measurement {
    return Timing{schedule == "0,0" ? 10.0 : 8.0, 0.1, 9};
  });
  const TuneResult result = tune(database, kKey, GridSpace(2), quiet, {});
  EXPECT_EQ(result.choice, (TunedChoice{"1,0", 5, 10, 4, 0}));
  EXPECT_EQ(quiet.times_tried["1,0"], 0);
}

}  // namespace
}  // namespace luminal::search
