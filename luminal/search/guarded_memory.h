// Memory between forbidden pages, shared with child processes: whoever reads or writes past one end
// of it faults. A tensor is either pushed against the page behind it or begins right after the page
// before it; bytes that alignment leaves over hold a pattern that must stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace luminal::search {

/// See above.
class GuardedMemory {
 public:
  /// The end at which a single byte too far is noticed.
  enum class Side : uint8_t { kBegin, kEnd };

  /// Zeroed, aligned to a cache line. DeviceError if the system refuses.
  GuardedMemory(int64_t bytes, Side side);
  ~GuardedMemory();
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::span<std::byte> bytes() const { return {data_, static_cast<size_t>(size_)}; }
  /// From now on whoever writes to it faults; the pages are as forbidden as those beside them.
  void make_read_only();
  /// Whether an address lies in one of the forbidden pages.
  bool forbids(const void* address) const;
  /// Whether nobody wrote into the bytes that are left over.
  bool is_intact() const;

 private:
  std::byte* mapping_ = nullptr;
  size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  int64_t size_ = 0;
  bool read_only_ = false;
};

}  // namespace luminal::search
