#include "luminal/support/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>

#include "luminal/support/env.h"
#include "luminal/support/error.h"

namespace luminal::support {
namespace {

using Chunks = std::set<std::pair<std::int64_t, std::int64_t>>;

Chunks chunks_of(ThreadPool& pool, std::int64_t begin, std::int64_t end, std::int64_t grain) {
  Chunks chunks;
  std::mutex mutex;
  pool.parallel_for(begin, end, grain, [&](std::int64_t from, std::int64_t to) {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(chunks.emplace(from, to).second) << "twice: " << from << " to " << to;
  });
  return chunks;
}

TEST(ThreadPool, EveryIndexIsVisitedOnce) {
  ThreadPool pool(4);
  for (std::int64_t count : {0, 1, 2, 3, 7, 64, 1000})
    for (std::int64_t grain : {1, 2, 5, 64, 5000}) {
      std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
      pool.parallel_for(0, count, grain, [&](std::int64_t from, std::int64_t to) {
        for (std::int64_t i = from; i < to; ++i) ++visits[static_cast<std::size_t>(i)];
      });
      for (const auto& visit : visits) ASSERT_EQ(visit, 1) << count << " by " << grain;
    }
}

TEST(ThreadPool, ThePartitionDoesNotDependOnTheThreads) {
  ThreadPool one(1), three(3);
  const Chunks expected{{-5, -2}, {-2, 1}, {1, 4}, {4, 5}};
  EXPECT_EQ(chunks_of(one, -5, 5, 3), expected);
  EXPECT_EQ(chunks_of(three, -5, 5, 3), expected);
}

TEST(ThreadPool, EmptyAndReversedRangesDoNothing) {
  ThreadPool pool(2);
  EXPECT_TRUE(chunks_of(pool, 5, 5, 1).empty());
  EXPECT_TRUE(chunks_of(pool, 6, 5, 1).empty());
}

TEST(ThreadPool, RangesAsWideAsTheTypeDoNotOverflow) {
  ThreadPool pool(2);
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(chunks_of(pool, kLeast, kMost, kMost),
            (Chunks{{kLeast, -1}, {-1, kMost - 1}, {kMost - 1, kMost}}));
}

TEST(ThreadPool, ABadGrainIsABugOfOurs) {
  ThreadPool pool(2);
  EXPECT_THROW(pool.parallel_for(0, 1, 0, [](std::int64_t, std::int64_t) {}), InternalError);
  EXPECT_THROW(ThreadPool(0), InternalError);
}

TEST(ThreadPool, TheCallerAndTheWorkersWorkAtTheSameTime) {
  ThreadPool pool(3);
  EXPECT_EQ(pool.size(), 3);
  // Each of the three chunks waits for the other two: this ends only if three threads take part.
  std::atomic<int> arrived = 0;
  std::set<std::thread::id> threads;
  std::mutex mutex;
  pool.parallel_for(0, 3, 1, [&](std::int64_t, std::int64_t) {
    {
      const std::lock_guard lock(mutex);
      threads.insert(std::this_thread::get_id());
    }
    ++arrived;
    while (arrived < 3) std::this_thread::yield();
  });
  EXPECT_EQ(threads.size(), 3u);
  EXPECT_TRUE(threads.contains(std::this_thread::get_id()));
}

TEST(ThreadPool, NestedLoopsDoNotDeadlock) {
  ThreadPool pool(3);
  std::atomic<int> total = 0;
  pool.parallel_for(0, 16, 1, [&](std::int64_t, std::int64_t) {
    pool.parallel_for(0, 16, 1, [&](std::int64_t, std::int64_t) {
      pool.parallel_for(0, 8, 2, [&](std::int64_t from, std::int64_t to) {
        total += static_cast<int>(to - from);
      });
    });
  });
  EXPECT_EQ(total, 16 * 16 * 8);
}

TEST(ThreadPool, TheExceptionOfTheFirstChunkIsThrown) {
  ThreadPool pool(4);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::string message = "none";
    try {
      pool.parallel_for(0, 100, 1, [&](std::int64_t from, std::int64_t) {
        if (from == 3) std::this_thread::sleep_for(std::chrono::microseconds(50));
        if (from >= 3) throw std::runtime_error(std::to_string(from));
      });
    } catch (const std::runtime_error& error) {
      message = error.what();
    }
    ASSERT_EQ(message, "3");
  }
  EXPECT_EQ(chunks_of(pool, 0, 10, 5).size(), 2u) << "the pool still works afterwards";
}

TEST(ThreadPool, ALoopThatFailsEarlyLeavesOutTheRest) {
  ThreadPool pool(2);
  std::atomic<int> calls = 0;
  EXPECT_THROW(pool.parallel_for(0, 1'000'000, 1,
                                 [&](std::int64_t, std::int64_t) {
                                   ++calls;
                                   throw std::runtime_error("stop");
                                 }),
               std::runtime_error);
  EXPECT_LE(calls, 2);
}

TEST(ThreadPool, ExceptionsPassThroughNestedLoops) {
  ThreadPool pool(3);
  EXPECT_THROW(pool.parallel_for(0, 4, 1,
                                 [&](std::int64_t, std::int64_t) {
                                   pool.parallel_for(0, 4, 1, [](std::int64_t from, std::int64_t) {
                                     if (from == 2) throw UserError("inner", "failed");
                                   });
                                 }),
               UserError);
}

TEST(ThreadPool, SubmittedWorkGivesItsResult) {
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::vector<std::future<int>> futures;
    for (int i = 0; i < 20; ++i) futures.push_back(pool.submit([i] { return i * i; }));
    for (int i = 0; i < 20; ++i) EXPECT_EQ(futures[static_cast<std::size_t>(i)].get(), i * i);
    std::future<void> failing = pool.submit([] { throw UserError("task", "failed"); });
    EXPECT_THROW(failing.get(), UserError);
    auto owner = std::make_unique<int>(7);
    EXPECT_EQ(pool.submit([p = std::move(owner)] { return *p; }).get(), 7);
  }
}

