#include "luminal/support/file_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "luminal/support/file.h"
#include "luminal/support/log.h"
#include "luminal/support/text.h"

namespace luminal::support {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kHeader = 56;

class FileCacheTest : public testing::Test {
 protected:
  FileCacheTest()
      : directory_(testing::TempDir() + "/luminal_cache_" + std::to_string(::getpid())) {
    fs::remove_all(directory_);
  }
  ~FileCacheTest() override { fs::remove_all(directory_); }

  FileCacheOptions options(std::uint64_t max_bytes = 1 << 20, std::uint32_t version = 1) const {
    return {.directory = directory_, .max_bytes = max_bytes, .version = version};
  }
  std::string path_of(std::string_view key) const {
    const std::string digits = to_hex(FileCache::key_of(key));
    return directory_ + "/" + digits.substr(0, 2) + "/" + digits + ".entry";
  }
  /// Makes an entry look as if it was last used that many seconds ago.
  void age(std::string_view key, int seconds) const {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    now.tv_sec -= seconds;
    const timespec times[2] = {now, now};
    ASSERT_EQ(::utimensat(AT_FDCWD, path_of(key).c_str(), times, 0), 0);
  }

  std::string directory_;
  std::vector<std::string> log_;
  ScopedLogSink capture_{[this](LogLevel level, std::string_view message) {
                           if (level >= LogLevel::kWarn) log_.emplace_back(message);
                         },
                         LogLevel::kInfo};
};

/// Writes a file the plain way: syncing hundreds of damaged files to disk would only take time.
void write_plainly(const std::string& path, std::string_view contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

/// Runs a function in a child process; true if it returned true.
template <typename Function>
pid_t in_child(Function function) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  bool good = false;
  try {
    good = function();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "child: %s\n", error.what());
  }
  ::_exit(good ? 0 : 1);
}

bool succeeded(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(FileCacheTest, WhatIsPutIsGot) {
  FileCache cache(options());
  EXPECT_EQ(cache.get("key"), std::nullopt);
  for (const std::string& bytes : {std::string(), std::string("value"), std::string("\0\xff\n", 3),
                                   std::string(100000, 'x')}) {
    EXPECT_TRUE(cache.put("key", bytes));
    EXPECT_EQ(cache.get("key"), bytes);
  }
  EXPECT_EQ(cache.get("other"), std::nullopt);
  EXPECT_TRUE(log_.empty());
}

TEST_F(FileCacheTest, AnotherCacheObjectFindsTheEntries) {
  FileCache(options()).put(Hash128{1, 2}, "value");
  EXPECT_EQ(FileCache(options()).get(Hash128{1, 2}), "value");
  EXPECT_EQ(FileCache(options()).get(Hash128{2, 1}), std::nullopt);
}

TEST_F(FileCacheTest, EntriesOfAnotherVersionAreMissesAndGo) {
  FileCache(options(1 << 20, 1)).put("key", "old meaning");
  EXPECT_EQ(FileCache(options(1 << 20, 2)).get("key"), std::nullopt);
  EXPECT_FALSE(fs::exists(path_of("key")));
  EXPECT_TRUE(log_.empty()) << "an upgrade is nothing to warn about: " << log_[0];
}

TEST_F(FileCacheTest, EntriesOfAnotherFileFormatAreMissesAndGo) {
  FileCache cache(options());
  cache.put("key", "value");
  std::string file = read_file(path_of("key"));
  file[8] = 77;
  write_plainly(path_of("key"), file);
  EXPECT_EQ(cache.get("key"), std::nullopt);
  EXPECT_FALSE(fs::exists(path_of("key")));
}

TEST_F(FileCacheTest, EveryTruncationIsAMissAndIsRemoved) {
  FileCache cache(options());
  cache.put("key", "a value of some length");
  const std::string whole = read_file(path_of("key"));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_plainly(path_of("key"), whole.substr(0, length));
    ASSERT_EQ(cache.get("key"), std::nullopt) << length;
    ASSERT_FALSE(fs::exists(path_of("key"))) << length;
  }
  EXPECT_EQ(log_.size(), whole.size());
  EXPECT_NE(log_[0].find("is damaged; it is removed"), std::string::npos) << log_[0];
  EXPECT_TRUE(cache.put("key", "fresh"));
  EXPECT_EQ(cache.get("key"), "fresh");
}

