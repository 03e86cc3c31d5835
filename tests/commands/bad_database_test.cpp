// Databases of measurements that are damaged, may only be read, or do not hold what is asked for.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "commands.h"
#include "luminal/cli/command_line.h"
#include "luminal/search/tuning_database.h"
#include "luminal/support/file.h"

namespace luminal::commands {
namespace {

namespace fs = std::filesystem;

class BadDatabase : public testing::Test {
 protected:
  Folder folder_;
};

TEST_F(BadDatabase, ADamagedDatabaseIsNamedWithTheRemedy) {
  support::write_file_atomic(folder_.file("tuning.db"), std::string(8192, 'x'));
  for (const char* command : {"list", "show k", "prune --all"}) {
    std::vector<std::string> line = words(std::string("tuning ") + command);
    line.insert(line.end(), {"--database", folder_.file("tuning.db")});
    expect_failure(line, folder_.file("tuning.db") + " is damaged or no database");
    expect_failure(line, "move it away or name another file");
    EXPECT_EQ(say(line).err.find("failed with code"), std::string::npos);
  }
}

TEST_F(BadDatabase, AFolderIsNoDatabase) {
  for (const char* line : {"tuning list", "tuning prune --all", "explain softmax --no-times",
                           "viz softmax --no-run", "compile softmax -o p.plan --search 0"}) {
    std::vector<std::string> asked = words(line);
    asked.insert(asked.end(), {"--database", folder_.path()});
    expect_failure(asked, folder_.path() + " is a folder; name a file");
  }
}

TEST_F(BadDatabase, TheFirstSearchOfAMachineMakesItsFolder) {
  const std::string output = " -o " + folder_.file("out");
  for (const std::string& line :
       {"compile softmax --search 0" + output, "viz softmax --no-run --search 0" + output,
        std::string("explain softmax --no-times --search 0")}) {
    const std::string fresh = folder_.file("fresh");
    const Said said = shell("-u LUMINAL_TUNING_DB LUMINAL_CACHE_DIR=" + fresh + "/cache", line);
    EXPECT_EQ(said.code, cli::kDone) << said.out;
    EXPECT_TRUE(fs::exists(fresh + "/cache/tuning.db")) << line;
    fs::remove_all(fresh);
    support::write_file_atomic(fresh, "a file");
    const Said refused = shell("-u LUMINAL_TUNING_DB LUMINAL_CACHE_DIR=" + fresh, line);
    EXPECT_EQ(refused.code, cli::kFailed);
    EXPECT_TRUE(has(refused.out, ": no folder for " + fresh + "/tuning.db: \"" + fresh +
                                     "\": Not a directory; --database FILE names another file"));
    fs::remove(fresh);
  }
}

TEST_F(BadDatabase, AMergeThatFailsLeavesNothingBehind) {
  support::write_file_atomic(folder_.file("text.db"), std::string(8192, 'x'));
  expect_failure(
      {"tuning", "merge", folder_.file("text.db"), "--database", folder_.file("deep/new.db")},
      folder_.file("text.db") + " is damaged or no database");
  EXPECT_FALSE(fs::exists(folder_.file("deep")));
}

/// A database with one measurement.
void write_database(const std::string& file) {
  search::TuningDatabase database(file);
  database.add_kernel({1, 7}, "the text", "softmax");
  database.record({{{1, 7}, "", "cpu zen4 x2", "v1"}, "tile 8", search::Timing{5, 1, 9}, 100});
}

TEST_F(BadDatabase, WhatIsToBePrunedMustBeThere) {
  const std::string file = folder_.file("tuning.db");
  write_database(file);
  expect_usage({"tuning", "prune", "--device", "zzz", "--database", file},
               "tuning prune: --device zzz: nothing of " + file +
                   " was measured on it; its devices are 'cpu zen4 x2'");
  expect_usage({"tuning", "model", "--device", "zzz", "--database", file},
               "tuning model: --device zzz: nothing of");
  expect_usage({"tuning", "prune", "--kernel", "zzz", "--database", file},
               "tuning prune: no kernel of " + file + " is called 'zzz'");
  expect_usage({"tuning", "prune", "--other-compiler-than", "v2", "--database", file},
               "tuning prune: --other-compiler-than v2: nothing of " + file +
                   " is of that version, so that everything would go; its versions are 'v1'");
  EXPECT_EQ(say({"tuning", "prune", "--other-compiler-than", "v1", "--database", file}).out,
            "0 measurements removed\n");
  EXPECT_TRUE(has(say({"tuning", "list", "--database", file}).out, "1 kernels in"));
  const Said pruned = say({"tuning", "prune", "--device", "cpu zen4 x2", "--database", file});
  EXPECT_EQ(pruned.out, "1 measurements removed\n") << pruned.err;
  expect_usage({"tuning", "prune", "--device", "zzz", "--database", file},
               "it holds no measurements");
}

TEST_F(BadDatabase, AnExportThatCannotBeWrittenIsNamed) {
  write_database(folder_.file("tuning.db"));
  expect_failure({"tuning", "export", "/proc/x.db", "--database", folder_.file("tuning.db")},
                 "tuning export: \"/proc/x.db\": No such file or directory");
}

/// What the program below ends with where root is nobody outside of its container.
constexpr int kCannotBeNobody = 127;

/// Says a line as a user who may write nothing that others own, as root may.
Said say_as_nobody(const std::vector<std::string>& line) {
  constexpr id_t kNobody = 65534;
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setegid(kNobody) != 0 || ::seteuid(kNobody) != 0))
      ::_exit(kCannotBeNobody);
    const Said said = say(line);
    const std::string text = said.out + said.err;
    ::_exit(::write(ends[1], text.data(), text.size()) < 0 ? 126 : said.code);
  }
  ::close(ends[1]);
  Said said;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    said.out.append(buffer.data(), static_cast<size_t>(got));
  ::close(ends[0]);
  int status = -1;
  ::waitpid(child, &status, 0);
  said.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return said;
}

TEST_F(BadDatabase, ADatabaseThatMayOnlyBeReadIsRead) {
  if (say_as_nobody({"--help"}).code == kCannotBeNobody)
    GTEST_SKIP() << "root cannot become somebody else";
  const std::string file = folder_.file("tuning.db"), copy = folder_.file("others/copy.db");
  write_database(file);
  fs::create_directory(folder_.file("others"));
  fs::permissions(folder_.file("others"), fs::perms::all);
  fs::permissions(file, fs::perms(0444));
  for (const fs::perms folder : {fs::perms::all, fs::perms(0555)}) {
    fs::permissions(folder_.path(), folder);
    for (const char* line : {"list", "list --json", "show softmax", "model"}) {
      std::vector<std::string> asked = words(std::string("tuning ") + line);
      asked.insert(asked.end(), {"--database", file});
      const Said said = say_as_nobody(asked);
      EXPECT_EQ(said.code, cli::kDone) << line << "\n" << said.out;
      EXPECT_TRUE(has(said.out, std::string(line) == "model" ? "no kernel of" : "softmax"));
    }
    const Said exported = say_as_nobody({"tuning", "export", copy, "--database", file});
    EXPECT_EQ(exported.out, "1 kernels written to " + copy + "\n");
    const Said pruned = say_as_nobody({"tuning", "prune", "--all", "--database", file});
    EXPECT_EQ(pruned.code, cli::kFailed);
    EXPECT_TRUE(has(pruned.out, file + " cannot be used (attempt to write a readonly database)"));
    fs::remove(copy);
  }
}

}  // namespace
}  // namespace luminal::commands
