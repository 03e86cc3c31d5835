// What this machine can do at most, measured by generated kernels in the same run as the case that
// is compared with it: multiplications per second in registers and bytes per second read.
#pragma once

#include <llvm/IR/IntrinsicsX86.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "luminal/codegen/llvm/jit_for_tests.h"
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
      // What ran before left other data in the caches.
      if (repeats[i] > 1) functions[i]();
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

/// A kernel that does nothing but multiply and add: `begin` to `end` rounds of 16 vectors.
enum class PeakKind { kF32, kBf16, kI8 };
inline codegen::TestKernel peak_kernel(PeakKind kind) {
  using codegen::VectorBuilder;
  return codegen::TestKernel(codegen::host_target(), [kind](VectorBuilder& builder,
                                                            const codegen::EntryArguments& entry) {
    llvm::IRBuilder<>& ir = builder.ir();
    const int lanes = builder.target().lanes(32);
    llvm::Type* type =
        VectorBuilder::vector(kind == PeakKind::kI8 ? builder.i32() : builder.f32(), lanes);
    llvm::Value* memory = builder.buffer(entry, 0);
    llvm::Value* x = builder.load(type, memory);
    const int count = builder.target().vector_registers() == 32 ? 16 : 10;
    codegen::Carried sums(static_cast<size_t>(count), llvm::Constant::getNullValue(type));
    sums = builder.loop(
        entry.begin, entry.end, builder.index(1), sums,
        [&](llvm::Value*, llvm::ArrayRef<llvm::Value*> now) {
          codegen::Carried next;
          for (llvm::Value* sum : now) {
            if (kind == PeakKind::kF32) {
              next.push_back(builder.mul_add(x, x, sum));
            } else if (kind == PeakKind::kBf16) {
              llvm::Value* pairs =
                  ir.CreateBitCast(x, VectorBuilder::vector(ir.getBFloatTy(), 2 * lanes));
              next.push_back(builder.call_intrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512,
                                                    {}, {sum, pairs, pairs}));
            } else {
              next.push_back(builder.call_intrinsic(llvm::Intrinsic::x86_avx512_vpdpbusd_512, {},
                                                    {sum, x, x}));
            }
          }
          return next;
        });
    llvm::Value* total = sums[0];
    for (size_t i = 1; i < sums.size(); ++i)
      total = kind == PeakKind::kI8 ? ir.CreateAdd(total, sums[i]) : ir.CreateFAdd(total, sums[i]);
    builder.store(total, builder.offset(memory, 64));
  });
}

/// Operations (two per product) of one round of peak_kernel.
inline double peak_operations(PeakKind kind) {
  const codegen::CpuTarget& target = codegen::host_target();
  const double group = kind == PeakKind::kF32 ? 1 : kind == PeakKind::kBf16 ? 2 : 4;
  return 2 * group * target.lanes(32) * (target.vector_registers() == 32 ? 16 : 10);
}

/// Reads the lines (of 64 bytes) `begin` to `end` of its buffer.
inline codegen::TestKernel read_kernel() {
  using codegen::VectorBuilder;
  return codegen::TestKernel(codegen::host_target(), [](VectorBuilder& builder,
                                                        const codegen::EntryArguments& entry) {
    const int lanes = builder.target().lanes(32);
    llvm::Type* type = VectorBuilder::vector(builder.i32(), lanes);
    llvm::Value* memory = builder.buffer(entry, 0);
    const codegen::Carried zeros(4, llvm::Constant::getNullValue(type));
    const codegen::Carried sums = builder.loop(
        entry.begin, entry.end, builder.index(4), zeros,
        [&](llvm::Value* line, llvm::ArrayRef<llvm::Value*> now) {
          codegen::Carried next(now.begin(), now.end());
          llvm::Value* at = builder.offset(memory, builder.ir().CreateMul(line, builder.index(64)));
          for (int i = 0; i < 256; i += lanes * 4) {
            llvm::Value*& sum = next[static_cast<size_t>(i / 64)];
            sum = builder.ir().CreateXor(sum, builder.load(type, builder.offset(at, i)));
          }
          return next;
        });
    llvm::Value* total = sums[0];
    for (size_t i = 1; i < 4; ++i) total = builder.ir().CreateXor(total, sums[i]);
    builder.store(total, builder.buffer(entry, 1));
  });
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
