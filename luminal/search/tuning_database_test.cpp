#include "luminal/search/tuning_database.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include "luminal/search/tuning_files_for_tests.h"

namespace luminal::search {
namespace {

namespace fs = std::filesystem;

class TuningDatabaseTest : public TuningFiles {};

TEST_F(TuningDatabaseTest, WhatIsKeptIsFoundAgainByAnotherProcess) {
  const TuningRecord good = timed(key(), "tile 8x32", 12.5);
  const TuningRecord bad{key(), "tile 14x32", Rejected{Rejected::Why::kCrash, "signal 11"}, 101};
  {
    TuningDatabase database(path());
    database.add_kernel(key().kernel, "y = x", "copy");
    database.record(good);
    database.record(bad);
  }
  const TuningDatabase database(path());
  EXPECT_EQ(database.find(key(), "tile 8x32"), good.result);
  EXPECT_EQ(database.find(key(), "tile 14x32"), bad.result);
  EXPECT_EQ(database.find(key(), "tile 6x64"), std::nullopt);
  EXPECT_EQ(database.find(key(7, "S0=64"), "tile 8x32"), std::nullopt);
  EXPECT_EQ(database.kernel_text(key().kernel), "y = x");
  EXPECT_EQ(database.kernel_text({9, 9}), std::nullopt);
  EXPECT_EQ(database.measured_kernels(key().device, key().compiler),
            std::set<support::Hash128>{key().kernel});
  EXPECT_TRUE(database.measured_kernels(key().device, "v2").empty());
  EXPECT_TRUE(database.measured_kernels("another", key().compiler).empty());
  EXPECT_EQ(database.records(key()), (std::vector<TuningRecord>{bad, good}));
}

TEST_F(TuningDatabaseTest, TheBestIsTheQuickestThatCounts) {
  TuningDatabase database = TuningDatabase::in_memory();
  EXPECT_EQ(database.best(key()), std::nullopt);
  database.record({key(), "a", Rejected{Rejected::Why::kWrongResult, "off by 3"}, 1});
  EXPECT_EQ(database.best(key()), std::nullopt);
  database.record(timed(key(), "c", 5));
  database.record(timed(key(), "b", 5));
  database.record(timed(key(), "d", 6));
  database.record(timed(key(8), "e", 1));
  EXPECT_EQ(database.best(key())->schedule, "b");
  database.record(timed(key(), "b", 7));  // measured again
  EXPECT_EQ(database.best(key())->schedule, "c");
}

TEST_F(TuningDatabaseTest, ListsKernelsWithWhatIsKnownOfThem) {
  TuningDatabase database = TuningDatabase::in_memory();
  database.add_kernel({1, 7}, "text", "softmax");
  database.record(timed(key(), "a", 5));
  database.record({key(), "b", Rejected{Rejected::Why::kTimeout, "2 s"}, 1});
  const std::vector<TunedKernel> kernels = database.kernels();
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].label, "softmax");
  EXPECT_EQ(kernels[0].records, 2);
  EXPECT_EQ(kernels[0].rejected, 1);
  EXPECT_EQ(kernels[0].best_us, 5);
}

TEST_F(TuningDatabaseTest, TextOfAnyKindIsKeptAsItIs) {
  TuningDatabase database = TuningDatabase::in_memory();
  const std::string odd = "it's \"odd\"; DROP TABLE records; \xc3\xa9\n";
  database.record(timed({{1, 2}, odd, odd, odd}, odd, 3));
  ASSERT_TRUE(database.best({{1, 2}, odd, odd, odd}));
  EXPECT_EQ(database.best({{1, 2}, odd, odd, odd})->schedule, odd);
}

TEST_F(TuningDatabaseTest, TimesThatCannotBeAreOurOwnFault) {
  TuningDatabase database = TuningDatabase::in_memory();
  EXPECT_THROW(database.record(timed(key(), "a", 0)), InternalError);
  EXPECT_THROW(database.record(timed(key(), "a", std::nan(""))), InternalError);
  EXPECT_TRUE(database.records(key()).empty());
}

