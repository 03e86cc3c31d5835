// For tests and benchmarks: writes a kernel, compiles it for a target and loads it, in one object.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "luminal/codegen/llvm/kernel_compiler.h"
#include "luminal/codegen/llvm/vector_builder.h"
#include "luminal/runtime/cpu/module.h"

namespace luminal::codegen {

/// The targets whose code can run on this machine, plainest first, the machine itself last.
inline std::vector<CpuTarget> targets_that_run_here() {
  std::vector<CpuTarget> result;
  for (const std::string_view name : cpu_target_names())
    if (runs_here(cpu_target(name))) result.push_back(cpu_target(name));
  result.push_back(host_target());
  return result;
}

/// One compiled entry called "kernel".
class TestKernel {
 public:
  TestKernel(const CpuTarget& target,
             std::function<void(VectorBuilder& builder, const EntryArguments& entry)> emit)
      : TestKernel(target, source(std::move(emit))) {}
  TestKernel(const CpuTarget& target, const KernelSource& source)
      : module_(KernelCompiler(target).compile(source)), entry_(module_.entry("kernel")) {}

  /// Calls it for the items [begin, end).
  void operator()(const std::vector<void*>& buffers, const std::vector<int64_t>& scalars,
                  int64_t begin, int64_t end) const {
    entry_(buffers.data(), scalars.data(), begin, end, nullptr);
  }

  /// What is compiled, for looking at its text.
  static KernelSource source(
      std::function<void(VectorBuilder& builder, const EntryArguments& entry)> emit) {
    KernelSource result;
    result.label = "test";
    result.entries = {{"kernel", {}, 0, 0}};
    result.emit = [emit = std::move(emit)](llvm::Module& module, const CpuTarget& target) {
      VectorBuilder builder(module, target);
      const EntryArguments entry = builder.begin_entry("kernel");
      emit(builder, entry);
      builder.ir().CreateRetVoid();
    };
    return result;
  }

 private:
  runtime::CpuModule module_;
  runtime::CpuEntry entry_;
};

}  // namespace luminal::codegen
