#include "luminal/search/run_apart.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "luminal/search/guarded_memory.h"

namespace luminal::search {
namespace {

using Why = Rejected::Why;
using Side = GuardedMemory::Side;

TEST(RunApart, ResultsComeBackInSharedMemory) {
  const GuardedMemory memory(4, Side::kEnd);
  EXPECT_EQ(run_apart([&] { memory.data()[3] = std::byte{7}; }), std::nullopt);
  EXPECT_EQ(memory.data()[3], std::byte{7});
}

TEST(RunApart, AFaultIsACrashAndWeLive) {
  const auto why = run_apart([] { ::raise(SIGILL); });
  ASSERT_TRUE(why);
  EXPECT_EQ(why->why, Why::kCrash);
  EXPECT_NE(why->detail.find("signal 4"), std::string::npos) << why->detail;
}

TEST(RunApart, AnExceptionTellsItsReason) {
  const auto why = run_apart([] { throw std::runtime_error("no such entry"); });
  ASSERT_TRUE(why);
  EXPECT_EQ(why->why, Why::kCrash);
  EXPECT_EQ(why->detail, "no such entry");
}

TEST(RunApart, WhatTheMachineRefusesSaysNothingOfTheWork) {
  const auto memory = run_apart([] { throw std::bad_alloc(); });
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->why, Why::kInterrupted) << memory->detail;
  const auto thread = run_apart(
      [] { throw std::system_error(EAGAIN, std::generic_category(), "there is no thread"); });
  ASSERT_TRUE(thread);
  EXPECT_EQ(thread->why, Why::kInterrupted) << thread->detail;
  EXPECT_NE(thread->detail.find("there is no thread"), std::string::npos) << thread->detail;
}

TEST(RunApart, AnEndOfTheProcessIsNoResult) {
  const auto why = run_apart([] { ::_exit(3); });
  ASSERT_TRUE(why);
  EXPECT_NE(why->detail.find("status 3"), std::string::npos) << why->detail;
}

TEST(RunApart, TheTimeThatItUsedIsTold) {
  std::chrono::milliseconds little{-1};
  EXPECT_EQ(run_apart([] {}, {.used = &little}), std::nullopt);
  EXPECT_GE(little.count(), 0);
  volatile bool forever = true;
  std::chrono::milliseconds much{-1};
  const auto why = run_apart(
      [&] {
        while (forever) {
        }
      },
      {.limit = std::chrono::milliseconds(300), .used = &much});
  ASSERT_TRUE(why);
  // How much of the limit it is depends on when the clock of the processor ticks.
  EXPECT_GT(much.count(), 0);
}

TEST(RunApart, AnEndlessLoopIsStopped) {
  volatile bool forever = true;
  const auto why = run_apart(
      [&] {
        while (forever) std::this_thread::yield();
      },
      {.limit = std::chrono::milliseconds(100)});
  ASSERT_TRUE(why);
  EXPECT_EQ(why->why, Why::kTimeout);
  EXPECT_NE(why->detail.find("100 ms"), std::string::npos) << why->detail;
}

TEST(RunApart, TimeInWhichAChildIsStoppedDoesNotCount) {
  const GuardedMemory memory(sizeof(pid_t), Side::kEnd);
  auto* id = reinterpret_cast<volatile pid_t*>(memory.data());
  std::optional<Rejected> why;
  std::thread parent([&] {
    why = run_apart(
        [&] {
          *id = ::getpid();
          ::raise(SIGSTOP);
        },
        {.limit = std::chrono::milliseconds(100)});
  });
  while (*id == 0) std::this_thread::yield();
  siginfo_t stopped{};
  ::waitid(P_PID, static_cast<id_t>(*id), &stopped, WSTOPPED | WNOWAIT);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ::kill(*id, SIGCONT);
  parent.join();
  EXPECT_EQ(why, std::nullopt) << to_string(Measurement(*why));
}

TEST(RunApart, WhatWaitsForeverOrIsEndedByOthersWasInterrupted) {
  const auto asleep = run_apart([] { ::pause(); }, {.patience = std::chrono::milliseconds(100)});
  ASSERT_TRUE(asleep);
  EXPECT_EQ(asleep->why, Why::kInterrupted);
  const auto killed = run_apart([] { ::raise(SIGKILL); });
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->why, Why::kInterrupted);
}

