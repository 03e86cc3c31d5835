// Many processes at once compile with one cache and save to one file, and some are killed while
// they do: whoever comes later computes the right numbers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "plan_samples.h"

extern char** environ;

namespace luminal::test {
namespace {

/// A network whose kernels no other seed has.
Tensor network(const Graph& g, int seed) {
  const Tensor x = g.input("x", {6, 8 + seed});
  const Tensor w = g.constant(numbers({8 + seed, 5}, seed));
  return softmax(matmul(tanh(x) + seed, w), -1);
}

/// The greatest difference to the interpreter.
double error_of_results(Executable& exe, const Graph& g, const Tensor& y, int seed) {
  Executable oracle = compile(g, {y}, {.backend = Backend::kInterpreter});
  for (Executable* each : {&exe, &oracle}) {
    each->set("x", numbers({6, 8 + seed}, seed));
    each->run();
  }
  const std::vector<double> actual = exe.get(0).to_vector<double>();
  const std::vector<double> expected = oracle.get(0).to_vector<double>();
  double worst = 0;
  for (size_t k = 0; k < expected.size(); ++k)
    worst = std::max(worst, std::abs(actual[k] - expected[k]));
  return worst;
}

std::string environment_text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// What the processes of these tests run: compile, save, load what any of them saved, and compare.
TEST(Worker, DISABLED_CompilesSavesAndRuns) {
  const std::string path = environment_text("WORKER_PLAN");
  const int rounds = std::stoi(environment_text("WORKER_ROUNDS"));
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // who waits for it may be ended before it
  for (int round = 0; round < rounds; ++round) {
    for (int seed = 0; seed < 4; ++seed) {
      const Graph g;
      const Tensor y = network(g, seed);
      Executable exe = compile(g, {y});
      ASSERT_LT(error_of_results(exe, g, y, seed), 1e-5) << "seed " << seed;
      if (seed == 0) exe.save(path);
    }
    const Graph g;
    const Tensor y = network(g, 0);
    Executable loaded = load(path);
    ASSERT_LT(error_of_results(loaded, g, y, 0), 1e-5) << "loaded";
  }
}

/// Processes of this program with a cache folder of their own.
class Processes : public testing::Test {
 protected:
  pid_t start(int rounds) {
    const std::vector<std::string> own{
        "LUMINAL_CACHE=on", "LUMINAL_CACHE_DIR=" + folder_.file("cache"), "LUMINAL_THREADS=2",
        "WORKER_PLAN=" + folder_.file("plan"), "WORKER_ROUNDS=" + std::to_string(rounds)};
    std::vector<char*> variables;
    for (const std::string& each : own) variables.push_back(const_cast<char*>(each.c_str()));
    for (char** each = environ; *each != nullptr; ++each)
      if (!std::string_view(*each).starts_with("LUMINAL_")) variables.push_back(*each);
    variables.push_back(nullptr);
    std::vector<std::string> words{"plans_suite", "--gtest_also_run_disabled_tests",
                                   "--gtest_filter=Worker.*"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, folder_.file("log").c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0666);
    posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
    pid_t child = -1;
    EXPECT_EQ(
        posix_spawn(&child, "/proc/self/exe", &files, nullptr, arguments.data(), variables.data()),
        0);
    posix_spawn_file_actions_destroy(&files);
    return child;
  }

  static bool has_ended(pid_t child) {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == child;
  }

  static int status_of(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  }

  void expect_success(pid_t child) {
    EXPECT_EQ(status_of(child), 0) << std::ifstream(folder_.file("log")).rdbuf();
  }

  std::vector<std::string> cache_files() const {
    std::vector<std::string> files;
    std::error_code gone;
    for (std::filesystem::recursive_directory_iterator at(folder_.file("cache"), gone), end;
         !gone && at != end; at.increment(gone))
      if (at->is_regular_file(gone)) files.push_back(at->path());
    std::sort(files.begin(), files.end());
    return files;
  }

  /// Damages a file in one of the ways there are.
  static void damage(const std::string& path, std::mt19937& random) {
    std::error_code gone;
    const auto size = std::filesystem::file_size(path, gone);
    if (gone || size == 0) return;
    if (random() % 3 == 0) {
      std::filesystem::resize_file(path, random() % size, gone);
      return;
    }
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(random() % size));
    file.put(static_cast<char>(random()));
  }

  Folder folder_;
};

TEST_F(Processes, ShareACacheAndAFile) {
  std::vector<pid_t> children;
  for (int k = 0; k < 4; ++k) children.push_back(start(2));
  for (const pid_t child : children) expect_success(child);
  EXPECT_FALSE(cache_files().empty()) << "nothing was kept: the test shows nothing";
}

TEST_F(Processes, AreKilledWhileTheyWrite) {
  expect_success(start(1));  // the file is there from now on
  std::mt19937 random(3);
  for (int round = 0; round < 8; ++round) {
    // An empty cache makes them write all the time.
    if (round % 2 == 0) std::filesystem::remove_all(folder_.file("cache"));
    const pid_t child = start(1'000'000);  // more than any machine does before it is killed
    while (cache_files().empty() && !has_ended(child))  // a busy machine takes long to begin
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 100));
    kill(child, SIGKILL);
    const int status = status_of(child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it was over before: " << status << "\n"
                                     << std::ifstream(folder_.file("log")).rdbuf();
    EXPECT_NO_THROW(load(folder_.file("plan")));
  }
  expect_success(start(1));
}

TEST_F(Processes, FindDamagedFilesInTheCache) {
  expect_success(start(1));
  std::mt19937 random(4);
  const std::vector<std::string> files = cache_files();
  ASSERT_FALSE(files.empty());
  for (const std::string& file : files) damage(file, random);
  expect_success(start(1));
  EXPECT_EQ(cache_files(), files) << "what was damaged was compiled and kept again";
}

TEST_F(Processes, FindFilesThatAreDamagedWhileTheyRun) {
  std::vector<pid_t> children;
  for (int k = 0; k < 2; ++k) children.push_back(start(4));
  std::mt19937 random(5);
  for (int k = 0; k < 100; ++k) {
    const std::vector<std::string> files = cache_files();
    if (!files.empty()) damage(files[random() % files.size()], random);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  for (const pid_t child : children) expect_success(child);
}

}  // namespace
}  // namespace luminal::test
