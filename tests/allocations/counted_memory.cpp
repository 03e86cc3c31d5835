#include "counted_memory.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {
std::atomic<int64_t> taken{0};
}  // namespace

namespace luminal::test {

int64_t take_count() { return taken.exchange(0); }

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
bool can_count() { return false; }
#else
bool can_count() { return true; }
#endif

}  // namespace luminal::test

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// NOLINTBEGIN: the names are those of the C library.
extern "C" {
void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  ++taken;
  return __libc_malloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++taken;
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, size_t bytes) {
  ++taken;
  return __libc_realloc(old, bytes);
}
void* memalign(size_t alignment, size_t bytes) {
  ++taken;
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  ++taken;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** result, size_t alignment, size_t bytes) {
  ++taken;
  *result = __libc_memalign(alignment, bytes);
  return *result == nullptr ? ENOMEM : 0;
}
void* mmap(void* address, size_t length, int protection, int flags, int file, off_t offset) {
  ++taken;
  return reinterpret_cast<void*>(
      syscall(SYS_mmap, address, length, protection, flags, file, offset));
}
}
// NOLINTEND
#endif
