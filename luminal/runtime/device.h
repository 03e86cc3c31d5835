// What a compiler needs of a device: memory, loaded kernels and launches. A device sees bytes and
// sizes, never tensors. Launches of one device run in the order they are made; on the CPU each is
// finished when launch() returns, on others when synchronize() does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "luminal/runtime/artifact.h"

namespace luminal::runtime {

/// Memory of a device, freed with the object.
class Buffer {
 public:
  virtual ~Buffer() = default;
  /// The address as kernels of the device see it.
  virtual std::byte* address() const = 0;
  virtual int64_t size() const = 0;  ///< in bytes
};

/// One entry of a loaded artifact, ready to be launched. Keeps its code alive.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const EntryInfo& info() const = 0;  ///< name and arguments
};

/// Launches that compute fewer values are over before another thread has begun: programs run them
/// on one, and so does who times kernels for programs.
inline constexpr int64_t kSmallWork = 16384;

/// How work items are dealt to threads.
struct LaunchSize {
  int64_t items = 1;  ///< the kernel is asked for [0, items)
  int64_t chunk = 0;  ///< 0: one range per thread; else threads take chunks of this many as they
                      ///< get free
  int threads = 0;    ///< at most so many; 0: all. Small kernels lose by more
};

/// One launch: pointers and integers as EntryInfo describes them.
struct Launch {
  const Kernel* kernel = nullptr;    ///< loaded by the same device
  std::span<void* const> buffers;    ///< one per pointer
  std::span<const int64_t> scalars;  ///< one per integer
  LaunchSize size;                   ///< how much work
  std::byte* scratch = nullptr;  ///< scratch_bytes of the entry for each thread, one after another
};

/// See above.
class Device {
 public:
  virtual ~Device() = default;

  /// Names the device, such as "cpu".
  virtual std::string_view name() const = 0;
  /// How many threads a launch may use, which is how many pieces of scratch it needs.
  virtual int concurrency() const = 0;

  /// Zeroed memory, aligned for every kernel.
  virtual std::unique_ptr<Buffer> allocate(int64_t bytes) = 0;
  virtual void copy_to_device(std::span<const std::byte> source, std::byte* target) = 0;
  virtual void copy_to_host(const std::byte* source, std::span<std::byte> target) = 0;

  /// Loads code and gives the kernel of one entry; UserError if the device cannot run it.
  virtual std::shared_ptr<const Kernel> load(const Artifact& artifact, std::string_view entry) = 0;
  /// Runs a kernel; UserError if the arguments are not those of its entry.
  virtual void launch(const Launch& launch) = 0;
  /// Waits for all launches.
  virtual void synchronize() = 0;
};

}  // namespace luminal::runtime
