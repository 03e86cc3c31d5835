// A launch of several entries: the threads are started once, each runs what is too small to be
// shared for itself, then its share of every other entry. Pointers are kept per thread, since
// buffers of the threads' own are elsewhere for each of them.
#pragma once

#include <vector>

#include "luminal/plan/plan_values.h"
#include "luminal/runtime/cpu/thread_team.h"

namespace luminal::plan {

/// The entry of every kernel of a plan, by number.
using KernelEntries = std::vector<runtime::CpuEntry>;

/// Writes what has changed. What workers read in every run stays in their caches for as long as
/// nobody writes there, be it the same again.
template <typename Value>
void renew(Value& place, const Value& value) {
  if (place != value) place = value;
}

/// See above. Everything referred to must stay as it is until run() returns.
class JointLaunch {
 public:
  /// Fills in addresses of this run: those of buffers, and the memory of the threads, which is
  /// aligned_size(values.thread_bytes) for each. Takes no memory if it was called with as many
  /// entries before.
  void place(const PlanValues& values, const KernelEntries& entries, const LaunchStep& step,
             const LaunchValues& numbers, const std::vector<std::byte*>& addresses,
             std::byte* thread_memory, int threads);

  /// Runs it on `threads` threads of a team, as many as it was placed for at most.
  void run(runtime::ThreadTeam& team, int threads);

 private:
  struct Part {
    runtime::CpuEntry entry = nullptr;
    const std::vector<int64_t>* scalars = nullptr;
    int64_t items = 0;
    int64_t chunk = 0;
    size_t buffers = 0;
    std::vector<void*> pointers;  // of the first thread, then of the next
  };

  void fill(Part& part, const KernelEntries& entries, const LaunchStep& launch,
            const LaunchValues& numbers, const std::vector<std::byte*>& addresses, int threads);
  void call(const Part& part, int64_t begin, int64_t end, int thread) const;
  void call_first(int thread) const;
  void run_shares(int thread, int threads) const;
  void run_chunks(runtime::ThreadTeam& team, int threads) const;

  std::vector<Part> first_;
  std::vector<Part> parts_;
  std::byte* memory_ = nullptr;
  int64_t stride_ = 0;
  // Found again in every run, so on a line that workers do not read.
  alignas(64) std::vector<ThreadBuffer> own_;
};

}  // namespace luminal::plan
