// Object code in memory, ready to be called. The loader reads the ELF relocatables that codegen
// writes and needs no compiler and no linker: it copies the sections that are used at run time,
// fills in addresses and makes code executable (never writable at the same time). Everything it
// reads is checked against the size of the data.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "luminal/runtime/artifact.h"

namespace luminal::runtime {

/// The functions of one artifact, loaded.
class CpuModule {
 public:
  /// Loads a CPU object. UserError if this processor lacks a feature it needs or the object is
  /// damaged.
  explicit CpuModule(const Artifact& artifact);
  ~CpuModule();
  CpuModule(const CpuModule&) = delete;
  CpuModule& operator=(const CpuModule&) = delete;

  /// The entry of that name; UserError if there is none.
  CpuEntry entry(std::string_view name) const;
  /// The address of any global function of the object; null if there is none.
  void* symbol(std::string_view name) const;

 private:
  friend class ObjectLoader;

  std::byte* memory_ = nullptr;
  size_t bytes_ = 0;
  std::map<std::string, void*, std::less<>> symbols_;
};

}  // namespace luminal::runtime
