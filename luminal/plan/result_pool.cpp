#include "luminal/plan/result_pool.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "luminal/runtime/cpu/arena.h"

namespace luminal::plan {
namespace {

using runtime::HostMemory;

/// More than a run and the one before it need is given back to the system.
constexpr size_t kMostFree = 64;

}  // namespace

struct ResultPool::State {
  std::mutex mutex;
  std::vector<HostMemory> free;  // least recently used first

  HostMemory take(int64_t bytes) {
    {
      const std::lock_guard lock(mutex);
      for (size_t k = free.size(); k-- > 0;) {
        // Far too large blocks are left to others.
        if (free[k].size() < bytes || free[k].size() > 2 * bytes + (int64_t{1} << 16)) continue;
        HostMemory memory = std::move(free[k]);
        free.erase(free.begin() + static_cast<std::ptrdiff_t>(k));
        return memory;
      }
    }
    return HostMemory(bytes);
  }

  void give_back(HostMemory memory) {
    const std::lock_guard lock(mutex);
    if (free.size() >= kMostFree) free.erase(free.begin());
    free.push_back(std::move(memory));
  }
};

ResultPool::ResultPool() : state_(std::make_shared<State>()) {}

std::shared_ptr<std::byte> ResultPool::take(int64_t bytes) {
  auto memory = std::make_shared<HostMemory>(state_->take(std::max<int64_t>(bytes, 1)));
  std::byte* data = memory->data();
  // Owned by the array alone, so that writing to it needs no copy.
  return {data, [memory, home = std::weak_ptr<State>(state_)](std::byte*) {
            if (const std::shared_ptr<State> state = home.lock())
              state->give_back(std::move(*memory));
          }};
}

}  // namespace luminal::plan