TEST_F(FileCacheTest, EveryFlippedBitIsAMissAndIsRemoved) {
  FileCache cache(options());
  cache.put("key", "a value");
  const std::string whole = read_file(path_of("key"));
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    write_plainly(path_of("key"), damaged);
    ASSERT_EQ(cache.get("key"), std::nullopt) << bit;
    ASSERT_FALSE(fs::exists(path_of("key"))) << bit;
  }
}

TEST_F(FileCacheTest, TrailingGarbageAndMisplacedEntriesAreMisses) {
  FileCache cache(options());
  cache.put("key", "value");
  const std::string whole = read_file(path_of("key"));
  write_plainly(path_of("key"), whole + "x");
  EXPECT_EQ(cache.get("key"), std::nullopt);
  cache.put("other", "value");
  write_plainly(path_of("other"), whole);
  EXPECT_EQ(cache.get("other"), std::nullopt) << "the header names another key";
}

TEST_F(FileCacheTest, ADirectoryInPlaceOfAnEntryIsAMiss) {
  FileCache cache(options());
  fs::create_directories(path_of("key"));
  EXPECT_EQ(cache.get("key"), std::nullopt);
  EXPECT_FALSE(cache.put("key", "value"));
  EXPECT_EQ(log_.size(), 2u);
}

TEST_F(FileCacheTest, ListsSizesAndRemoves) {
  FileCache cache(options());
  cache.put("a", "1");
  cache.put("b", "22");
  cache.put("c", "333");
  age("a", 10);
  age("b", 30);
  age("c", 20);
  const std::vector<FileCache::Entry> entries = cache.list();
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].key, FileCache::key_of("b"));
  EXPECT_EQ(entries[1].key, FileCache::key_of("c"));
  EXPECT_EQ(entries[2].key, FileCache::key_of("a"));
  EXPECT_EQ(entries[0].bytes, kHeader + 2);
  EXPECT_EQ(cache.size_bytes(), 3 * kHeader + 6);
  EXPECT_TRUE(cache.remove("b"));
  EXPECT_FALSE(cache.remove("b"));
  EXPECT_EQ(cache.list().size(), 2u);
  cache.clear();
  EXPECT_EQ(cache.size_bytes(), 0u);
  EXPECT_EQ(cache.get("a"), std::nullopt);
}

TEST_F(FileCacheTest, ClearingLeavesForeignFilesAlone) {
  FileCache cache(options());
  cache.put("key", "value");
  const std::string group = fs::path(path_of("key")).parent_path().string();
  const std::vector<std::string> foreign{directory_ + "/letter.txt", group + "/letter.txt",
                                         group + "/" + std::string(32, 'z') + ".entry"};
  for (const std::string& path : foreign) write_plainly(path, "mine");
  cache.clear();
  EXPECT_FALSE(fs::exists(path_of("key")));
  for (const std::string& path : foreign) EXPECT_TRUE(fs::exists(path)) << path;
}

