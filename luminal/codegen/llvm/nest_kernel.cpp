#include "luminal/codegen/llvm/nest_kernel.h"

#include "luminal/codegen/llvm/nest_emitter.h"
#include "luminal/codegen/llvm/nest_plan.h"

namespace luminal::codegen {

NestKernel nest_kernel(const kernel::Arena& arena, const kernel::Nest& nest,
                       const CpuTarget& target, const NestKernelOptions& options) {
  const NestPlan plan(arena, nest, target, options);
  NestKernel result;
  result.inputs = plan.inputs();
  result.outputs = plan.outputs();
  result.dims = plan.dims();
  result.items = plan.items();
  result.scratch_bytes = plan.scratch_bytes();
  runtime::EntryInfo entry;
  entry.name = "nest";
  for (size_t i = 0; i < result.inputs.size(); ++i)
    entry.buffers.push_back(runtime::BufferUse::kRead);
  for (size_t i = 0; i < result.outputs.size(); ++i)
    entry.buffers.push_back(runtime::BufferUse::kWrite);
  entry.scalars = static_cast<int>(result.dims.size());
  result.source.label = "nest";
  result.source.key = plan.key();
  result.source.entries = {std::move(entry)};
  result.source.emit = [&arena, nest, options](llvm::Module& module, const CpuTarget& for_target) {
    VectorBuilder builder(module, for_target);
    NestEmitter(builder, arena, nest, options).emit();
  };
  return result;
}

}  // namespace luminal::codegen
