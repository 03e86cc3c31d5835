// Times are kept for a number of threads: kernels are timed on as many as a program would run them
// on, whatever the team has.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>

#include "luminal/compiler/make_compiled.h"
#include "luminal/compiler/search_plan.h"
#include "luminal/kernel/canonical.h"
#include "luminal/luminal.h"
#include "luminal/search/kernel_bench.h"
#include "luminal/search/kernel_data.h"
#include "luminal/search/kernel_space.h"
#include "luminal/support/error.h"
#include "tests/search/made_up_search.h"
#include "tests/search/one_kernel.h"

namespace luminal::search {
namespace {

/// Doubles so many numbers.
KernelTask doubling(int64_t count, int threads) {
  return task_of([=](Graph& g) { return g.input("x", {count}) * 2.0F; }, threads);
}

/// Where the ranges began that the code below was called for, in this process.
std::set<int64_t>& begins() {
  static std::set<int64_t> all;
  return all;
}

void doubled(void* const* buffers, const int64_t*, int64_t begin, int64_t end, std::byte*) {
  static std::mutex mutex;
  const auto* from = static_cast<const float*>(buffers[0]);
  auto* to = static_cast<float*>(buffers[1]);
  for (int64_t k = begin; k < end; ++k) to[k] = 2.0F * from[k];
  const std::lock_guard lock(mutex);
  begins().insert(begin);
}

/// How many ranges the items of a kernel are dealt out in when it is timed on a team of four.
size_t timed_ranges(const KernelTask& task, int64_t count, int asked) {
  runtime::ThreadTeam team({.threads = 4, .pin = false});
  const auto builder = [&](const std::string& schedule) -> std::variant<Candidate, Rejected> {
    Candidate candidate;
    candidate.schedule = schedule;
    CandidateLaunch launch;
    launch.entry = doubled;
    launch.buffers = {{.tensor = tensors_read(*task.arena, task.kernel).front()},
                      {.tensor = task.kernel.roots.front().tensor}};
    launch.size = {count, 0, asked};
    candidate.launches.push_back(std::move(launch));
    return candidate;
  };
  begins().clear();
  KernelBench bench(task, builder, team, {.measure = {.seconds = 0.001}});
  const Measurement result = bench.try_out({"own"}).results[0];
  EXPECT_TRUE(std::holds_alternative<Timing>(result)) << to_string(result);
  return begins().size();
}

TEST(KernelBench, AKernelIsTimedOnTheThreadsThatItsTaskIsFor) {
  constexpr int64_t kCount = 40000;
  EXPECT_EQ(timed_ranges(doubling(kCount, 1), kCount, 0), 1U);
  EXPECT_EQ(timed_ranges(doubling(kCount, 2), kCount, 0), 2U);
  EXPECT_EQ(timed_ranges(doubling(kCount, 3), kCount, 2), 2U);
  EXPECT_EQ(timed_ranges(doubling(kCount, 2), kCount, 3), 2U);
}

TEST(KernelBench, WhatProgramsRunOnOneThreadIsTimedOnOne) {
  EXPECT_EQ(timed_ranges(doubling(100, 4), 100, 0), 1U);
}

TEST(SearchPlan, KernelsAreForTheThreadsThatTheirTimesAreKeptFor) {
  for (const int threads : {1, 2}) {
    compiler::MadeUp times;
    int other = 0;
    times.kernel_time = [&](const KernelTask& task, const std::string&) -> Measurement {
      other += task.options.threads == threads ? 0 : 1;
      return Timing{1, 0.01, 10};
    };
    compiler::Options options = compiler::kPlain;
    options.threads = threads;
    compiler::search_plan(compiler::Net().ir(), options, times.options);
    EXPECT_GT(times.kernel_trials, 0);
    EXPECT_EQ(other, 0);
  }
}

TEST(SearchPlan, MoreThreadsThanThereAreAreRefused) {
  compiler::Options options = compiler::kPlainHere;
  options.threads = runtime::default_thread_team().size() + 1;
  compiler::MadeUp times;
  try {
    compiler::make_searched(compiler::Net().ir(), options, times.options);
    FAIL() << "nothing was thrown";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("LUMINAL_THREADS"), std::string::npos) << error.what();
  }
  EXPECT_EQ(times.kernel_trials, 0);
}

}  // namespace
}  // namespace luminal::search
