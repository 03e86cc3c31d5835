// What this machine can do at most, measured by generated kernels in the same run as the case that
// is compared with it: multiplications per second in registers and bytes per second read.
#pragma once

#include <time.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "luminal/codegen/llvm/jit_for_tests.h"
#include "luminal/codegen/llvm/limit_kernels.h"
#include "luminal/codegen/llvm/vector_builder.h"
#include "luminal/runtime/cpu/thread_team.h"
#include "luminal/support/stats.h"

namespace luminal::benchmarks {

/// Time of this thread alone where only one computes, so that others on the machine do not count;
/// else of the clock on the wall.
inline double now(bool own_time) {
  timespec time{};
  clock_gettime(own_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Seconds of one call.
inline double seconds(bool own_time, const std::function<void()>& function) {
  const double start = now(own_time);
  function();
  return now(own_time) - start;
}

/// Times several functions in turn, so that a disturbance hits all of them alike; the lower
/// quartile of each, which stands up to a busy machine better than the median.
inline std::vector<double> interleaved(const std::vector<std::function<void()>>& functions,
                                       bool own_time, double budget_seconds) {
  std::vector<std::vector<double>> samples(functions.size());
  std::vector<int> repeats;
  for (const auto& function : functions) {
    function();
    const double once = std::max(seconds(own_time, function), 1e-7);
    // A sample of several milliseconds, so that the clock and one interrupt do not matter.
    repeats.push_back(std::max(1, static_cast<int>(5e-3 / once)));
  }
  double spent = 0;
  while (spent < budget_seconds || samples[0].size() < 5)
    for (size_t i = 0; i < functions.size(); ++i) {
      // What ran before left other data in the caches; peers are timed after a call of theirs too.
      functions[i]();
      const double time = seconds(own_time, [&] {
        for (int j = 0; j < repeats[i]; ++j) functions[i]();
      });
      spent += time;
      samples[i].push_back(time / repeats[i]);
    }
  std::vector<double> result;
  for (const auto& each : samples) result.push_back(support::percentile(each, 0.25));
  return result;
}

using codegen::PeakKind;

/// A kernel that does nothing but multiply and add.
inline codegen::TestKernel peak_kernel(PeakKind kind) {
  return {codegen::host_target(), codegen::peak_source(kind)};
}

/// Operations (two per product) of one round of peak_kernel.
inline double peak_operations(PeakKind kind) {
  return codegen::peak_operations(kind, codegen::host_target());
}

/// Reads the lines (of 64 bytes) `begin` to `end` of its buffer.
inline codegen::TestKernel read_kernel() {
  return {codegen::host_target(), codegen::read_source()};
}

/// Copies the lines `begin` to `end` of its first buffer to the second, past the caches.
inline codegen::TestKernel copy_kernel() {
  using codegen::VectorBuilder;
  return codegen::TestKernel(
      codegen::host_target(), [](VectorBuilder& builder, const codegen::EntryArguments& entry) {
        llvm::Type* line = VectorBuilder::vector(builder.i32(), 16);
        llvm::Value* source = builder.buffer(entry, 0);
        llvm::Value* target = builder.buffer(entry, 1);
        builder.loop(entry.begin, entry.end, builder.index(1), [&](llvm::Value* index) {
          llvm::Value* at = builder.ir().CreateMul(index, builder.index(64));
          builder.store(builder.load(line, builder.offset(source, at)), builder.offset(target, at),
                        {.align = 64, .streaming = true});
        });
        builder.fence();
      });
}

}  // namespace luminal::benchmarks
