// What becomes of measurements when the file fails they are kept in.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "luminal/search/tuning_database.h"
#include "luminal/support/log.h"

namespace luminal::search {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFull =
    "CREATE TRIGGER full BEFORE INSERT ON records BEGIN "
    "SELECT RAISE(FAIL, 'database or disk is full'); END";

const TuningKey kKey{{1, 7}, "S0=128", "cpu zen4 x2", "v1"};

TuningRecord timed(std::string schedule, double us) {
  return {kKey, std::move(schedule), Timing{us, us / 10, 9}, 100};
}

class TuningSessionTest : public testing::Test {
 protected:
  TuningSessionTest()
      : directory_(testing::TempDir() + "/luminal_session_" + std::to_string(::getpid()) + "_" +
                   testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    TuningDatabase database(path());
    database.add_kernel(kKey.kernel, "y = x", "copy");
    database.record(timed("a", 3));
  }
  ~TuningSessionTest() override { fs::remove_all(directory_); }

  std::string path() const { return directory_ + "/tuning.db"; }
  /// Schedules of the file, as another process sees them.
  size_t in_file() const { return TuningDatabase(path()).records(kKey).size(); }

  std::string directory_;
  std::vector<std::string> warnings_;
  support::ScopedLogSink capture_{[this](support::LogLevel level, std::string_view message) {
                                    if (level >= support::LogLevel::kWarn)
                                      warnings_.emplace_back(message);
                                  },
                                  support::LogLevel::kInfo};
};

TEST_F(TuningSessionTest, WithoutOneAFileThatFailsIsAnError) {
  TuningDatabase database(path());
  const SqliteConnection other(path());
  other.execute(kFull);
  EXPECT_THROW(database.record(timed("b", 2)), SqliteError);
  { const TuningSession over(database); }
  EXPECT_THROW(database.record(timed("b", 2)), SqliteError);
}

TEST_F(TuningSessionTest, AFullDiskIsToldOnceAndMemoryHasAllThatWasKnownAndIsFound) {
  TuningDatabase database(path());
  const SqliteConnection other(path());
  {
    const TuningSession session(database);
    database.record(timed("b", 2));
    EXPECT_EQ(in_file(), 2U);
    other.execute(kFull);
    database.record(timed("c", 1));
    database.record(timed("d", 4));
    database.remember(kKey, "a plan");
    database.note_interrupted(kKey, {"e"});
    EXPECT_EQ(database.records(kKey).size(), 4U);
    EXPECT_EQ(database.best(kKey), timed("c", 1));
    EXPECT_EQ(database.kernel_text(kKey.kernel), "y = x");
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_NE(warnings_[0].find("disk is full"), std::string::npos) << warnings_[0];
    EXPECT_NE(warnings_[0].find(path()), std::string::npos) << warnings_[0];
  }
  // Still full: it is said what that means, and this process goes on knowing it.
  EXPECT_EQ(warnings_.size(), 2U);
  EXPECT_EQ(database.best(kKey), timed("c", 1));
  EXPECT_EQ(in_file(), 2U);
  other.execute("DROP TRIGGER full");
  { const TuningSession later(database); }
  EXPECT_EQ(in_file(), 4U);
  EXPECT_EQ(TuningDatabase(path()).recall(kKey), "a plan");
  EXPECT_EQ(TuningDatabase(path()).interrupted(kKey), std::vector<std::string>{"e"});
  EXPECT_EQ(warnings_.size(), 2U);
}

TEST_F(TuningSessionTest, ALockThatIsGoneAtTheEndLosesNothing) {
  TuningDatabase database(path());
  const SqliteConnection other(path());
  {
    const TuningSession session(database);
    const TuningSession within(database);
    other.execute(kFull);
    database.record(timed("b", 2));
    other.execute("DROP TRIGGER full");
    database.record(timed("c", 1));
    EXPECT_EQ(in_file(), 1U);
  }
  EXPECT_EQ(in_file(), 3U);
  EXPECT_EQ(warnings_.size(), 1U);
  database.record(timed("d", 4));
  EXPECT_EQ(in_file(), 4U);
}

TEST_F(TuningSessionTest, OfAFileGoneBadWhatCanBeReadIsKept) {
  TuningDatabase database(path());
  const SqliteConnection other(path());
  const TuningSession session(database);
  other.execute("DROP TABLE plans");
  EXPECT_EQ(database.recall(kKey), std::nullopt);
  EXPECT_EQ(database.records(kKey).size(), 1U);
  other.execute("DROP TABLE records");
  database.record(timed("b", 2));
  EXPECT_EQ(database.records(kKey).size(), 2U);
  EXPECT_EQ(warnings_.size(), 1U);
}

}  // namespace
}  // namespace luminal::search
