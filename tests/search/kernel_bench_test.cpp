#include "luminal/search/kernel_bench.h"

#include <gtest/gtest.h>

#include <atomic>

#include "luminal/kernel/canonical.h"
#include "luminal/luminal.h"
#include "luminal/search/calibration.h"
#include "luminal/search/kernel_space.h"
#include "luminal/support/log.h"
#include "tests/search/one_kernel.h"

namespace luminal::search {
namespace {

using Why = Rejected::Why;

Tensor doubled(Graph& g) { return g.input("x", {1000}) * 2.0F; }

/// What comes to an end does so before the limit, however busy the machine is.
const BenchOptions kQuick{
    .check = {.limit = std::chrono::minutes(5), .least = std::chrono::minutes(5)},
    .measure = {.seconds = 0.01}};

TEST(KernelBench, TheDefaultOfAKernelPassesAndHasATime) {
  const KernelTask task = task_of([](Graph& g) {
    return softmax(matmul(g.input("a", {33, 40}), g.input("b", {40, 17})), -1);
  });
  KernelBench bench(task, runtime::default_thread_team(), kQuick);
  const std::string standard = kernel_space(task)->starts().front();
  const Tried tried = bench.try_out({standard});
  ASSERT_TRUE(std::holds_alternative<Timing>(tried.results[0])) << to_string(tried.results[0]);
  EXPECT_GT(std::get<Timing>(tried.results[0]).median_us, 0);
}

TEST(KernelSpace, HintsThatAreWaysOfTheKernelComeRightAfterTheDefault) {
  const KernelTask task = task_of([](Graph& g) { return softmax(g.input("x", {64, 300}), -1); });
  const auto plain = kernel_space(task);
  const std::string standard = plain->starts().front();
  const std::vector<std::string> others = plain->neighbours(standard);
  ASSERT_GE(others.size(), 2U);
  const auto hinted =
      kernel_space(task, {"no schedule of ours", others[1], "gemm mr=8", standard, others[1]});
  ASSERT_EQ(hinted->starts().size(), plain->starts().size() + 1);
  EXPECT_EQ(hinted->starts()[0], standard);
  EXPECT_EQ(hinted->starts()[1], others[1]);
}

TEST(KernelSpace, ChoicesThatMakeNoDifferenceAtFirstAreOfferedWhereTheyDo) {
  const KernelTask task = task_of([](Graph& g) { return softmax(g.input("x", {64, 300}), -1); });
  const auto space = kernel_space(task);
  const std::string standard = space->starts().front();
  ASSERT_NE(standard.find("keep=1"), std::string::npos) << standard;
  const auto with = [](std::string way, const std::string& choice, const std::string& value) {
    return way.replace(way.find(choice), choice.size(), value);
  };
  // Whoever keeps rows has no use for a pass that finds maximum and sum at a time.
  const std::string kept = with(standard, "online=0", "online=1");
  EXPECT_EQ(space->identity(kept), space->identity(standard));
  const std::string not_kept = with(standard, "keep=1", "keep=0");
  const std::string online = with(not_kept, "online=0", "online=1");
  EXPECT_NE(space->identity(online), space->identity(not_kept));
  const std::vector<std::string> near = space->neighbours(not_kept);
  EXPECT_NE(std::find(near.begin(), near.end(), online), near.end());
  // Somebody may have found it best.
  EXPECT_EQ(kernel_space(task, {online})->starts()[1], online);
  EXPECT_EQ(space->identity("no schedule of ours"), "");
  EXPECT_GT(space->cost(standard).value_or(0), 0);
  EXPECT_EQ(space->cost("no schedule of ours"), std::nullopt);
}

TEST(KernelSpace, CostsAreThoseOfTheMachineThatWasFitted) {
  const KernelTask task = task_of([](Graph& g) { return softmax(g.input("x", {64, 300}), -1); });
  const auto space = kernel_space(task);
  const std::string standard = space->starts().front();
  const double before = *space->cost(standard);
  kernel::Machine slow = kernel::Machine::cpu(2);
  slow.launch_us += 1000;
  space->set_machine(slow);
  EXPECT_GT(*space->cost(standard), before + 900);
}

TEST(KernelBench, WhatNeedsMoreMemoryThanThereIsIsRejected) {
  const KernelTask task = task_of(doubled);
  KernelBench bench(
      task,
      [](const std::string& schedule) -> std::variant<Candidate, Rejected> {
        Candidate candidate;
        candidate.schedule = schedule;
        candidate.temporaries = {int64_t{1} << 60};
        return candidate;
      },
      runtime::default_thread_team(), kQuick);
  const Measurement result = bench.try_out({"huge"}).results[0];
  ASSERT_TRUE(std::holds_alternative<Rejected>(result));
  EXPECT_EQ(std::get<Rejected>(result).why, Why::kResources) << to_string(result);
}

void double_all(void* const* buffers) {
  const auto* x = static_cast<const float*>(buffers[0]);
  for (int i = 0; i < 1000; ++i) static_cast<float*>(buffers[1])[i] = 2.0F * x[i];
}

/// Code of the tests' own, planted in place of a launch.
runtime::CpuEntry planted(const std::string& schedule) {
  if (schedule == "wrong")
    return [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
      static_cast<float*>(buffers[1])[17] = 3;
    };
  if (schedule == "crashing")
    return [](void* const*, const int64_t*, int64_t, int64_t, std::byte*) {
      *reinterpret_cast<volatile int*>(8) = 1;
    };
  if (schedule == "endless")
    return [](void* const*, const int64_t*, int64_t, int64_t, std::byte*) {
      for (volatile bool forever = true; forever;) {
      }
    };
  // These would end the search, or never end, while they are timed.
  if (schedule == "crashing later")
    return [](void* const* buffers, const int64_t*, int64_t begin, int64_t, std::byte*) {
      static int runs = 0;
      if (begin == 0 && ++runs > 2) *reinterpret_cast<volatile int*>(8) = 1;
      double_all(buffers);
    };
  if (schedule == "endless later")
    return [](void* const* buffers, const int64_t*, int64_t begin, int64_t, std::byte*) {
      static int runs = 0;
      runs += begin == 0 ? 1 : 0;
      for (volatile bool forever = runs > 2; forever;) {
      }
      double_all(buffers);
    };
  return [](void* const* buffers, const int64_t*, int64_t, int64_t, std::byte*) {
    static_cast<volatile float*>(buffers[1])[1024] = 1;  // behind the last page
  };
}

/// The code of a task, with that of the tests' own as its last launch where a schedule names it.
std::variant<Candidate, Rejected> with_planted(const KernelTask& task,
                                               const std::string& schedule) {
  kernel::Arena arena;
  const kernel::Kernel kernel = kernel::rebuild(
      *task.arena, task.kernel, kernel::canonicalize(*task.arena, task.kernel), arena);
  auto result = load_candidate(codegen::cpu_kernel(arena, kernel, task.target, task.options),
                               codegen::KernelCompiler(), {});
  if (schedule != kernel_space(task)->starts().front())
    std::get<Candidate>(result).launches.back().entry = planted(schedule);
  return result;
}

TEST(KernelBench, AnEndlessKernelIsRejected) {
  const KernelTask task = task_of(doubled);
  BenchOptions options = kQuick;
  options.check.limit = std::chrono::milliseconds(200);
  KernelBench bench(
      task, [&](const std::string& schedule) { return with_planted(task, schedule); },
      runtime::default_thread_team(), options);
  for (const char* schedule : {"endless", "endless later"}) {
    const Measurement result = bench.try_out({schedule}).results[0];
    ASSERT_TRUE(std::holds_alternative<Rejected>(result)) << schedule;
    EXPECT_EQ(std::get<Rejected>(result).why, Why::kTimeout) << to_string(result);
  }
}

TEST(KernelBench, PlantedKernelsAreRejectedWithTheRightReasonAndNeverTriedAgain) {
  const KernelTask task = task_of(doubled);
  const std::string standard = kernel_space(task)->starts().front();
  const ListedSpace space({standard, "wrong", "crashing", "stray", "crashing later"});
  std::atomic<int> built{0};  // planted candidates, on all threads
  const auto builder = [&](const std::string& schedule) {
    if (schedule != standard) ++built;
    return with_planted(task, schedule);
  };
  TuningDatabase database = TuningDatabase::in_memory();
  const TuningKey key = task.key("here");
  KernelBench bench(task, builder, runtime::default_thread_team(), kQuick);
  const TuneResult result = tune(database, key, space, bench, {});
  EXPECT_EQ(result.choice.schedule, standard);
  EXPECT_EQ(result.choice.rejected, 4U);
  const std::pair<const char*, Why> reasons[] = {{"wrong", Why::kWrongResult},
                                                 {"crashing", Why::kCrash},
                                                 {"stray", Why::kOutOfBounds},
                                                 {"crashing later", Why::kCrash}};
  for (const auto& [schedule, why] : reasons) {
    const auto found = database.find(key, schedule);
    ASSERT_TRUE(found && std::holds_alternative<Rejected>(*found)) << schedule;
    EXPECT_EQ(std::get<Rejected>(*found).why, why) << to_string(*found);
  }
  built = 0;
  KernelBench next(task, builder, runtime::default_thread_team(), kQuick);
  // A time that was taken beside other work may be taken again; what is rejected is not.
  const TunedChoice again = tune(database, key, space, next, {}).choice;
  EXPECT_EQ(again.schedule, standard);
  EXPECT_EQ(again.rejected, 4U);
  EXPECT_EQ(built.load(), 0);
}

/// What is warned of in a test.
struct Warnings {
  std::vector<std::string> lines;
  support::ScopedLogSink capture{[this](support::LogLevel level, std::string_view message) {
                                   if (level >= support::LogLevel::kWarn)
                                     lines.emplace_back(message);
                                 },
                                 support::LogLevel::kWarn};
};

/// Candidates of which none can be checked, for no fault of theirs: that is told once.
void expect_interrupted(KernelBench& bench) {
  Warnings warnings;
  for (const Tried& tried : {bench.try_out({"a", "b"}), bench.try_out({"c"})})
    for (const Measurement& result : tried.results) {
      ASSERT_TRUE(std::holds_alternative<Rejected>(result)) << to_string(result);
      EXPECT_EQ(std::get<Rejected>(result).why, Why::kInterrupted) << to_string(result);
    }
  ASSERT_EQ(warnings.lines.size(), 1U);
  EXPECT_NE(warnings.lines[0].find("a kernel cannot be checked"), std::string::npos)
      << warnings.lines[0];
}

TEST(KernelBench, WhatCannotBeCheckedIsNobodysFault) {
  KernelTask task = task_of([](Graph& g) { return g.input("x", {g.dim("n"), 40}) * 2.0F; });
  task.options.dims.clear();  // so there is no data for it
  KernelBench bench(
      task,
      [](const std::string& schedule) -> std::variant<Candidate, Rejected> {
        Candidate candidate;
        candidate.schedule = schedule;
        return candidate;
      },
      runtime::default_thread_team(), kQuick);
  expect_interrupted(bench);
}

TEST(KernelBench, NorIsWhatThereIsNoMemoryToCheck) {
  const KernelTask task = task_of(doubled);
  KernelBench bench(
      task,
      [](const std::string& schedule) -> std::variant<Candidate, Rejected> {
        Candidate candidate;
        candidate.schedule = schedule;
        auto form = std::make_shared<CandidateForm>();  // more than it seems to be
        form->temporaries = {symbolic::Expr(int64_t{1} << 60)};
        candidate.form = std::move(form);
        return candidate;
      },
      runtime::default_thread_team(), kQuick);
  expect_interrupted(bench);
}

TEST(KernelBench, AScheduleThatCannotBeBuiltIsRejected) {
  const KernelTask task = task_of(doubled);
  KernelBench bench(
      task,
      [](const std::string&) -> std::variant<Candidate, Rejected> {
        return Rejected{Why::kCompile, "no registers left"};
      },
      runtime::default_thread_team(), kQuick);
  const Tried tried = bench.try_out({"a", "b"});
  for (const Measurement& result : tried.results)
    EXPECT_EQ(result, Measurement(Rejected{Why::kCompile, "no registers left"}));
}

TEST(KernelTask, KeysDifferByShapesAndDevice) {
  KernelTask task = task_of(doubled);
  const TuningKey plain = task.key("cpu a");
  EXPECT_EQ(plain, task.key("cpu a"));
  EXPECT_NE(plain, task.key("cpu b"));
  task.options.dims["S0"] = 5;
  EXPECT_NE(plain, task.key("cpu a"));
  EXPECT_EQ(task.key("cpu a").shapes, "S0=5");
}

TEST(Calibration, ConstantsThatMadeTheTimesAreFoundAgain) {
  std::vector<KernelTask> tasks;
  for (const int64_t size : {64, 256, 1024, 2048}) {
    tasks.push_back(task_of([&](Graph& g) { return relu(g.input("x", {size, size})); }));
    tasks.push_back(task_of([&](Graph& g) {
      return matmul(g.input("a", {size / 2, size}), g.input("b", {size, 64}));
    }));
    tasks.push_back(task_of([&](Graph& g) { return softmax(g.input("x", {size, 128}), -1); }));
  }
  const kernel::Machine machine = kernel::Machine::cpu(2);
  kernel::Machine real = machine;
  real.memory_bytes /= 3;
  real.matrix_flops *= 2;
  real.launch_us *= 4;
  std::vector<TimedWork> timed;
  for (const KernelTask& task : tasks) {
    const kernel::Estimate estimate = kernel::estimate(*task.arena, task.kernel, real);
    EXPECT_EQ(kernel::microseconds(estimate.work, real), estimate.microseconds);
    timed.push_back({estimate.work, estimate.microseconds});
  }
  const double before = quality_of(timed, machine).typical_factor;
  const kernel::Machine found = fitted(timed, machine);
  EXPECT_GT(before, 1.5);
  EXPECT_LT(quality_of(timed, found).typical_factor, 1.15);
  EXPECT_GT(quality_of(timed, found).rank_correlation, 0.97);
  EXPECT_GT(quality_of(timed, found).pairs_in_order, 0.97);
  EXPECT_EQ(quality_of(timed, found).kernels, tasks.size());
  EXPECT_EQ(fitted({}, machine).launch_us, machine.launch_us);
}

}  // namespace
}  // namespace luminal::search