TEST_F(TuningDatabaseTest, PrunesWhatFitsAllOfAFilterAndNothingWithoutOne) {
  TuningDatabase database = TuningDatabase::in_memory();
  TuningKey old = key(8);
  old.compiler = "v0";
  database.add_kernel(old.kernel, "old text", "old");
  database.record(timed(key(), "a", 5, 9, 100));
  database.record(timed(old, "a", 5, 9, 50));
  EXPECT_EQ(database.prune({}), 0);
  EXPECT_EQ(database.prune({.other_compiler_than = "v1", .measured_before = 50}), 0);
  EXPECT_EQ(database.prune({.device = "another"}), 0);
  EXPECT_EQ(database.prune({.other_compiler_than = "v1", .measured_before = 51}), 1);
  EXPECT_EQ(database.kernel_text(old.kernel), std::nullopt);
  EXPECT_EQ(database.kernels().size(), 1U);
  EXPECT_EQ(database.prune({.kernel = key().kernel}), 1);
  EXPECT_TRUE(database.kernels().empty());
}

TEST_F(TuningDatabaseTest, TimesOfAKernelGoTogetherWhenTheLastIsOld) {
  TuningDatabase database = TuningDatabase::in_memory();
  database.record(timed(key(), "default", 5, 9, 50));
  database.record(timed(key(), "tried later", 4, 9, 100));
  EXPECT_EQ(database.prune({.measured_before = 100}), 0);
  EXPECT_TRUE(database.find(key(), "default").has_value());
  EXPECT_EQ(database.prune({.measured_before = 101}), 2);
}

TEST_F(TuningDatabaseTest, ResultsOfSearchesAreKeptReplacedMergedAndPruned) {
  TuningDatabase database(path());
  EXPECT_EQ(database.recall(key()), std::nullopt);
  database.remember(key(), "first");
  database.remember(key(), "second");
  database.remember(key(8), "");
  EXPECT_EQ(database.recall(key()), "second");
  EXPECT_EQ(database.recall(key(8)), "");
  EXPECT_EQ(database.recall(key(7, "S0=64")), std::nullopt);

  SqliteConnection(path()).execute("UPDATE plans SET searched_at = 1000 WHERE result = 'second'");
  TuningDatabase other(path("other.db"));
  other.remember(key(), "of another");
  other.remember(key(9), "new");
  SqliteConnection(path("other.db")).execute("UPDATE plans SET searched_at = 999");
  database.merge_from(other);
  EXPECT_EQ(database.recall(key()), "second");
  EXPECT_EQ(database.recall(key(9)), "new");
  SqliteConnection(path("other.db")).execute("UPDATE plans SET searched_at = 1001");
  database.merge_from(other);
  EXPECT_EQ(database.recall(key()), "of another");

  database.prune({.other_compiler_than = "v1"});
  database.prune({.device = "another"});
  EXPECT_EQ(database.recall(key()), "of another");
  database.prune({.measured_before = 1002});
  EXPECT_EQ(database.recall(key()), std::nullopt);
  EXPECT_EQ(database.recall(key(8)), "");
  database.prune({.kernel = key().kernel});
  EXPECT_EQ(database.recall(key(8)), std::nullopt);
}

TEST_F(TuningDatabaseTest, AFileOfTheFirstVersionGetsWhatItLacks) {
  const TuningRecord good = timed(key(), "tile 8x32", 12.5);
  {
    TuningDatabase database(path());
    database.record(good);
  }
  SqliteConnection(path()).execute(
      "ALTER TABLE records DROP COLUMN disturbed; "
      "DROP TABLE plans; DROP TABLE works; DROP TABLE interrupted; PRAGMA user_version = 1");
  for (int run = 0; run < 2; ++run) {
    TuningDatabase database(path());
    EXPECT_EQ(database.find(key(), "tile 8x32"), good.result);
    if (run == 0) database.remember(key(), "result");
    EXPECT_EQ(database.recall(key()), "result");
  }
}

