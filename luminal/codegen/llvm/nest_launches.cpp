#include "luminal/codegen/llvm/nest_launches.h"

#include "luminal/codegen/llvm/compared_sums.h"
#include "luminal/codegen/llvm/nest_choices.h"
#include "luminal/codegen/llvm/nest_flatten.h"
#include "luminal/codegen/llvm/nest_kernel.h"
#include "luminal/codegen/llvm/nest_plan.h"
#include "luminal/codegen/llvm/nest_split.h"
#include "luminal/kernel/estimate.h"

namespace luminal::codegen {
namespace {

using kernel::NodeId;
using symbolic::Expr;

/// A named dim as an expression; whoever evaluates it goes by the name.
Expr dim_of(const std::string& name) { return Expr::variable(name); }

Expr byte_size(const graph::TensorType& type) {
  Expr bytes = graph::bits(type.dtype) / 8;
  for (const Expr& extent : type.shape) bytes = bytes * extent;
  return bytes;
}

double flops_of(kernel::Arena& arena, const kernel::Kernel& kernel,
                const CpuKernelOptions& options) {
  const kernel::Estimate estimate =
      kernel::estimate(arena, kernel, kernel::Machine::cpu(options.threads),
                       {.dims = options.dims, .typical_dim = options.typical_dim});
  return estimate.vector_flops + estimate.matrix_flops;
}

CpuLaunch launch_of(NestKernel code, const std::function<LaunchBuffer(NodeId)>& buffer,
                    const NestChoices& choices, int threads) {
  CpuLaunch launch;
  launch.source = std::move(code.source);
  for (const std::vector<NodeId>* tensors : {&code.inputs, &code.outputs})
    for (const NodeId tensor : *tensors) launch.buffers.push_back(buffer(tensor));
  for (const std::string& dim : code.dims) launch.scalars.push_back(dim_of(dim));
  launch.items = code.items;
  launch.scratch_bytes = code.scratch_bytes;
  launch.chunk = chunk_of(code.items, choices.turns, threads);
  launch.threads = choices.threads;
  return launch;
}

}  // namespace

int64_t chunk_of(const Expr& items, int64_t turns, int threads) {
  const auto count = items.constant_value();
  if (!count || threads < 2 || turns == 0 || *count < 4 * turns * threads) return 0;
  return *count / (turns * threads);
}

kernel::Nest nest_of(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
                     const NestChoices& choices) {
  kernel::NestOptions loops = choices.loops;
  loops.spreads = false;
  kernel::Nest nest = kernel::build_nest(arena, kernel, loops);
  if (!choices.loops.spreads || !NestPlan(arena, nest, target, choices.code).runs_along_wide_rows())
    return nest;
  loops.spreads = true;
  return kernel::build_nest(arena, kernel, loops);
}

CpuKernel nest_launches(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
                        const CpuKernelOptions& options) {
  NestChoices choices = nest_choices(target, options);
  if (options.keep_order) choices.turns = 0;  // parts as equal as those of who reads them
  LaunchList launches(arena, target, options);
  const StoredSums stored =
      with_compared_sums_stored(arena, kernel, choices.loops.interchange, launches);
  const FlatKernel flat = flattened(arena, stored.kernel, {.keep_order = options.keep_order});
  const SplitKernels pieces =
      choices.part > 0
          ? split_reductions(arena, flat.kernel, {options.dims, options.typical_dim}, choices.part)
          : SplitKernels{{flat.kernel}, {}};
  CpuKernel& result = launches.kernel();
  const size_t before = result.temporaries.size();
  const auto buffer = [&](NodeId id) -> LaunchBuffer {
    const auto temporary = std::find(pieces.temporaries.begin(), pieces.temporaries.end(), id);
    if (temporary != pieces.temporaries.end())
      return {LaunchBuffer::Kind::kTemporary,
              {},
              before + static_cast<size_t>(temporary - pieces.temporaries.begin())};
    const auto original = flat.originals.find(id);
    return launches.place(original == flat.originals.end() ? id : original->second);
  };
  for (const NodeId temporary : pieces.temporaries)
    result.temporaries.push_back(byte_size(arena.tensor(temporary)));
  for (const kernel::Kernel& piece : pieces.kernels) {
    const kernel::Nest nest = nest_of(arena, piece, target, choices);
    result.launches.push_back(launch_of(nest_kernel(arena, nest, target, choices.code), buffer,
                                        choices, options.threads));
  }
  if (!stored.sums.empty()) {
    result.defined_flops = flops_of(arena, kernel, options);
    result.own_flops = flops_of(arena, stored.kernel, options);
    for (const kernel::Kernel& sum : stored.sums) result.own_flops += flops_of(arena, sum, options);
  }
  result.schedule = schedule_of(choices);
  return std::move(result);
}

}  // namespace luminal::codegen