TEST(RunApart, WorkThatTakesLongEndsWithTheTimeThereIs) {
  volatile bool forever = true;
  const auto why = run_apart(
      [&] {
        while (forever) std::this_thread::yield();
      },
      {.limit = std::chrono::milliseconds(60'000), .stop = [] { return true; }});
  ASSERT_TRUE(why);
  EXPECT_EQ(why->why, Why::kInterrupted);
}

TEST(RunApart, NobodyIsAskedAboutWorkThatIsQuick) {
  // A busy machine may need more than the usual second to start a child.
  bool asked = false;
  const auto stop = [&] {
    asked = true;
    return true;
  };
  ApartOptions options{.stop = stop, .unasked = std::chrono::minutes(1)};
  EXPECT_EQ(run_apart([] {}, options), std::nullopt);
  EXPECT_FALSE(asked);
  options.unasked = std::chrono::milliseconds(0);
  const auto why = run_apart([] { ::pause(); }, options);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->why, Why::kInterrupted);
  EXPECT_TRUE(asked);
}

TEST(RunApart, ChildrenAtATimeDoNotWaitForEachOther) {
  volatile bool forever = true;
  const auto endless = [&] {
    while (forever) std::this_thread::yield();
  };
  std::vector<std::thread> threads;
  std::array<std::optional<Rejected>, 4> why;
  for (size_t k = 0; k < why.size(); ++k)
    threads.emplace_back([&, k] {
      // Those that end have more time than those that do not, and need next to none.
      if (k % 2 == 0)
        why[k] = run_apart(endless, {.limit = std::chrono::milliseconds(200)});
      else
        why[k] = run_apart([] {}, {.limit = std::chrono::milliseconds(20'000)});
    });
  for (std::thread& thread : threads) thread.join();
  for (size_t k = 0; k < why.size(); ++k) EXPECT_EQ(why[k].has_value(), k % 2 == 0) << k;
}

TEST(RunApart, MemoryThatIsReadOnlyCanBeReadOnly) {
  GuardedMemory memory(100, Side::kEnd);
  memory.data()[5] = std::byte{3};
  memory.make_read_only();
  const ApartOptions options{.is_forbidden = [&](const void* a) { return memory.forbids(a); }};
  EXPECT_EQ(run_apart(
                [&] {
                  if (memory.data()[5] != std::byte{3}) throw std::runtime_error("it is gone");
                },
                options),
            std::nullopt);
  const auto why = run_apart([&] { memory.data()[5] = std::byte{4}; }, options);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->why, Why::kOutOfBounds);
  EXPECT_EQ(memory.data()[5], std::byte{3});
}

TEST(RunApart, OneByteBesideATensorIsOutOfBounds) {
  for (const Side side : {Side::kBegin, Side::kEnd})
    for (const int64_t size : {0, 64, 4096, 100'032}) {
      const GuardedMemory memory(size, side);
      const int64_t place = side == Side::kBegin ? -1 : size;
      const auto why =
          run_apart([&] { memory.data()[place] = std::byte{1}; },
                    {.is_forbidden = [&](const void* a) { return memory.forbids(a); }});
      ASSERT_TRUE(why) << size;
      EXPECT_EQ(why->why, Why::kOutOfBounds) << to_string(Measurement(*why));
      EXPECT_TRUE(memory.is_intact());
    }
}

TEST(RunApart, BytesThatAlignmentLeavesOverAreWatchedToo) {
  const GuardedMemory memory(100, Side::kEnd);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 64, 0U);
  EXPECT_EQ(run_apart([&] { memory.data()[100] = std::byte{1}; }), std::nullopt);
  EXPECT_FALSE(memory.is_intact());
}

}  // namespace
}  // namespace luminal::search