TEST_F(TuningDatabaseTest, AFileOfTheSecondVersionGetsWhatItLacks) {
  {
    TuningDatabase database(path());
    database.remember(key(), "result");
  }
  SqliteConnection(path()).execute(
      "ALTER TABLE records DROP COLUMN disturbed; "
      "DROP TABLE works; DROP TABLE interrupted; PRAGMA user_version = 2");
  TuningDatabase database(path());
  EXPECT_EQ(database.recall(key()), "result");
  database.note_work(key(), "tile", "work");
  database.record(timed(key(), "tile 8x32", 12.5));
  ASSERT_EQ(database.timed_works(key().device).size(), 1U);
  EXPECT_EQ(database.timed_works(key().device)[0].work, "work");
  EXPECT_EQ(database.timed_works(key().device)[0].standard, "tile");
  // Another file gets it by a merge.
  TuningDatabase other(path("other.db"));
  other.merge_from(database);
  EXPECT_EQ(other.timed_works(key().device).size(), 1U);
}

TEST_F(TuningDatabaseTest, AFileOfTheFourthVersionGetsWhatItLacksAndCanBeReadWithoutIt) {
  const TuningRecord good = timed(key(), "tile 8x32", 12.5);
  TuningDatabase(path()).record(good);
  SqliteConnection(path()).execute("DROP TABLE interrupted; PRAGMA user_version = 4");
  {
    const TuningDatabase database(path(), Access::kRead);
    EXPECT_TRUE(database.interrupted(key()).empty());
    EXPECT_EQ(database.records(key()), std::vector<TuningRecord>{good});
    TuningDatabase other(path("other.db"));
    EXPECT_EQ(other.merge_from(database).added, 1);
  }
  EXPECT_EQ(SqliteConnection(path(), true).number("PRAGMA user_version"), 4);
  TuningDatabase database(path());
  EXPECT_EQ(database.records(key()), std::vector<TuningRecord>{good});
  database.note_interrupted(key(), {"a"});
  EXPECT_EQ(TuningDatabase(path()).interrupted(key()), std::vector<std::string>{"a"});
}

TEST_F(TuningDatabaseTest, WhatWasInterruptedIsNotedAndIsNoMeasurement) {
  TuningDatabase database(path());
  database.note_interrupted(key(), {});
  database.note_interrupted(key(), {"a", "b", "c"});
  database.note_interrupted(key(), {"a", "c"});
  database.note_interrupted(key(), {"a"});
  database.note_interrupted(key(8), {"d"});
  using Schedules = std::vector<std::string>;
  EXPECT_EQ(TuningDatabase(path()).interrupted(key()), (Schedules{"b", "c", "a"}));
  EXPECT_TRUE(database.records(key()).empty());
  EXPECT_TRUE(database.kernels().empty());
  EXPECT_EQ(database.find(key(), "a"), std::nullopt);
  EXPECT_TRUE(database.measured_kernels(key().device, key().compiler).empty());
  // Until more is known. A time that was disturbed is not more.
  database.record(timed(key(), "a", 5));
  database.record({key(), "b", Rejected{Rejected::Why::kCrash, "x"}, 1});
  TuningRecord disturbed = timed(key(), "c", 5);
  std::get<Timing>(disturbed.result).disturbed = true;
  database.record(disturbed);
  EXPECT_EQ(database.interrupted(key()), Schedules{"c"});
  // It goes with all else that is known of a kernel.
  database.prune({.kernel = key().kernel});
  EXPECT_TRUE(database.interrupted(key()).empty());
  EXPECT_EQ(SqliteConnection(path()).number("SELECT count(*) FROM interrupted"), 0);
}

