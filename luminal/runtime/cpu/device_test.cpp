#include "luminal/runtime/cpu/device.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

namespace luminal::runtime {
namespace {

constexpr int kThreads = 4;
constexpr int64_t kScratch = 64;

/// Counts the items that were computed with each thread's scratch.
struct Counts {
  std::byte* scratch = nullptr;
  std::array<std::atomic<int64_t>, kThreads> items{};
};

void count_items(void* const* buffers, const int64_t*, int64_t begin, int64_t end,
                 std::byte* scratch) {
  auto& counts = *static_cast<Counts*>(buffers[0]);
  counts.items[static_cast<size_t>((scratch - counts.scratch) / kScratch)] += end - begin;
  // Long enough for every thread to get something if it may.
  std::this_thread::sleep_for(std::chrono::microseconds(200));
}

TEST(LaunchOnTeam, NoMoreThreadsThanALaunchAsksForGetItems) {
  ThreadTeam team({.threads = kThreads, .pin = false});
  std::array<std::byte, kThreads * kScratch> scratch{};
  for (const int64_t chunk : {0, 1, 3}) {
    for (int threads = 0; threads <= kThreads + 1; ++threads) {
      Counts counts;
      counts.scratch = scratch.data();
      void* const buffers[] = {&counts};
      Launch launch;
      launch.buffers = buffers;
      launch.size = {100, chunk, threads};
      launch.scratch = scratch.data();
      launch_on_team(team, count_items, launch, kScratch);
      const int allowed = threads == 0 ? kThreads : std::min(threads, kThreads);
      int64_t all = 0;
      for (int thread = 0; thread < kThreads; ++thread) {
        const int64_t items = counts.items[static_cast<size_t>(thread)];
        EXPECT_TRUE(items == 0 || thread < allowed)
            << items << " of thread " << thread << ", chunk " << chunk << ", threads " << threads;
        all += items;
      }
      EXPECT_EQ(all, 100);
    }
  }
}

}  // namespace
}  // namespace luminal::runtime