TEST(ThreadPool, TasksMayWaitForTasks) {
  ThreadPool pool(2);  // one worker: a plain get() inside the task would never return
  std::future<int> outer = pool.submit([&] {
    std::future<int> inner = pool.submit([] { return 20; });
    return pool.wait(inner) + 1;
  });
  EXPECT_EQ(pool.wait(outer), 21);
}

TEST(ThreadPool, DestructionFinishesWhatWasSubmitted) {
  std::atomic<int> finished = 0;
  {
    ThreadPool pool(2);
    for (int i = 0; i < 50; ++i)
      pool.submit([&] {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        ++finished;
      });
  }
  EXPECT_EQ(finished, 50);
}

TEST(ThreadPool, ManyShortLoopsFromManyThreads) {
  ThreadPool pool(4);
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> total = 0;
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 300; ++i)
        pool.parallel_for(0, 10, 1, [&](std::int64_t from, std::int64_t) { total += from; });
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(total, 3 * 300 * 45);
}

TEST(ThreadPool, SumsPerChunkAreTheSameOnEveryPool) {
  // Floating-point addition is not associative; a fixed partition makes it reproducible.
  const auto sum = [](int threads) {
    ThreadPool pool(threads);
    std::vector<double> partial(101);
    pool.parallel_for(0, 10'001, 100, [&](std::int64_t from, std::int64_t to) {
      double value = 0;
      for (std::int64_t i = from; i < to; ++i) value += 1.0 / static_cast<double>(i + 1);
      partial[static_cast<std::size_t>(from / 100)] = value;
    });
    return std::accumulate(partial.begin(), partial.end(), 0.0);
  };
  EXPECT_EQ(sum(1), sum(5));
}

TEST(ThreadPool, TheDefaultPoolHasTheSizeAskedFor) {
  const auto asked = static_cast<int>(environment().integer(EnvVar::kThreads));
  EXPECT_EQ(default_thread_pool().size(), asked > 0 ? asked : available_processors());
  EXPECT_GE(available_processors(), 1);
  EXPECT_EQ(&default_thread_pool(), &default_thread_pool());
}

}  // namespace
}  // namespace luminal::support
