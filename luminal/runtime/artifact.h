// A compiled kernel as data: object code, the names of its entries, what it needs of the machine
// and which arguments it takes. Made by codegen, loaded by a device, kept in files; it holds no
// pointer and no handle. Reading one back checks every byte, so a damaged file is a clear error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "luminal/runtime/cpu/features.h"

namespace luminal::runtime {

/// What sort of code an artifact carries.
enum class ArtifactKind : uint8_t {
  kCpuObject,   ///< ELF relocatable for x86-64
  kCudaBinary,  ///< cubin
};

/// How an entry uses a buffer.
enum class BufferUse : uint8_t { kRead, kWrite, kReadWrite };

/// One function of an artifact and the arguments it takes.
struct EntryInfo {
  std::string name;                ///< of the function
  std::vector<BufferUse> buffers;  ///< in the order of the pointers
  int scalars = 0;                 ///< 64-bit integers (dims, offsets) after them
  int64_t scratch_bytes = 0;       ///< memory of its own that each thread must be given

  friend bool operator==(const EntryInfo&, const EntryInfo&) = default;
};

/// See above.
struct Artifact {
  ArtifactKind kind = ArtifactKind::kCpuObject;  ///< how the code is loaded
  std::string label;                             ///< for people: what the kernel computes
  std::string compiler;                          ///< name and version of what made the code
  CpuFeatures needed;                            ///< for a CPU object: what the processor must have
  std::string code;                              ///< the object's bytes
  std::vector<EntryInfo> entries;                ///< functions that can be launched

  friend bool operator==(const Artifact&, const Artifact&) = default;
};

/// The signature of every entry of a CPU object. It computes the work items [begin, end) of the
/// launch (rows, tiles, panels: whatever the kernel splits over threads); calls with disjoint
/// ranges may run at the same time, each with its own scratch.
using CpuEntry = void (*)(void* const* buffers, const int64_t* scalars, int64_t begin, int64_t end,
                          std::byte* scratch);

/// Bytes to keep in a file.
std::string to_bytes(const Artifact& artifact);
/// What to_bytes() wrote; UserError if the bytes are anything else.
Artifact artifact_from_bytes(std::string_view bytes);

}  // namespace luminal::runtime