/// Whether something is so for a user who may write nothing that others own, as root may.
bool holds_for_nobody(const std::function<bool()>& condition) {
  constexpr id_t kNobody = 65534;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setegid(kNobody) != 0 || ::seteuid(kNobody) != 0)) ::_exit(2);
    try {
      ::_exit(condition() ? 0 : 1);
    } catch (const std::exception& error) {
      std::fputs(error.what(), stderr);
      ::_exit(1);
    }
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

TEST_F(TuningDatabaseTest, AFileAndAFolderThatMayNotBeWrittenAreRead) {
  if (!holds_for_nobody([] { return true; })) GTEST_SKIP() << "root cannot become somebody else";
  const TuningRecord good = timed(key(), "tile 8x32", 12.5);
  TuningDatabase(path()).record(good);
  const auto reads = [&] {
    return TuningDatabase(path(), Access::kRead).find(key(), "tile 8x32") == good.result;
  };
  const auto writes = [&] {
    return message_of([&] { TuningDatabase(path()).record(good); }) == "nothing was thrown";
  };
  fs::permissions(path(), fs::perms(0444));
  fs::permissions(directory_, fs::perms(0777));
  EXPECT_TRUE(holds_for_nobody(reads)) << "a file in a folder of one's own";
  EXPECT_FALSE(holds_for_nobody(writes));
  fs::permissions(directory_, fs::perms(0555));
  EXPECT_TRUE(holds_for_nobody(reads)) << "a disk that is read-only";
  // Of an older version, and with a name that is no part of an address.
  fs::permissions(directory_, fs::perms(0777));
  fs::copy_file(path(), path("50%?#.db"));
  SqliteConnection(path("50%?#.db"))
      .execute(
          "ALTER TABLE records DROP COLUMN disturbed; "
          "DROP TABLE works; DROP TABLE interrupted; PRAGMA user_version = 2");
  fs::permissions(path("50%?#.db"), fs::perms(0444));
  fs::permissions(directory_, fs::perms(0555));
  EXPECT_TRUE(holds_for_nobody([&] {
    const TuningDatabase database(path("50%?#.db"), Access::kRead);
    return database.kernels().size() == 1 && database.timed_works(key().device).empty();
  }));
  fs::permissions(directory_, fs::perms(0777));
}

TEST_F(TuningDatabaseTest, ASearchReadsAFileThatMayNotBeWrittenAndGoesOnInMemory) {
  if (!holds_for_nobody([] { return true; })) GTEST_SKIP() << "root cannot become somebody else";
  TuningDatabase(path()).record(timed(key(), "a", 5));
  fs::permissions(path(), fs::perms(0444));
  const auto searches = [&](TuningDatabase database) {
    const TuningSession session(database);
    database.record(timed(key(), "b", 1));
    return database.records(key()).size() == 2 && database.path() == path();
  };
  for (const fs::perms folder : {fs::perms(0777), fs::perms(0555)}) {
    fs::permissions(directory_, folder);
    EXPECT_TRUE(holds_for_nobody(
        [&] { return searches(TuningDatabase::open_to_search(path())) && log_.size() == 1; }));
    EXPECT_TRUE(holds_for_nobody(
        [&] { return searches(TuningDatabase::open_or_replace(path())) && log_.size() == 1; }));
    EXPECT_NE(message_of([&] { TuningDatabase::open_to_search(directory_ + "/none/x.db"); }),
              "nothing was thrown");
  }
  fs::permissions(directory_, fs::perms(0777));
  EXPECT_EQ(TuningDatabase(path()).records(key()).size(), 1U);
}

