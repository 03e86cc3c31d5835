// For tests and benchmarks: the launches of a kernel, compiled and run on arrays of the host.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "luminal/codegen/llvm/cpu_kernel.h"
#include "luminal/kernel/evaluate.h"
#include "luminal/runtime/cpu/arena.h"
#include "luminal/runtime/cpu/module.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::codegen {

/// Compiles and runs every launch of a kernel, its items in two ranges and the later one first, as
/// threads might. `tensors` holds the inputs and gets the results.
inline void run_launches(const kernel::Arena& arena, const kernel::Kernel& kernel,
                         const CpuKernel& code, const CpuTarget& target,
                         const graph::DimValues& dims, kernel::Tensors& tensors) {
  const symbolic::Values values(dims.begin(), dims.end());
  kernel::Tensors results = kernel::empty_results(arena, kernel, dims);
  std::map<kernel::NodeId, runtime::HostMemory> outputs;  // aligned, as streaming stores need it
  for (const auto& [tensor, result] : results)
    outputs.emplace(tensor, static_cast<int64_t>(result.bytes().size()));
  std::vector<runtime::HostMemory> temporaries;
  for (const symbolic::Expr& bytes : code.temporaries)
    temporaries.emplace_back(symbolic::evaluate(bytes, values));
  for (const CpuLaunch& launch : code.launches) {
    const runtime::CpuModule module(KernelCompiler(target).compile(launch.source));
    std::vector<void*> buffers;
    for (const LaunchBuffer& buffer : launch.buffers) {
      if (buffer.kind == LaunchBuffer::Kind::kTemporary)
        buffers.push_back(temporaries[buffer.temporary].data());
      else if (const auto output = outputs.find(buffer.tensor); output != outputs.end())
        buffers.push_back(output->second.data());
      else
        buffers.push_back(const_cast<std::byte*>(tensors.at(buffer.tensor).bytes().data()));
    }
    std::vector<int64_t> scalars;
    for (const symbolic::Expr& scalar : launch.scalars)
      scalars.push_back(scalar.is_variable() ? dims.at(scalar.name())
                                             : symbolic::evaluate(scalar, values));
    const runtime::HostMemory scratch(symbolic::evaluate(launch.scratch_bytes, values));
    const int64_t items = symbolic::evaluate(launch.items, values);
    const runtime::CpuEntry entry = module.entry(launch.source.entries[0].name);
    for (const auto& [begin, end] : {std::pair{items / 2, items}, std::pair{int64_t{0}, items / 2}})
      if (begin < end) entry(buffers.data(), scalars.data(), begin, end, scratch.data());
  }
  for (auto& [tensor, result] : results) {
    const runtime::HostMemory& memory = outputs.at(tensor);
    std::copy_n(memory.data(), result.bytes().size(), result.mutable_bytes().data());
    tensors.insert_or_assign(tensor, std::move(result));
  }
}

}  // namespace luminal::codegen
