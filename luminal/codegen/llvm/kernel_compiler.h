// From LLVM IR to an artifact: object code for one target, kept on disk. Emitters write IR that is
// already in the shape the processor wants, so no optimisation pass runs before instruction
// selection; that keeps a compilation in the milliseconds. Nothing is loaded here and no device is
// needed: what comes out can be launched by runtime, here or elsewhere.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "luminal/codegen/llvm/cpu_target.h"
#include "luminal/runtime/artifact.h"
#include "luminal/support/file_cache.h"

// The compiler's own headers stay with those who write code.
namespace llvm {
class Module;
}

namespace luminal::codegen {

/// What is to be compiled: a key that says everything the code depends on but the target, and the
/// function that writes the code.
struct KernelSource {
  std::string label;  ///< for people
  std::string key;    ///< the canonical text of the kernel and its schedule; empty: not cached
  std::vector<runtime::EntryInfo> entries;  ///< functions that the code defines
  std::function<void(llvm::Module& module, const CpuTarget& target)> emit;  ///< writes them
};

/// See above. compile() may be called from any number of threads at once.
class KernelCompiler {
 public:
  /// Compiles for a target; a cache that must outlive the compiler, or null for none.
  explicit KernelCompiler(CpuTarget target = host_target(), support::FileCache* cache = nullptr)
      : target_(std::move(target)), cache_(cache) {}

  /// The artifact of a source, from the cache if it is there. InternalError if the IR is invalid.
  runtime::Artifact compile(const KernelSource& source) const;

  /// The IR as text: for people and for tests of what is emitted.
  std::string ir_text(const KernelSource& source) const;
  /// The machine code as assembler text, for the same.
  std::string assembly_text(const KernelSource& source) const;

  const CpuTarget& target() const { return target_; }  ///< what code is made for

 private:
  std::string cache_key(const KernelSource& source) const;

  CpuTarget target_;
  support::FileCache* cache_;
};

/// Name and version of the compiler, part of every cache key.
std::string_view compiler_version();

/// The cache of compiled kernels, where the environment says.
support::FileCache& default_kernel_cache();

}  // namespace luminal::codegen
