// Launches that run ahead, once for all runs, and what they write: kernels that need the same of
// the same data (two products of one weight that is packed in one way) share it, so that a weight
// is in memory once for each way in which it is laid out, not once for each kernel.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "luminal/compiler/kernel_set.h"

namespace luminal::compiler {

/// True if a launch writes to a buffer.
bool writes(const codegen::CpuLaunch& launch, const codegen::LaunchBuffer& buffer);

/// See above.
class PreparedLaunches {
 public:
  /// `buffer` gives the buffer of a node. The kernels must be compiled before anything is asked.
  PreparedLaunches(const KernelSet& kernels, std::function<size_t(NodeId)> buffer)
      : kernels_(kernels), buffer_(std::move(buffer)) {}

  /// By launch of a kernel: whether another kernel has it already. The buffers of such launches are
  /// filled in, by temporary.
  std::vector<bool> known(const KernelUse& use, const codegen::CpuKernel& code,
                          std::vector<std::optional<size_t>>& temporaries) const;
  /// Remembers a launch that runs ahead.
  void note(const KernelUse& use, const codegen::CpuKernel& code, size_t launch,
            const std::vector<std::optional<size_t>>& temporaries);

 private:
  std::optional<std::string> text(const KernelUse& use, const codegen::CpuKernel& code,
                                  size_t launch,
                                  const std::vector<std::optional<size_t>>& temporaries) const;

  const KernelSet& kernels_;
  std::function<size_t(NodeId)> buffer_;
  std::map<std::string, size_t> buffer_of_;  // what is written, by what is done
};

}  // namespace luminal::compiler