TEST_F(TuningDatabaseTest, ReadingLeavesTheFileAsItIs) {
  TuningDatabase(path()).record(timed(key(), "a", 5));
  SqliteConnection(path()).execute(
      "ALTER TABLE records DROP COLUMN disturbed; "
      "DROP TABLE plans; DROP TABLE works; DROP TABLE interrupted; PRAGMA user_version = 1");
  std::ofstream(path("empty.db")).flush();
  const TuningDatabase database(path(), Access::kRead), empty(path("empty.db"), Access::kRead);
  EXPECT_EQ(database.kernels().size(), 1U);
  EXPECT_EQ(database.recall(key()), std::nullopt);
  EXPECT_TRUE(empty.kernels().empty());
  EXPECT_EQ(fs::file_size(path("empty.db")), 0U);
  EXPECT_EQ(SqliteConnection(path(), true).number("PRAGMA user_version"), 1);
  EXPECT_NE(message_of([&] {
              SqliteConnection(path(), true).execute("DELETE FROM records");
            }).find("readonly"),
            std::string::npos);
  // What another file lacks is nothing to take over.
  TuningDatabase all(path("all.db"));
  EXPECT_EQ(all.merge_from(database).added, 1);
  EXPECT_EQ(all.merge_from(empty).added, 0);
}