TEST_F(FileCacheTest, TheLeastRecentlyUsedEntriesGoFirst) {
  const std::string value(1000 - kHeader, 'v');
  FileCache cache(options(10'000));
  for (int i = 0; i < 10; ++i) {
    cache.put(std::to_string(i), value);
    age(std::to_string(i), 100 - i);
  }
  EXPECT_EQ(cache.list().size(), 10u);
  EXPECT_EQ(cache.get("0"), value);  // the oldest is used again
  cache.put("new", value);
  // 11,000 bytes are too many; 9,000 remain.
  EXPECT_EQ(cache.list().size(), 9u);
  EXPECT_LE(cache.size_bytes(), 9'000u);
  EXPECT_EQ(cache.get("0"), value);
  EXPECT_EQ(cache.get("1"), std::nullopt);
  EXPECT_EQ(cache.get("2"), std::nullopt);
  EXPECT_EQ(cache.get("3"), value);
  EXPECT_EQ(cache.get("new"), value);
}

TEST_F(FileCacheTest, TheLimitHoldsForWhatOthersLeft) {
  FileCache(options()).put("old", std::string(5000, 'o'));
  age("old", 100);
  FileCache small(options(3000));
  EXPECT_TRUE(small.put("new", "value"));
  EXPECT_EQ(small.get("old"), std::nullopt);
  EXPECT_EQ(small.get("new"), "value");
}

TEST_F(FileCacheTest, TheLimitHoldsForManyEntries) {
  // So many that their size is judged by some of them.
  {
    FileCache unlimited(options());
    for (int i = 0; i < 700; ++i) unlimited.put(fmt::format("entry {}", i), std::string(100, 'x'));
  }
  FileCache(options(50'000)).put("last", "x");
  EXPECT_LE(FileCache(options()).size_bytes(), 50'000u);
  EXPECT_EQ(FileCache(options()).get("last"), "x");
}

TEST_F(FileCacheTest, WhatIsLargerThanTheCacheIsNotStored) {
  FileCache cache(options(1000));
  EXPECT_FALSE(cache.put("big", std::string(1000 - kHeader + 1, 'b')));
  EXPECT_TRUE(cache.put("fits", std::string(1000 - kHeader, 'b')));
  EXPECT_TRUE(cache.get("fits").has_value());
}

TEST_F(FileCacheTest, AbandonedTemporaryFilesAreSweptUp) {
  FileCache cache(options());
  cache.put("key", "value");
  const std::string old_file = path_of("key") + ".1234-0.tmp",
                    young = path_of("key") + ".1234-1.tmp";
  write_plainly(old_file, "half");
  write_plainly(young, "half");
  fs::last_write_time(old_file, fs::file_time_type::clock::now() - std::chrono::hours(2));
  EXPECT_EQ(cache.list().size(), 1u);
  EXPECT_FALSE(fs::exists(old_file));
  EXPECT_TRUE(fs::exists(young)) << "its writer may still be at work";
}

TEST_F(FileCacheTest, WithoutADirectoryNothingIsStoredAndNothingIsSaid) {
  FileCache cache(FileCacheOptions{});
  EXPECT_FALSE(cache.put("key", "value"));
  EXPECT_EQ(cache.get("key"), std::nullopt);
  EXPECT_FALSE(cache.remove("key"));
  EXPECT_TRUE(cache.list().empty());
  cache.clear();
  EXPECT_TRUE(log_.empty());
}

TEST_F(FileCacheTest, ADirectoryThatCannotBeMadeWarnsOnce) {
  FileCache cache({.directory = "/proc/luminal_cache"});
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(cache.put("key", "value"));
    EXPECT_EQ(cache.get("key"), std::nullopt);
  }
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_TRUE(log_[0].starts_with("results are not cached: create_directories: \"/proc/luminal_"))
      << log_[0];
  EXPECT_TRUE(log_[0].ends_with("set LUMINAL_CACHE_DIR to a directory that can be written"));
}

TEST_F(FileCacheTest, CachesBelowOneDirectoryThatCannotBeMadeWarnOnceTogether) {
  FileCache kernels({.directory = "/proc/luminal_caches/kernels"});
  FileCache choices({.directory = "/proc/luminal_caches/choices"});
  EXPECT_FALSE(kernels.put("key", "value"));
  EXPECT_FALSE(choices.put("key", "value"));
  ASSERT_EQ(log_.size(), 1u);
  EXPECT_TRUE(log_[0].starts_with("results are not cached: ")) << log_[0];
}

TEST_F(FileCacheTest, AReadOnlyDirectoryStillGivesWhatItHolds) {
  FileCache(options()).put("key", "value");
  for (const auto& entry : fs::recursive_directory_iterator(directory_))
    if (entry.is_directory()) ::chmod(entry.path().c_str(), 0555);
  ::chmod(directory_.c_str(), 0555);
  // In a child, because permissions bind only those who are not root.
  EXPECT_TRUE(succeeded(in_child([this] {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) return false;
    FileCache cache(options());
    const bool reads = cache.get("key") == "value";
    const bool writes = cache.put("key", "other") || cache.put("new", "value");
    return reads && !writes && cache.get("key") == "value" && log_.size() == 1;
  })));
  for (const auto& entry : fs::recursive_directory_iterator(directory_))
    if (entry.is_directory()) ::chmod(entry.path().c_str(), 0755);
  ::chmod(directory_.c_str(), 0755);
}

TEST_F(FileCacheTest, TheDirectoryMayVanishMeanwhile) {
  FileCache cache(options());
  cache.put("key", "value");
  fs::remove_all(directory_);
  EXPECT_EQ(cache.get("key"), std::nullopt);
  EXPECT_TRUE(cache.put("key", "value"));
  EXPECT_EQ(cache.get("key"), "value");
}

/// A value that shows whether it belongs to its key and is whole.
std::string value_for(int key, std::size_t length) {
  return std::to_string(key) + ":" + std::string(length, static_cast<char>('a' + key));
}
bool is_value_for(int key, const std::string& value) {
  return value == value_for(key, value.size() - std::to_string(key).size() - 1);
}

bool use_heavily(const FileCacheOptions& options, unsigned seed, int steps) {
  std::mt19937 random(seed);
  FileCache cache(options);
  for (int step = 0; step < steps; ++step) {
    const int key = static_cast<int>(random() % 8);
    const std::string name = "key" + std::to_string(key);
    if (random() % 3 == 0) {
      if (!cache.put(name, value_for(key, random() % 5000))) return false;
    } else if (random() % 40 == 0) {
      cache.clear();
    } else if (const auto value = cache.get(name); value && !is_value_for(key, *value)) {
      return false;
    }
  }
  return true;
}

TEST_F(FileCacheTest, ManyProcessesAtOnceSeeOnlyWholeEntries) {
  const FileCacheOptions shared = options(12'000);  // small: eviction goes on all the time
  std::vector<pid_t> children;
  for (unsigned seed = 1; seed <= 4; ++seed)
    children.push_back(
        in_child([&, seed] { return use_heavily(shared, seed, 250) && log_.empty(); }));
  for (pid_t child : children) EXPECT_TRUE(succeeded(child)) << "seed of the child: its place";
  EXPECT_TRUE(use_heavily(shared, 5, 50));
}

TEST_F(FileCacheTest, ManyThreadsMayShareOneCache) {
  FileCache cache(options(20'000));
  std::atomic<bool> good = true;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        const int key = (t + i) % 6;
        const std::string name = std::to_string(key);
        if (!cache.put(name, value_for(key, static_cast<std::size_t>(100 * i)))) good = false;
        if (const auto value = cache.get(name); value && !is_value_for(key, *value)) good = false;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(good);
  EXPECT_LE(cache.size_bytes(), 20'000u);
}

TEST_F(FileCacheTest, AWriterKilledAtAnyMomentLeavesNoHalfEntry) {
  for (int round = 0; round < 8; ++round) {
    const pid_t child = in_child([this] {
      FileCache cache(options(std::uint64_t{1} << 30));
      for (std::size_t i = 0;; ++i) cache.put("key3", value_for(3, 200'000 + i));
      return true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + 7 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    FileCache cache(options());
    const auto value = cache.get("key3");
    EXPECT_TRUE(!value || is_value_for(3, *value));
  }
  EXPECT_TRUE(log_.empty()) << "no entry was damaged: " << log_[0];
}

TEST_F(FileCacheTest, DefaultOptionsFollowTheEnvironment) {
  const FileCacheOptions defaults = default_cache_options("kernels", 7);
  EXPECT_EQ(defaults.version, 7u);
  EXPECT_TRUE(defaults.directory.empty() || defaults.directory.ends_with("/kernels"))
      << defaults.directory;
  EXPECT_GE(defaults.max_bytes, 1u << 20);
}

}  // namespace
}  // namespace luminal::support
