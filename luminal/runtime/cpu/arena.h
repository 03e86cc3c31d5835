// Host memory for tensors: mapped once, aligned for vectors, on huge pages where the system has
// them. A page fault costs as much as writing the page several times over, so memory is taken in
// one piece, may be touched ahead, and is reused by plans rather than freed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace luminal::runtime {

/// The alignment of every tensor: one cache line, one widest vector.
inline constexpr int64_t kBufferAlignment = 64;

/// Rounds up to a multiple of kBufferAlignment.
constexpr int64_t aligned_size(int64_t bytes) {
  return (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
}

/// A block of zeroed memory that it owns.
class HostMemory {
 public:
  HostMemory() = default;
  /// Maps at least `bytes` bytes; blocks of 1 MB or more lie on huge pages of their own.
  /// DeviceError if the system refuses, UserError if the size is negative.
  explicit HostMemory(int64_t bytes);
  ~HostMemory();
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  std::byte* data() const { return data_; }
  int64_t size() const { return size_; }

  /// Touches every page now, so that no kernel pays for it.
  void populate();

 private:
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
  void* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
};

/// Hands out pieces of one block, one after the other, each aligned to kBufferAlignment.
class Arena {
 public:
  explicit Arena(int64_t bytes) : memory_(bytes) {}

  /// The next piece; UserError if it does not fit.
  std::byte* take(int64_t bytes);
  /// Forgets all pieces; their memory is handed out again.
  void reset() { used_ = 0; }

  int64_t used() const { return used_; }
  int64_t capacity() const { return memory_.size(); }

 private:
  HostMemory memory_;
  int64_t used_ = 0;
};

}  // namespace luminal::runtime