TEST_F(TuningDatabaseTest, RefusesFilesItMustNotRead) {
  std::ofstream(path("text.db")) << std::string(5000, 'x');
  EXPECT_NE(message_of([&] {
              TuningDatabase database(path("text.db"));
            }).find("is damaged or no database (file is not a database)"),
            std::string::npos);
  SqliteConnection(path("other.db")).execute("CREATE TABLE songs (name TEXT)");
  EXPECT_NE(message_of([&] {
              TuningDatabase database(path("other.db"));
            }).find("belongs to another program"),
            std::string::npos);
  { const TuningDatabase database(path("later.db")); }
  SqliteConnection(path("later.db")).execute("PRAGMA user_version = 99");
  EXPECT_NE(message_of([&] { TuningDatabase database(path("later.db")); }).find("has version 99"),
            std::string::npos);
  TuningDatabase database(path());
  EXPECT_NE(message_of([&] {
              TuningDatabase none(path("none.db"), Access::kRead);
            }).find("unable to open"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(path("none.db")));
  EXPECT_NE(message_of([&] { database.export_to(path("text.db")); }).find("is there already"),
            std::string::npos);
}

TEST_F(TuningDatabaseTest, ADamagedFileIsSetAsideAndWorkGoesOn) {
  std::ofstream(path()) << std::string(5000, 'x');
  {
    TuningDatabase database = TuningDatabase::open_or_replace(path());
    database.record(timed(key(), "a", 5));
  }
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_NE(log_[0].find("was moved to"), std::string::npos);
  EXPECT_TRUE(fs::exists(path() + ".damaged"));
  EXPECT_TRUE(TuningDatabase(path()).best(key()));
}

TEST_F(TuningDatabaseTest, WhereNothingCanBeKeptMemoryServes) {
  TuningDatabase database = TuningDatabase::open_or_replace("/proc/nowhere/tuning.db");
  database.record(timed(key(), "a", 5));
  EXPECT_TRUE(database.best(key()));
  ASSERT_EQ(log_.size(), 1U);
  EXPECT_NE(log_[0].find("in memory only"), std::string::npos);
}

TEST_F(TuningDatabaseTest, AFileDamagedAnywhereNeverCrashesOrInventsTimes) {
  {
    TuningDatabase database(path());
    for (int k = 0; k < 200; ++k) database.record(timed(key(k), "a", 5));
    database.export_to(path("whole.db"));
  }
  std::ifstream file(path("whole.db"), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    std::string bytes = whole;
    if (round % 3 == 0) bytes.resize(random() % bytes.size());
    for (int k = 0; k < 40 && !bytes.empty(); ++k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    fs::remove_all(path("broken.db"));
    std::ofstream(path("broken.db"), std::ios::binary) << bytes;
    TuningDatabase database = TuningDatabase::open_or_replace(path("broken.db"));
    try {
      for (int k = 0; k < 200; ++k) database.best(key(k));
    } catch (const SqliteError&) {
      continue;  // damage that shows only when it is read
    }
  }
}

TEST_F(TuningDatabaseTest, ProcessesAndThreadsWriteAtTheSameTime) {
  constexpr int kWriters = 4;
  constexpr int kEach = 50;
  { const TuningDatabase database(path()); }
  std::vector<pid_t> children;
  for (int writer = 0; writer < kWriters; ++writer) {
    const pid_t child = ::fork();
    if (child == 0) {
      TuningDatabase database(path());
      for (int k = 0; k < kEach; ++k)
        database.record(timed(key(writer), "s" + std::to_string(k), 1 + k));
      ::_exit(0);
    }
    children.push_back(child);
  }
  TuningDatabase database(path());
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 2; ++writer)
    threads.emplace_back([&, writer] {
      for (int k = 0; k < kEach; ++k)
        database.record(timed(key(100 + writer), "s" + std::to_string(k), 1 + k));
    });
  for (std::thread& thread : threads) thread.join();
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (const uint64_t writer : {0, 1, 2, 3, 100, 101})
    EXPECT_EQ(database.records(key(writer)).size(), size_t{kEach}) << writer;
}

TEST_F(TuningDatabaseTest, AKilledWriterLosesAtMostTheMeasurementInFlight) {
  { const TuningDatabase database(path()); }
  for (int round = 0; round < 5; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(::pipe(pipe_ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      TuningDatabase database(path());
      for (int k = 0;; ++k) {
        database.record(timed(key(round), "s" + std::to_string(k), 1));
        if (::write(pipe_ends[1], "x", 1) != 1) ::_exit(1);
      }
    }
    ::close(pipe_ends[1]);
    char done = 0;
    int reported = 0;
    while (reported < 20 && ::read(pipe_ends[0], &done, 1) == 1) ++reported;
    ::kill(child, SIGKILL);
    while (::read(pipe_ends[0], &done, 1) == 1) ++reported;
    ::close(pipe_ends[0]);
    ::waitpid(child, nullptr, 0);
    const auto kept = static_cast<int>(TuningDatabase(path()).records(key(round)).size());
    EXPECT_GE(kept, reported);
    EXPECT_LE(kept, reported + 1);
  }
}

/// Some processes that open a file at the same time and keep three measurements each.
void open_at_once(const std::string& path, int processes, const std::vector<std::string>& log) {
  std::array<int, 2> gate{};
  ASSERT_EQ(::pipe(gate.data()), 0);
  std::vector<pid_t> children;
  for (int number = 0; number < processes; ++number) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(gate[1]);
      char none = 0;
      [[maybe_unused]] const auto opened = ::read(gate[0], &none, 1);  // until all are there
      try {
        TuningDatabase database = TuningDatabase::open_or_replace(path);
        for (int k = 0; k < 3; ++k)
          database.record(timed(key(), fmt::format("{} {}", number, k), 1));
        if (database.path() == path) ::_exit(0);
        for (const std::string& line : log) std::fputs((line + "\n").c_str(), stderr);
        ::_exit(1);
      } catch (const std::exception& error) {
        std::fputs(error.what(), stderr);
        ::_exit(1);
      }
    }
    children.push_back(child);
  }
  ::close(gate[0]);
  ::close(gate[1]);
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(TuningDatabaseTest, ProcessesThatMakeAFileAtTheSameTimeLoseNothing) {
  for (int round = 0; round < 30; ++round) {
    const std::string file = path(fmt::format("new{}.db", round));
    open_at_once(file, 6, log_);
    ASSERT_EQ(TuningDatabase(file).records(key()).size(), 18U) << "round " << round;
  }
}

TEST_F(TuningDatabaseTest, ProcessesThatMeetADamagedFileReplaceItOnce) {
  for (int round = 0; round < 30; ++round) {
    const std::string file = path(fmt::format("bad{}.db", round));
    std::ofstream(file) << std::string(8192, 'x');
    open_at_once(file, 6, log_);
    ASSERT_EQ(TuningDatabase(file).records(key()).size(), 18U) << "round " << round;
    EXPECT_TRUE(fs::exists(file + ".damaged"));
    EXPECT_FALSE(fs::exists(file + ".damaged2"));
  }
}

}  // namespace
}  // namespace luminal::search
