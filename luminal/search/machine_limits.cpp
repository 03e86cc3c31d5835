#include "luminal/search/machine_limits.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>

#include "luminal/codegen/llvm/limit_kernels.h"
#include "luminal/runtime/cpu/arena.h"
#include "luminal/runtime/cpu/features.h"
#include "luminal/runtime/cpu/module.h"
#include "luminal/runtime/cpu/round_trip.h"
#include "luminal/runtime/cpu/thread_team.h"

namespace luminal::search {
namespace {

constexpr int64_t kLine = 64;
/// What a thread writes to.
constexpr int64_t kOwnBytes = codegen::kPeakBytes;
/// More than caches hold, but for machines that have the caches of many.
constexpr int64_t kMemoryBytes = int64_t{192} << 20;
constexpr int64_t kMostOfSharedCache = int64_t{12} << 20;

/// An entry that runs over items on all threads.
class LimitKernel {
 public:
  LimitKernel(const codegen::KernelSource& source, runtime::ThreadTeam& team)
      : module_(codegen::KernelCompiler(codegen::host_target(), &codegen::default_kernel_cache())
                    .compile(source)),
        entry_(module_.entry("kernel")),
        team_(team) {}

  /// Each thread runs its share of the items, in steps of four, with a second buffer of its own.
  void run(std::byte* shared, std::byte* own, int64_t items) const {
    team_.static_loop(items / 4, [&](int64_t begin, int64_t end, int thread) {
      void* buffers[] = {shared, own + thread * kOwnBytes};
      entry_(buffers, nullptr, begin * 4, end * 4, nullptr);
    });
  }
  /// Each thread runs all items, on a buffer of its own.
  void run_each(std::byte* own, int64_t items) const {
    team_.run([&](int thread) {
      void* buffers[] = {own + thread * kOwnBytes};
      entry_(buffers, nullptr, 0, items, nullptr);
    });
  }

 private:
  runtime::CpuModule module_;
  runtime::CpuEntry entry_;
  runtime::ThreadTeam& team_;
};

/// Seconds of a run, the least of a few: what can be done at most is asked for, and whatever
/// disturbs only adds.
double seconds_of(const std::function<void()>& run) {
  using Clock = std::chrono::steady_clock;
  constexpr double kBudget = 0.06;
  constexpr int kLeast = 3;
  constexpr int kMost = 200;
  run();
  const Clock::time_point begin = Clock::now();
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k < kMost; ++k) {
    const Clock::time_point start = Clock::now();
    run();
    const Clock::time_point end = Clock::now();
    least = std::min(least, std::chrono::duration<double>(end - start).count());
    if (k + 1 >= kLeast && std::chrono::duration<double>(end - begin).count() > kBudget) break;
  }
  return least;
}

double peak(codegen::PeakKind kind, std::byte* own, runtime::ThreadTeam& team) {
  const codegen::CpuTarget& target = codegen::host_target();
  if (!codegen::has_peak(kind, target)) return 0;
  constexpr int64_t kRounds = 20000;
  const LimitKernel kernel(codegen::peak_source(kind), team);
  const double seconds = seconds_of([&] { kernel.run_each(own, kRounds); });
  return static_cast<double>(kRounds) * team.size() * codegen::peak_operations(kind, target) /
         seconds;
}

}  // namespace

double MachineLimits::read_rate(int64_t bytes) const {
  for (const Reads& each : reads)
    if (bytes <= each.bytes) return each.rate;
  return reads.empty() ? 0.0 : reads.back().rate;
}

MachineLimits measure_limits(runtime::ThreadTeam& team) {
  const runtime::CpuInfo& cpu = runtime::host_cpu();
  MachineLimits limits;
  limits.threads = team.size();
  const runtime::HostMemory own(team.size() * kOwnBytes);
  limits.f32_flops = peak(codegen::PeakKind::kF32, own.data(), team);
  limits.bf16_flops = peak(codegen::PeakKind::kBf16, own.data(), team);
  limits.i8_flops = peak(codegen::PeakKind::kI8, own.data(), team);
  runtime::HostMemory memory(kMemoryBytes);
  memory.populate();
  const LimitKernel read(codegen::read_source(), team);
  const int64_t near = std::min(cpu.l2_bytes * team.size() / 2, kMemoryBytes);
  const int64_t shared = std::min(cpu.l3_bytes / 2, kMostOfSharedCache);
  for (const int64_t bytes : {near, shared, kMemoryBytes}) {
    if (bytes < 4 * kLine || (!limits.reads.empty() && bytes <= limits.reads.back().bytes))
      continue;
    const double seconds = seconds_of([&] { read.run(memory.data(), own.data(), bytes / kLine); });
    limits.reads.push_back({bytes, static_cast<double>(bytes) / seconds});
  }
  limits.round_trip = runtime::round_trip_seconds(team);
  return limits;
}

MachineLimits measure_limits() { return measure_limits(runtime::default_thread_team()); }

}  // namespace luminal::search
