#include "luminal/plan/result_pool.h"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

#include "luminal/runtime/cpu/arena.h"
#include "luminal/support/check.h"

namespace luminal::plan {
namespace {

/// More than a run and the one before it need is given back to the system.
constexpr size_t kMostFree = 64;

/// What a shared pointer needs to count its owners.
constexpr size_t kControlBytes = 128;

}  // namespace

/// One piece of memory, and room for the counter of the pointer that owns it.
struct ResultPool::Block {
  runtime::HostMemory memory;
  std::weak_ptr<State> home;
  alignas(std::max_align_t) std::byte control[kControlBytes];
};

struct ResultPool::State {
  std::mutex mutex;
  std::vector<std::unique_ptr<Block>> free;  // least recently used first

  State() { free.reserve(kMostFree + 1); }

  std::unique_ptr<Block> take(int64_t bytes) {
    {
      const std::lock_guard lock(mutex);
      for (size_t k = free.size(); k-- > 0;) {
        // Far too large blocks are left to others.
        const int64_t size = free[k]->memory.size();
        if (size < bytes || size > 2 * bytes + (int64_t{1} << 16)) continue;
        std::unique_ptr<Block> block = std::move(free[k]);
        free.erase(free.begin() + static_cast<std::ptrdiff_t>(k));
        return block;
      }
    }
    auto block = std::make_unique<Block>();
    block->memory = runtime::HostMemory(bytes);
    return block;
  }

  void give_back(std::unique_ptr<Block> block) {
    const std::lock_guard lock(mutex);
    if (free.size() >= kMostFree) free.erase(free.begin());
    free.push_back(std::move(block));
  }
};

/// Keeps the counter in the block. It is let go last, after the last owner: then the block is free.
template <typename T>
struct ResultPool::ControlAllocator {
  using value_type = T;

  explicit ControlAllocator(Block* for_block) : block(for_block) {}
  template <typename Other>
  // NOLINTNEXTLINE(google-explicit-constructor): allocators convert to those of other types.
  ControlAllocator(const ControlAllocator<Other>& other) : block(other.block) {}

  T* allocate(size_t count) {
    LUMINAL_CHECK(count * sizeof(T) <= kControlBytes, "a shared pointer's counter is too large");
    return reinterpret_cast<T*>(block->control);
  }
  void deallocate(T*, size_t) {
    std::unique_ptr<Block> owned(block);
    if (const std::shared_ptr<State> state = owned->home.lock()) state->give_back(std::move(owned));
  }
  friend bool operator==(const ControlAllocator&, const ControlAllocator&) = default;

  Block* block;
};

ResultPool::ResultPool() : state_(std::make_shared<State>()) {}

std::shared_ptr<std::byte> ResultPool::take(int64_t bytes) {
  Block* block = state_->take(std::max<int64_t>(bytes, 1)).release();
  block->home = state_;
  const auto nothing = [](std::byte*) {};
  // Owned by the array alone, so that writing to it needs no copy.
  return {block->memory.data(), nothing, ControlAllocator<std::byte>(block)};
}

}  // namespace luminal::plan
