#include "luminal/search/guarded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "luminal/support/error.h"

namespace luminal::search {
namespace {

constexpr int64_t kLine = 64;
constexpr std::byte kPattern{0xa5};

size_t page_size() {
  static const auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Of the forbidden pages at each end, which take no memory: what strays by a few rows should not
/// come to lie in another block.
size_t guard_size() { return 16 * page_size(); }

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

GuardedMemory::GuardedMemory(int64_t bytes, Side side) : size_(bytes) {
  const size_t guard = guard_size();
  const size_t inside = rounded_up(std::max<size_t>(static_cast<size_t>(bytes), 1), page_size());
  mapped_ = inside + 2 * guard;
  void* mapping =
      ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    throw DeviceError("mmap", errno, "{} bytes: {}", mapped_, std::strerror(errno));
  mapping_ = static_cast<std::byte*>(mapping);
  ::mprotect(mapping_, guard, PROT_NONE);
  ::mprotect(mapping_ + guard + inside, guard, PROT_NONE);
  const size_t lines = rounded_up(static_cast<size_t>(bytes), kLine);
  data_ = mapping_ + guard + (side == Side::kEnd ? inside - lines : 0);
  std::fill(mapping_ + guard, data_, kPattern);
  std::fill(data_ + bytes, mapping_ + guard + inside, kPattern);
}

GuardedMemory::~GuardedMemory() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_);
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_(other.mapped_),
      data_(other.data_),
      size_(other.size_),
      read_only_(other.read_only_) {}

void GuardedMemory::make_read_only() {
  read_only_ = true;
  ::mprotect(mapping_ + guard_size(), mapped_ - 2 * guard_size(), PROT_READ);
}

bool GuardedMemory::forbids(const void* address) const {
  const auto* place = static_cast<const std::byte*>(address);
  if (read_only_ && place >= mapping_ && place < mapping_ + mapped_) return true;
  const std::byte* first = mapping_ + guard_size();
  const std::byte* last = mapping_ + mapped_ - guard_size();
  return (place >= mapping_ && place < first) || (place >= last && place < mapping_ + mapped_);
}

bool GuardedMemory::is_intact() const {
  const auto untouched = [](std::byte byte) { return byte == kPattern; };
  return std::all_of(mapping_ + guard_size(), data_, untouched) &&
         std::all_of(data_ + size_, mapping_ + mapped_ - guard_size(), untouched);
}

}  // namespace luminal::search
