// What a workbench rejects is told before anything is timed: a search that ends then knows it.
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "luminal/kernel/canonical.h"
#include "luminal/luminal.h"
#include "luminal/search/kernel_bench.h"
#include "luminal/search/kernel_space.h"
#include "luminal/search/sampler.h"
#include "tests/search/one_kernel.h"

namespace luminal::search {
namespace {

/// x * 2 as a task.
KernelTask doubled() {
  return task_of([](Graph& g) { return g.input("x", {1000}) * 2.0F; });
}

/// Code of the task, spoilt if that is asked for.
std::variant<Candidate, Rejected> built(const KernelTask& task, const std::string& schedule) {
  if (schedule == "impossible") return Rejected{Rejected::Why::kCompile, "no registers left"};
  kernel::Arena arena;
  const kernel::Kernel kernel = kernel::rebuild(
      *task.arena, task.kernel, kernel::canonicalize(*task.arena, task.kernel), arena);
  auto result = load_candidate(codegen::cpu_kernel(arena, kernel, task.target, task.options),
                               codegen::KernelCompiler(), {});
  if (schedule == "wrong")
    std::get<Candidate>(result).launches.back().entry = [](void* const* buffers, const int64_t*,
                                                           int64_t, int64_t, std::byte*) {
      static_cast<float*>(buffers[1])[17] = 3;
    };
  return result;
}

TEST(ToldRejections, AreToldOnceAndBeforeTheFirstTime) {
  const KernelTask task = doubled();
  std::multiset<std::string> told;
  std::optional<size_t> told_before_timing;
  BenchOptions options{
      .check = {.limit = std::chrono::minutes(5), .least = std::chrono::minutes(5)},
      .measure = {.seconds = 0.01}};
  options.measure.clock = [&] {
    if (!told_before_timing) told_before_timing = told.size();
    return machine_clock_us();
  };
  KernelBench bench(
      task, [&](const std::string& schedule) { return built(task, schedule); },
      runtime::default_thread_team(), options);
  const auto listen = [&](const std::string& schedule, const Rejected& why) {
    told.insert(schedule);
    EXPECT_EQ(why.why, schedule == "wrong" ? Rejected::Why::kWrongResult : Rejected::Why::kCompile);
  };
  const std::vector<std::string> ways = {kernel_space(task)->starts().front(), "wrong",
                                         "impossible"};
  const Tried tried = bench.try_out_telling(ways, listen);
  EXPECT_EQ(told, (std::multiset<std::string>{"impossible", "wrong"}));
  EXPECT_EQ(told_before_timing, 2U);
  EXPECT_TRUE(std::holds_alternative<Timing>(tried.results[0])) << to_string(tried.results[0]);
  bench.try_out_telling(ways, listen);
  EXPECT_EQ(told.size(), 2U);
}

}  // namespace
}  // namespace luminal::search
