#include "luminal/runtime/cpu/thread_team.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

namespace luminal::runtime {
namespace {

TEST(StaticRange, PartsCoverTheWholeAndDifferByOne) {
  for (const int64_t count : {0, 1, 5, 7, 64, 1000})
    for (const int parts : {1, 2, 3, 7}) {
      int64_t next = 0;
      for (int part = 0; part < parts; ++part) {
        const StaticRange range = static_range(count, part, parts);
        EXPECT_EQ(range.begin, next);
        EXPECT_LE(range.end - range.begin, count / parts + 1);
        EXPECT_GE(range.end - range.begin, count / parts);
        next = range.end;
      }
      EXPECT_EQ(next, count);
    }
}

TEST(ThreadTeam, EveryThreadNumberRunsOncePerJob) {
  ThreadTeam team({.threads = 4, .pin = false});
  ASSERT_EQ(team.size(), 4);
  std::array<int, 4> counts{};
  for (int job = 0; job < 500; ++job)
    team.run([&](int thread) { ++counts[static_cast<size_t>(thread)]; });
  for (const int count : counts) EXPECT_EQ(count, 500);
}

TEST(ThreadTeam, FunctionsOfAnySizeReachAllThreads) {
  ThreadTeam team({.threads = 3, .pin = false});
  std::atomic<int64_t> sum{0};
  std::array<int64_t, 3> small{1, 10, 100};
  std::array<int64_t, 20> large{};
  large[19] = 7;
  const std::string text = "with a destructor";
  struct Changes {  // is called as it is, not as a copy
    std::atomic<int> calls{0};
    void operator()(int) { ++calls; }
  } changes;
  struct alignas(32) Aligned {  // small, but for places that a job does not have
    std::atomic<int64_t>* sum;
    void operator()(int) const { *sum += reinterpret_cast<uintptr_t>(this) % 32 == 0 ? 1 : 100; }
  };
  for (int job = 0; job < 200; ++job) {
    sum = 0;
    team.run([&sum, small](int thread) { sum += small[static_cast<size_t>(thread)]; });
    EXPECT_EQ(sum, 111);
    team.run([&sum, large](int thread) { sum += large[19] * thread; });
    EXPECT_EQ(sum, 132);
    team.run([&sum, text](int) { sum += static_cast<int64_t>(text.size()); });
    EXPECT_EQ(sum, 183);
    team.run(Aligned{&sum});
    EXPECT_EQ(sum, 186);
    team.run(changes);
  }
  EXPECT_EQ(changes.calls, 600);
}

TEST(ThreadTeam, SleepingWorkersWakeUp) {
  ThreadTeam team({.threads = 3, .pin = false, .spin_microseconds = 0});
  for (int job = 0; job < 20; ++job) {
    std::atomic<int> sum{0};
    std::this_thread::sleep_for(std::chrono::milliseconds(job % 3));
    team.run([&](int thread) { sum += thread + 1; });
    EXPECT_EQ(sum, 6);
  }
}

TEST(ThreadTeam, LoopsVisitEveryIndexOnce) {
  ThreadTeam team({.threads = 3, .pin = false});
  for (const int64_t count : {0, 1, 2, 3, 10, 1001}) {
    std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
    const auto visit = [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
    };
    team.static_loop(count, visit);
    team.chunk_loop(count, 7, team.size(), visit);
    for (const auto& visited : visits) EXPECT_EQ(visited, 2);
  }
}

TEST(ThreadTeam, NestedAndConcurrentCallsFinish) {
  ThreadTeam team({.threads = 2, .pin = false});
  std::atomic<int> calls{0};
  team.run([&](int) { team.run([&](int) { ++calls; }); });
  EXPECT_EQ(calls, 4);
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i)
    callers.emplace_back([&] {
      for (int job = 0; job < 200; ++job) team.run([&](int) { ++calls; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(calls, 4 + 3 * 200 * 2);
}

TEST(ThreadTeam, TheExceptionOfTheLowestThreadArrives) {
  ThreadTeam team({.threads = 3, .pin = false});
  for (int job = 0; job < 10; ++job) {
    try {
      team.run([](int thread) {
        if (thread > 0) throw std::runtime_error("thread " + std::to_string(thread));
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "thread 1");
    }
  }
  int ran = 0;
  team.static_loop(1, [&](int64_t, int64_t, int) { ++ran; });
  EXPECT_EQ(ran, 1);
}

TEST(ThreadTeam, TheEndOfATeamIsNoJob) {
  // A worker that has seen a job which the caller took over may look again when the team ends.
  std::atomic<int> calls{0};
  const auto job = [&](int) { ++calls; };
  for (int round = 1; round <= 200; ++round) {
    {
      ThreadTeam team({.threads = 6, .pin = false});
      team.run(job);
    }
    ASSERT_EQ(calls, 6 * round);
  }
}

TEST(ThreadTeam, OfOneRunsOnTheCaller) {
  ThreadTeam team({.threads = 1});
  std::thread::id id;
  team.run([&](int) { id = std::this_thread::get_id(); });
  EXPECT_EQ(id, std::this_thread::get_id());
}

cpu_set_t where_it_may_run() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  EXPECT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  return allowed;
}

TEST(CallerPlace, IsTheFirstProcessorForAsLongAsItLives) {
  const cpu_set_t before = where_it_may_run();
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one processor";
  {
    const CallerPlace place(2);
    const cpu_set_t now = where_it_may_run();
    EXPECT_EQ(CPU_COUNT(&now), 1);
    int first = 0;
    while (!CPU_ISSET(first, &before)) ++first;
    EXPECT_TRUE(CPU_ISSET(first, &now));
    const CallerPlace again(2);  // a measurement in a measurement
  }
  const cpu_set_t after = where_it_may_run();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(CallerPlace, OfOneThreadIsWhereverItMayRun) {
  const cpu_set_t before = where_it_may_run();
  const CallerPlace place(1);
  const cpu_set_t now = where_it_may_run();
  EXPECT_TRUE(CPU_EQUAL(&before, &now));
}

}  // namespace
}  // namespace luminal::runtime
