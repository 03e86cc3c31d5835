// Several executables at once, in several threads: they share the team of threads and nothing else.
// One executable is for one thread at a time, and says so.
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

TEST(PlansInThreads, DifferentGraphsAreCompiledAndRunAtOnce) {
  // The sizes differ, so that every thread makes kernels of its own, and large enough that all of
  // them want the team.
  std::vector<float> worst(4, 1.0F);
  in_threads(4, [&](int thread) {
    const Graph g;
    const int64_t size = 96 + 16 * thread;
    const Tensor x = g.input("x", {size, size});
    const Tensor w = g.weight("w", {size, size});
    const Tensor y = softmax(matmul(gelu(matmul(x, w)), w), -1);
    std::vector<std::vector<float>> results;
    for (const Backend backend : {Backend::kInterpreter, Backend::kCpu}) {
      Executable exe = compile(g, {y}, {.backend = backend});
      exe.set(x, numbers({size, size}, thread));
      exe.set(w, numbers({size, size}, thread + 10));
      for (int k = 0; k < (backend == Backend::kCpu ? 8 : 1); ++k) {
        exe.run();
        results.push_back(exe.get<float>(y));
      }
    }
    float difference = 0;
    for (const std::vector<float>& result : results)
      for (size_t k = 0; k < result.size(); ++k)
        difference = std::max(difference, std::abs(result[k] - results[0][k]));
    worst[static_cast<size_t>(thread)] = difference;
  });
  for (const float difference : worst) EXPECT_LT(difference, 1e-5F);
}

TEST(PlansInThreads, OneGraphIsCompiledByAll) {
  const Sample sample;
  Executable alone = compile(sample.g, sample.outputs());
  const std::vector<Array> expected = run(alone, 20);
  std::atomic<int> wrong{0};
  in_threads(4, [&](int) {
    Executable exe = compile(sample.g, sample.outputs());
    const std::vector<Array> actual = run(exe, 20);
    for (size_t k = 0; k < expected.size(); ++k) wrong += actual[k].identical(expected[k]) ? 0 : 1;
  });
  EXPECT_EQ(wrong, 0);
}

/// An executable whose run calls a function of the test's.
struct Interrupted {
  explicit Interrupted(Backend backend) : exe(compile(g, {y}, {.backend = backend})) {
    exe.set(x, numbers({4}, 1));
  }

  std::function<void()> inside;
  Graph g;
  Dim n = g.dim("n", 1, 8);
  Tensor x = g.input("x", {4});
  Tensor y = custom("mine", {x}, f32, {4},
                    [this](std::span<const Array> given, Array& result) {
                      if (inside) inside();
                      result = given[0];
                    }) +
             1;
  Executable exe;
};

TEST(PlansInThreads, AnExecutableThatRunsSaysSoToWhoeverUsesIt) {
  for (const Backend backend : {Backend::kCpu, Backend::kInterpreter}) {
    Interrupted run(backend);
    const std::vector<std::pair<std::string, std::function<void()>>> uses = {
        {"run", [&] { run.exe.run(); }},
        {"set", [&] { run.exe.set(run.x, numbers({4}, 2)); }},
        {"set", [&] { run.exe.set("x", numbers({4}, 2)); }},
        {"set_dim", [&] { run.exe.set_dim("n", 2); }},
        {"get", [&] { run.exe.get(run.y); }},
        {"retrieve", [&] { run.exe.retrieve(run.y); }},
        {"drop", [&] { run.exe.drop(run.x); }},
        {"swap", [&] { run.exe.swap(run.x, run.x); }},
        {"update", [&] { run.exe.update(run.x, run.y); }},
    };
    std::vector<std::string> messages;
    const auto use_all = [&] {
      for (const auto& [name, use] : uses) messages.push_back(error_of(use));
    };
    run.inside = [&] {
      use_all();
      std::thread(use_all).join();
    };
    run.exe.run();
    ASSERT_EQ(messages.size(), 2 * uses.size());
    for (size_t k = 0; k < messages.size(); ++k)
      EXPECT_EQ(messages[k],
                uses[k % uses.size()].first +
                    ": the executable is running, in another thread or around this call, and is "
                    "used by one at a time; compile() or load() one for each thread");
    run.inside = nullptr;
    run.exe.run();
    EXPECT_EQ(run.exe.get<float>(run.y)[3], run.exe.get<float>(run.x)[3] + 1);
  }
}

TEST(PlansInThreads, AnExecutableWhoseRunFailedRunsAgain) {
  for (const Backend backend : {Backend::kCpu, Backend::kInterpreter}) {
    Interrupted run(backend);
    run.inside = [] { throw UserError("mine", "not today"); };
    EXPECT_EQ(error_of([&] { run.exe.run(); }), "mine: not today");
    run.inside = nullptr;
    run.exe.run();
    EXPECT_EQ(run.exe.get<float>(run.y)[0], run.exe.get<float>(run.x)[0] + 1);
  }
}

TEST(PlansInThreads, OneAfterTheOtherMayUseAnExecutable) {
  const Sample sample;
  Executable exe = compile(sample.g, sample.outputs());
  const std::vector<Array> expected = run(exe, 30);
  for (int k = 0; k < 5; ++k)
    in_threads(1, [&](int) { EXPECT_TRUE(run(exe, 30)[0].identical(expected[0])); });
}

}  // namespace
}  // namespace luminal::test
