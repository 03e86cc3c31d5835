#include "luminal/runtime/cpu/arena.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "luminal/support/error.h"

namespace luminal::runtime {
namespace {

TEST(HostMemory, IsZeroedAlignedAndWritableToItsEnd) {
  for (const int64_t bytes : {int64_t{1}, int64_t{4097}, int64_t{3} << 20}) {
    HostMemory memory(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % kBufferAlignment, 0U);
    for (int64_t i = 0; i < bytes; i += 509) ASSERT_EQ(memory.data()[i], std::byte{0});
    memory.data()[bytes - 1] = std::byte{7};
    memory.populate();
    EXPECT_EQ(memory.data()[bytes - 1], std::byte{7});
  }
}

TEST(HostMemory, LargeBlocksBeginAtAHugePage) {
  const HostMemory memory(5 << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % (2 << 20), 0U);
}

/// Where the memory around an address that the system is asked to put on huge pages ends; 0 if it
/// is not asked.
uintptr_t end_of_advice(uintptr_t address) {
  std::ifstream maps("/proc/self/smaps");
  uintptr_t end = 0;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t first = 0;
    uintptr_t last = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2)
      end = first <= address && address < last ? last : 0;
    if (end != 0 && line.starts_with("VmFlags:"))
      return line.find(" hg") == std::string::npos ? 0 : end;
  }
  return 0;
}

TEST(HostMemory, TheLastPageOfALargeBlockIsHugeToo) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage/enabled"))
    GTEST_SKIP() << "this system has no huge pages to ask for";
  constexpr uintptr_t kHugePage = 2 << 20;
  for (const uintptr_t bytes : {kHugePage / 2 + 100000, kHugePage * 2 + 100000}) {
    const HostMemory memory(static_cast<int64_t>(bytes));
    const auto begin = reinterpret_cast<uintptr_t>(memory.data());
    EXPECT_GE(end_of_advice(begin), begin + (bytes + kHugePage - 1) / kHugePage * kHugePage);
  }
}

TEST(HostMemory, NothingIsNothing) {
  const HostMemory memory(0);
  EXPECT_EQ(memory.size(), 0);
  EXPECT_EQ(memory.data(), nullptr);
}

TEST(HostMemory, MovingHandsItOver) {
  HostMemory first(100);
  std::byte* data = first.data();
  HostMemory second = std::move(first);
  EXPECT_EQ(second.data(), data);
  HostMemory third(10);
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
  EXPECT_EQ(third.size(), 100);
}

TEST(HostMemory, ImpossibleSizesAreErrors) {
  EXPECT_THROW(HostMemory(-1), UserError);
  EXPECT_THROW(HostMemory(int64_t{1} << 60), DeviceError);
}

TEST(Arena, PiecesAreAlignedAndDoNotOverlap) {
  Arena arena(1000);
  std::byte* first = arena.take(10);
  std::byte* second = arena.take(100);
  EXPECT_EQ(second - first, 64);
  EXPECT_EQ(arena.used(), 192);
  EXPECT_THROW(arena.take(1000), UserError);
  arena.reset();
  EXPECT_EQ(arena.take(1000), first);
}

}  // namespace
}  // namespace luminal::runtime
