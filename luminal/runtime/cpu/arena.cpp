#include "luminal/runtime/cpu/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "luminal/support/error.h"

namespace luminal::runtime {
namespace {

constexpr int64_t kHugePage = 2 << 20;
constexpr int64_t kPage = 4096;

}  // namespace

HostMemory::HostMemory(int64_t bytes) : size_(bytes) {
  if (bytes < 0) throw UserError("allocate", "the size must not be negative, it is {}", bytes);
  if (bytes == 0) return;
  const bool huge = bytes >= kHugePage / 2;
  // Room to begin at a huge page, and no neighbour on the last one.
  mapped_bytes_ = huge ? static_cast<size_t>((bytes + 2 * kHugePage - 1) / kHugePage * kHugePage)
                       : static_cast<size_t>((bytes + kPage - 1) / kPage * kPage);
  void* mapping =
      mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    throw DeviceError("mmap", errno,
                      "there are no {} bytes of memory for arrays; smaller dims need less: {}",
                      bytes, std::strerror(errno));
  mapping_ = mapping;
  auto address = reinterpret_cast<uintptr_t>(mapping);
  if (huge) {
    address = (address + kHugePage - 1) / kHugePage * kHugePage;
    // Only advice: without huge pages everything still works. The last page is advised as a whole,
    // or the system takes small ones for what lies on it.
    const int64_t pages = (bytes + kHugePage - 1) / kHugePage;
    madvise(reinterpret_cast<void*>(address), static_cast<size_t>(pages * kHugePage),
            MADV_HUGEPAGE);
  }
  data_ = reinterpret_cast<std::byte*>(address);
}

HostMemory::~HostMemory() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_bytes_);
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  return *this;
}

void HostMemory::populate() {
  for (int64_t offset = 0; offset < size_; offset += kPage) {
    auto* byte = reinterpret_cast<volatile unsigned char*>(data_ + offset);
    *byte = *byte;
  }
}

std::byte* Arena::take(int64_t bytes) {
  if (bytes < 0) throw UserError("allocate", "the size must not be negative, it is {}", bytes);
  if (bytes > capacity() - used_)
    throw UserError("allocate", "{} bytes do not fit: {} of {} are in use", bytes, used_,
                    capacity());
  std::byte* result = memory_.data() + used_;
  used_ = std::min(capacity(), used_ + aligned_size(bytes));
  return result;
}

}  // namespace luminal::runtime
