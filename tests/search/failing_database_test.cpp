// Searches whose database fails on the way: the plan is found all the same.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "luminal/compiler/search_plan.h"
#include "luminal/support/log.h"
#include "tests/search/made_up_search.h"

namespace luminal::compiler {
namespace {

namespace fs = std::filesystem;

/// A search with a file as its database, to which something is done after some trials of kernels.
struct Disturbed {
  std::string path = testing::TempDir() + "/luminal_failing_" + std::to_string(::getpid()) + ".db";
  MadeUp times;
  std::vector<std::string> warnings;

  Disturbed() { remove(); }
  ~Disturbed() { remove(); }
  Disturbed(const Disturbed&) = delete;
  Disturbed& operator=(const Disturbed&) = delete;

  void remove() const {
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path + suffix);
  }

  SearchedPlan searched(int trials, const std::string& sql) {
    search::TuningDatabase database(path);
    const search::SqliteConnection other(path);
    const support::ScopedLogSink capture([this](support::LogLevel level, std::string_view message) {
      if (level >= support::LogLevel::kWarn) warnings.emplace_back(message);
    });
    const auto usual = times.kernel_time;
    times.kernel_time = [&](const search::KernelTask& task, const std::string& schedule) {
      if (times.kernel_trials == trials) other.execute(sql);
      return usual(task, schedule);
    };
    times.options.database = &database;
    return search_plan(Net().ir(), kPlain, times.options);
  }
};

std::string undisturbed_plan() {
  MadeUp times;
  return plan::to_string(search_plan(Net().ir(), kPlain, times.options).plan);
}

constexpr const char* kRefuse =
    "CREATE TRIGGER full BEFORE INSERT ON {} BEGIN "
    "SELECT RAISE(FAIL, 'database or disk is full'); END";

TEST(FailingDatabase, TheSearchFindsWhatItWouldHaveFoundAndWarnsOfIt) {
  for (const char* table : {"records", "kernels", "works", "plans"}) {
    for (const int trials : {1, 7}) {
      Disturbed search;
      const SearchedPlan found = search.searched(trials, fmt::format(fmt::runtime(kRefuse), table));
      EXPECT_EQ(plan::to_string(found.plan), undisturbed_plan()) << table << " after " << trials;
      EXPECT_GT(found.report.measured, 0U);
      // Once when it fails, and once at the end that it did not come back.
      ASSERT_EQ(search.warnings.size(), 2U) << table;
      EXPECT_NE(search.warnings[0].find("goes on in memory"), std::string::npos)
          << search.warnings[0];
    }
  }
}

TEST(FailingDatabase, TablesThatAreGoneDoNotEndASearch) {
  for (const char* sql : {"DROP TABLE records", "DROP TABLE works", "DROP TABLE plans",
                          "DROP TABLE interrupted", "DROP TABLE kernels; DROP TABLE records"}) {
    Disturbed search;
    const SearchedPlan found = search.searched(4, sql);
    EXPECT_GT(found.plan.steps.size(), 0U) << sql;
    EXPECT_GT(found.report.measured, 0U) << sql;
  }
}

}  // namespace
}  // namespace luminal::compiler
