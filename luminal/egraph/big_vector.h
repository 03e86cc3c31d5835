// Memory for the arrays that hold tables and their hashes. They are read at random places, so where
// the system offers large pages they are asked for: a miss then costs one walk of the page table
// less, and fresh memory is fetched in few steps.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace luminal::egraph {

/// An allocator that puts arrays of at least one large page on large pages. Elements that `resize`
/// adds have no value until they are written: their writers follow at once.
template <typename T>
struct LargePageAllocator {
  using value_type = T;
  static constexpr size_t kPage = size_t{2} << 20;

  LargePageAllocator() = default;
  template <typename U>
  LargePageAllocator(const LargePageAllocator<U>&) {}  // NOLINT: converts, as allocators do

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    if (bytes < kPage) return static_cast<T*>(::operator new(bytes));
    void* memory = ::operator new (bytes, std::align_val_t{kPage});
    madvise(memory, bytes, MADV_HUGEPAGE);  // a hint: what it answers does not matter
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) {
    if (count * sizeof(T) < kPage) {
      ::operator delete(memory);
    } else {
      ::operator delete (memory, std::align_val_t{kPage});
    }
  }
  template <typename U, typename... Args>
  void construct(U* place, Args&&... args) {
    if constexpr (sizeof...(Args) == 0) {
      static_assert(std::is_trivially_default_constructible_v<U>);
    } else {
      ::new (static_cast<void*>(place)) U(std::forward<Args>(args)...);
    }
  }
  bool operator==(const LargePageAllocator&) const { return true; }
};

/// A vector that may grow large and is read at random places.
template <typename T>
using BigVector = std::vector<T, LargePageAllocator<T>>;

}  // namespace luminal::egraph
