#include "luminal/codegen/llvm/cpu_kernel.h"

#include "luminal/codegen/llvm/contraction_kernel.h"
#include "luminal/codegen/llvm/nest_kernel.h"
#include "luminal/kernel/estimate.h"

namespace luminal::codegen {
namespace {

using kernel::NodeId;
using symbolic::Expr;

/// A named dim as an expression; whoever evaluates it goes by the name.
Expr dim_of(const std::string& name) { return Expr::variable(name); }

/// The largest result is so large that nobody finds it in a cache.
bool is_streamed(const kernel::Arena& arena, const kernel::Kernel& kernel,
                 const CpuKernelOptions& options) {
  if (options.streaming_bytes <= 0) return false;
  const kernel::EstimateOptions sizes{.dims = options.dims, .typical_dim = options.typical_dim};
  for (const kernel::Root& root : kernel.roots) {
    double bytes = graph::bits(arena.tensor(root.tensor).dtype) / 8.0;
    for (const Expr& axis : kernel.axes) bytes *= kernel::typical_value(axis.axis_extent(), sizes);
    if (bytes >= static_cast<double>(options.streaming_bytes)) return true;
  }
  return false;
}

/// The loop nest, which takes every kernel.
CpuKernel nest_launch(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
                      const CpuKernelOptions& options) {
  const kernel::Nest nest = kernel::build_nest(arena, kernel, options.nest);
  NestKernelOptions nest_options;
  nest_options.round_each = options.round_each;
  nest_options.streaming = is_streamed(arena, kernel, options);
  NestKernel code = nest_kernel(arena, nest, target, nest_options);
  CpuLaunch launch;
  launch.source = std::move(code.source);
  for (const std::vector<NodeId>* tensors : {&code.inputs, &code.outputs})
    for (const NodeId tensor : *tensors)
      launch.buffers.push_back({LaunchBuffer::Kind::kTensor, tensor, 0});
  for (const std::string& dim : code.dims) launch.scalars.push_back(dim_of(dim));
  launch.items = code.items;
  launch.scratch_bytes = code.scratch_bytes;
  CpuKernel result;
  result.schedule = nest_options.streaming ? "nest, streaming" : "nest";
  result.launches.push_back(std::move(launch));
  return result;
}

}  // namespace

CpuKernel cpu_kernel(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
                     const CpuKernelOptions& options) {
  if (auto products = contraction_kernel(arena, kernel, target, options)) return *products;
  return nest_launch(arena, kernel, target, options);
}

}  // namespace luminal::codegen
