// Several executables at once, in several threads: they share the team of threads and nothing else.
#include <gtest/gtest.h>

#include <thread>

#include "plan_samples.h"

namespace luminal::test {
namespace {

/// Runs the function in so many threads and waits for them.
template <typename Function>
void in_threads(int count, Function function) {
  std::vector<std::thread> threads;
  for (int k = 0; k < count; ++k) threads.emplace_back([&, k] { function(k); });
  for (std::thread& thread : threads) thread.join();
}

TEST(PlansInThreads, LoadedFromOneFileTheyGiveTheSameNumbers) {
  const Folder folder;
  const Sample sample;
  Executable exe = compile(sample.g, sample.outputs());
  exe.save(folder.file("plan"));
  std::vector<std::vector<Array>> expected;
  for (int seed = 0; seed < 3; ++seed) expected.push_back(run(exe, 40 + seed, seed));
  std::atomic<int> wrong{0};
  in_threads(4, [&](int thread) {
    Executable mine = load(folder.file("plan"));
    for (int k = 0; k < 12; ++k) {
      const int seed = (thread + k) % 3;
      const std::vector<Array> actual = run(mine, 40 + seed, seed);
      for (size_t output = 0; output < actual.size(); ++output)
        wrong += actual[output].identical(expected[static_cast<size_t>(seed)][output]) ? 0 : 1;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(PlansInThreads, TheyAreCompiledAndSavedAtOnce) {
  const Folder folder;
  std::atomic<int> wrong{0};
  in_threads(3, [&](int thread) {
    const Sample sample;
    Executable exe = compile(sample.g, sample.outputs());
    exe.save(folder.file("plan"));
    Executable loaded = load(folder.file("plan"));
    const std::vector<Array> actual = run(loaded, 9, thread), expected = run(exe, 9, thread);
    for (size_t k = 0; k < expected.size(); ++k) wrong += actual[k].identical(expected[k]) ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0);
}

TEST(PlansInThreads, ResultsMayBeDroppedByOthers) {
  const Sample sample;
  Executable exe = compile(sample.g, sample.outputs());
  const std::vector<Array> expected = run(exe, 30);
  std::vector<std::vector<Array>> handed(20);
  std::atomic<size_t> ready{0};
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    for (size_t k = 0; k < handed.size(); ++k) {
      while (ready.load() <= k) std::this_thread::yield();
      wrong += handed[k][0].identical(expected[0]) ? 0 : 1;
      handed[k].clear();
    }
  });
  for (std::vector<Array>& each : handed) {
    each = run(exe, 30);
    ++ready;
  }
  reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace luminal::test
