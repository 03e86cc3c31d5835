#include "luminal/runtime/cpu/device.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "luminal/runtime/cpu/arena.h"
#include "luminal/runtime/cpu/module.h"
#include "luminal/support/check.h"
#include "luminal/support/error.h"

namespace luminal::runtime {
namespace {

class CpuBuffer : public Buffer {
 public:
  explicit CpuBuffer(int64_t bytes) : memory_(bytes) {}
  std::byte* address() const override { return memory_.data(); }
  int64_t size() const override { return memory_.size(); }

 private:
  HostMemory memory_;
};

class CpuKernel : public Kernel {
 public:
  CpuKernel(const Artifact& artifact, const EntryInfo& info)
      : module_(artifact), info_(info), entry_(module_.entry(info.name)) {}
  const EntryInfo& info() const override { return info_; }
  CpuEntry entry() const { return entry_; }

 private:
  CpuModule module_;
  EntryInfo info_;
  CpuEntry entry_;
};

void check_arguments(const Launch& launch, const EntryInfo& info) {
  if (launch.buffers.size() != info.buffers.size())
    throw UserError("launch", "{} takes {} buffers, not {}", info.name, info.buffers.size(),
                    launch.buffers.size());
  if (launch.scalars.size() != static_cast<size_t>(info.scalars))
    throw UserError("launch", "{} takes {} scalars, not {}", info.name, info.scalars,
                    launch.scalars.size());
  if (info.scratch_bytes > 0 && launch.scratch == nullptr)
    throw UserError("launch", "{} needs {} bytes of scratch per thread", info.name,
                    info.scratch_bytes);
}

/// A launch as workers are given it: all that they need, since cores may be far from each other.
struct Shares {
  CpuEntry entry;
  void* const* buffers;
  const int64_t* scalars;
  std::byte* scratch;
  int64_t items;
  uint32_t scratch_lines;  // of a thread
  int32_t threads;

  void operator()(int64_t begin, int64_t end, int thread) const {
    std::byte* own = scratch;
    if (own != nullptr) own += thread * (int64_t{kBufferAlignment} * scratch_lines);
    entry(buffers, scalars, begin, end, own);
  }
  /// The range of a thread.
  void operator()(int thread) const {
    if (thread >= threads) return;
    const StaticRange range = static_range(items, thread, threads);
    if (range.begin < range.end) (*this)(range.begin, range.end, thread);
  }
};
static_assert(sizeof(Shares) <= ThreadTeam::kJobBytes);

}  // namespace

void launch_on_team(ThreadTeam& team, CpuEntry entry, const Launch& launch, int64_t scratch_bytes) {
  const LaunchSize& size = launch.size;
  const int threads = size.threads > 0 ? std::min(size.threads, team.size()) : team.size();
  const int64_t scratch_lines = aligned_size(scratch_bytes) / kBufferAlignment;
  LUMINAL_CHECK(scratch_lines <= std::numeric_limits<uint32_t>::max(), "scratch of {} bytes",
                scratch_bytes);
  const Shares shares{entry,
                      launch.buffers.data(),
                      launch.scalars.data(),
                      launch.scratch,
                      size.items,
                      static_cast<uint32_t>(scratch_lines),
                      threads};
  if (threads == 1 || size.items == 1) {
    if (size.items > 0) shares(0, size.items, 0);
  } else if (size.chunk > 0) {
    team.chunk_loop(size.items, size.chunk, threads, shares);
  } else {
    team.run(shares);
  }
}

std::unique_ptr<Buffer> CpuDevice::allocate(int64_t bytes) {
  return std::make_unique<CpuBuffer>(bytes);
}

void CpuDevice::copy_to_device(std::span<const std::byte> source, std::byte* target) {
  if (!source.empty()) std::memcpy(target, source.data(), source.size());
}

void CpuDevice::copy_to_host(const std::byte* source, std::span<std::byte> target) {
  if (!target.empty()) std::memcpy(target.data(), source, target.size());
}

std::shared_ptr<const Kernel> CpuDevice::load(const Artifact& artifact, std::string_view entry) {
  for (const EntryInfo& info : artifact.entries)
    if (info.name == entry) return std::make_shared<CpuKernel>(artifact, info);
  throw UserError("find kernel", "{} has no entry named {}", artifact.label, entry);
}

void CpuDevice::launch(const Launch& launch) {
  const auto* kernel = dynamic_cast<const CpuKernel*>(launch.kernel);
  if (kernel == nullptr) throw UserError("launch", "the kernel was not loaded by the CPU device");
  check_arguments(launch, kernel->info());
  launch_on_team(team_, kernel->entry(), launch, kernel->info().scratch_bytes);
}

}  // namespace luminal::runtime
