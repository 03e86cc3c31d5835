// Searches in several processes at a time, and in processes that are killed.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>

#include "luminal/search/grid_space_for_tests.h"

namespace luminal::search {
namespace {

const TuningKey kKey{support::hash128("kernel"), "", "cpu", "version"};

class TunerProcesses : public testing::Test {
 protected:
  TunerProcesses() { std::filesystem::remove_all(directory_); }
  ~TunerProcesses() override { std::filesystem::remove_all(directory_); }

  /// Runs work in a child process and gives its id.
  static pid_t start(const std::function<void()>& work) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    work();
    ::_exit(0);
  }
  static int status_of(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return status;
  }

  TuneResult search(FormulaBench& bench, const TuneOptions& options = {.most_trials = 30}) const {
    std::filesystem::create_directories(directory_);
    TuningDatabase database(path_);
    return tune(database, kKey, GridSpace(10), bench, options);
  }

  const std::filesystem::path directory_ =
      std::filesystem::temp_directory_path() /
      fmt::format("luminal_tuner_{}_{}", ::getpid(),
                  testing::UnitTest::GetInstance()->current_test_info()->name());
  const std::string path_ = (directory_ / "tuning.sqlite").string();
};

/// Says at once what it rejects, and is killed while it times the rest.
class KilledBench : public FormulaBench {
 public:
  using FormulaBench::FormulaBench;
  Tried try_out_telling(const std::vector<std::string>& schedules,
                        const OnRejected& on_rejected) override {
    for (const std::string& each : schedules)
      if (each != "0,0") on_rejected(each, {Rejected::Why::kWrongResult, "planted"});
    if (schedules.size() > 1) ::raise(SIGKILL);
    return try_out(schedules);
  }
};

TEST_F(TunerProcesses, WhatAKilledSearchHasRejectedIsNotTriedAgain) {
  const pid_t child = start([&] {
    KilledBench bench([](const std::string&) { return Timing{10, 0.1, 9}; });
    search(bench, {.most_trials = 30, .batch = 2});
  });
  EXPECT_TRUE(WIFSIGNALED(status_of(child)));
  TuningDatabase database(path_);
  std::vector<std::string> rejected;
  for (const TuningRecord& record : database.records(kKey))
    if (std::holds_alternative<Rejected>(record.result)) rejected.push_back(record.schedule);
  ASSERT_EQ(rejected.size(), 2U);
  FormulaBench next = FormulaBench::bowl(7, 2);
  search(next);
  for (const std::string& each : rejected) EXPECT_EQ(next.times_tried[each], 0) << each;
}

TEST_F(TunerProcesses, AKilledSearchLosesTheBatchInFlightAndNothingElse) {
  const pid_t child = start([&] {
    int trials = 0;
    FormulaBench bench([&](const std::string& schedule) -> Measurement {
      if (++trials > 20) ::raise(SIGKILL);
      const auto [x, y] = GridSpace::point(schedule);
      return Timing{10.0 + std::pow(x - 7, 2) + std::pow(y - 2, 2), 0.01, 20};
    });
    search(bench, {.most_trials = 30, .batch = 4});
  });
  EXPECT_TRUE(WIFSIGNALED(status_of(child)));
  TuningDatabase database(path_);
  const size_t kept = database.records(kKey).size();
  EXPECT_GE(kept, 12U);  // of 20 trials some are the default, and 5 are the batch in flight
  FormulaBench rest = FormulaBench::bowl(7, 2);
  const TuneResult result = search(rest, {.most_trials = 30, .batch = 4});
  EXPECT_EQ(result.measured + kept, database.records(kKey).size());

  TuningDatabase whole = TuningDatabase::in_memory();
  FormulaBench bench = FormulaBench::bowl(7, 2);
  EXPECT_EQ(tune(whole, kKey, GridSpace(10), bench, {.most_trials = 30, .batch = 4}).choice,
            result.choice);
}

TEST_F(TunerProcesses, SearchesAtTheSameTimeShareOneDatabase) {
  std::filesystem::create_directories(directory_);
  std::vector<pid_t> children;
  for (const uint64_t seed : {1, 2, 3})
    children.push_back(start([&] {
      FormulaBench bench = FormulaBench::bowl(5, 5);
      const TuneResult result = search(bench, {.seed = seed, .most_trials = 60, .batch = 3});
      if (result.choice.schedule != "5,5") ::_exit(1);
    }));
  for (const pid_t child : children) EXPECT_EQ(status_of(child), 0);
  TuningDatabase database(path_);
  const auto records = database.records(kKey);
  EXPECT_GE(records.size(), 30U);
  for (const TuningRecord& record : records) {
    const auto [x, y] = GridSpace::point(record.schedule);
    EXPECT_NEAR(std::get<Timing>(record.result).median_us,
                10.0 + std::pow(x - 5, 2) + std::pow(y - 5, 2), 1e-9);
  }
}

}  // namespace
}  // namespace luminal::search
