#include "luminal/plan/joint_launch.h"

#include <algorithm>
#include <atomic>

#include "luminal/runtime/cpu/arena.h"

namespace luminal::plan {

void JointLaunch::place(const PlanValues& values, const KernelEntries& entries,
                        const LaunchStep& step, const LaunchValues& numbers,
                        const std::vector<std::byte*>& addresses, std::byte* thread_memory,
                        int threads) {
  renew(memory_, thread_memory);
  renew(stride_, runtime::aligned_size(numbers.thread_bytes));
  values.find_thread_buffers(step, numbers, own_);
  first_.resize(step.first.size());
  for (size_t k = 0; k < first_.size(); ++k)
    fill(first_[k], entries, step.first[k], numbers.first[k], addresses, threads);
  parts_.resize(1 + step.beside.size());
  fill(parts_[0], entries, step, numbers, addresses, threads);
  for (size_t k = 0; k < step.beside.size(); ++k)
    fill(parts_[k + 1], entries, step.beside[k], numbers.beside[k], addresses, threads);
}

void JointLaunch::fill(Part& part, const KernelEntries& entries, const LaunchStep& launch,
                       const LaunchValues& numbers, const std::vector<std::byte*>& addresses,
                       int threads) {
  renew(part.entry, entries[launch.kernel]);
  renew(part.scalars, &numbers.scalars);
  renew(part.items, numbers.items);
  renew(part.chunk, launch.chunk);
  renew(part.buffers, launch.buffers.size());
  part.pointers.resize(part.buffers * static_cast<size_t>(threads));
  for (size_t k = 0; k < part.buffers; ++k) {
    const auto own = std::find_if(own_.begin(), own_.end(), [&](const ThreadBuffer& each) {
      return each.buffer == launch.buffers[k];
    });
    for (int thread = 0; thread < threads; ++thread)
      renew<void*>(part.pointers[static_cast<size_t>(thread) * part.buffers + k],
                   own == own_.end() ? addresses[launch.buffers[k]]
                                     : memory_ + thread * stride_ + own->offset);
  }
}

void JointLaunch::call(const Part& part, int64_t begin, int64_t end, int thread) const {
  if (begin >= end) return;
  part.entry(part.pointers.data() + static_cast<size_t>(thread) * part.buffers,
             part.scalars->data(), begin, end, memory_ + thread * stride_);
}

void JointLaunch::call_first(int thread) const {
  for (const Part& part : first_) call(part, 0, part.items, thread);
}

/// One range of every part. They are turned by one thread from part to part, so that what is left
/// over of each does not always fall to the first.
void JointLaunch::run_shares(int thread, int threads) const {
  const auto share = [&](size_t k) {
    const int turn =
        static_cast<int>((static_cast<size_t>(thread) + k) % static_cast<size_t>(threads));
    return runtime::static_range(parts_[k].items, turn, threads);
  };
  bool idle = true;
  for (size_t k = 0; k < parts_.size(); ++k) idle = idle && share(k).begin >= share(k).end;
  if (idle) return;
  call_first(thread);
  for (size_t k = 0; k < parts_.size(); ++k) call(parts_[k], share(k).begin, share(k).end, thread);
}

/// Chunks of all parts, one part after the other, taken as threads get free.
void JointLaunch::run_chunks(runtime::ThreadTeam& team, int threads) const {
  const auto size = [&](const Part& part) {
    return part.chunk > 0 ? part.chunk : std::max<int64_t>(1, (part.items + threads - 1) / threads);
  };
  std::atomic<int64_t> next{0};
  team.run([&](int thread) {
    if (thread >= threads) return;
    bool begun = false;
    int64_t before = 0;  // chunks of the parts before
    int64_t chunk = next.fetch_add(1, std::memory_order_relaxed);
    for (const Part& part : parts_) {
      const int64_t length = size(part);
      const int64_t count = (part.items + length - 1) / length;
      for (; chunk < before + count; chunk = next.fetch_add(1, std::memory_order_relaxed)) {
        if (!begun) call_first(thread);
        begun = true;
        const int64_t begin = (chunk - before) * length;
        call(part, begin, std::min(part.items, begin + length), thread);
      }
      before += count;
    }
  });
}

void JointLaunch::run(runtime::ThreadTeam& team, int threads) {
  if (threads == 1) return run_shares(0, 1);
  const bool chunks =
      std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.chunk > 0; });
  if (chunks) return run_chunks(team, threads);
  team.run([this, threads](int thread) {
    if (thread < threads) run_shares(thread, threads);
  });
}

}  // namespace luminal::plan
