#include "luminal/codegen/llvm/attention_cost.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "luminal/codegen/llvm/attention_plan.h"
#include "luminal/kernel/reads.h"

namespace luminal::codegen {
namespace {

using kernel::Arena;
using symbolic::Expr;

/// With masks by position about half of the keys are looked at.
constexpr double kSeenThroughMask = 0.55;
/// Additions and the like for one score besides the exponential: the maximum, the sum, rescaling.
constexpr double kStepsOfScore = 6;
/// Queries that meet a block of keys together.
constexpr double kQueryBlock = 64;

/// Additions and the like of computing one element of a body.
double steps_of(const Arena& arena, kernel::BodyId value) {
  double steps = 0;
  for (const kernel::BodyId id : arena.reachable(std::span(&value, 1)))
    if (arena[id].kind != kernel::BodyKind::kConstant) steps += 1;
  return steps;
}

KernelWork work_of(const Arena& arena, const kernel::Kernel& kernel, const AttentionPlan& plan,
                   const kernel::Machine& machine, const kernel::EstimateOptions& options,
                   int64_t query_group) {
  const auto extent = [&](const Expr& axis) {
    return axis.is_axis() ? kernel::typical_value(axis.axis_extent(), options) : 1.0;
  };
  double scores = extent(plan.query) * extent(plan.key);
  for (const Expr& axis : plan.rows) scores *= extent(axis);
  if (!plan.conditions.empty() && extent(plan.query) > 1) scores *= kSeenThroughMask;
  const double products = 2 * scores * (extent(plan.inner) + extent(plan.depth));
  // Operands that are not read in place are computed for every block of queries.
  double steps = scores * (machine.transcendental_flops + kStepsOfScore);
  const double at_once = query_group > 0 ? static_cast<double>(query_group) : kQueryBlock;
  const double pairs = scores / extent(plan.query) * std::ceil(extent(plan.query) / at_once);
  for (const auto& [operand, other] :
       {std::pair(&plan.keys, plan.inner), std::pair(&plan.values, plan.depth)})
    if (operand->pieces.empty()) steps += pairs * extent(other) * steps_of(arena, operand->value);
  // Few queries meet no tiles: their products are those of vectors, which wait for keys and values.
  const double rate = query_group > 0 ? machine.vector_flops : machine.matrix_flops;
  double compute = products / rate + steps / machine.vector_flops;
  if (query_group > 0)
    compute +=
        pairs * (extent(plan.inner) + extent(plan.depth)) * sizeof(float) / machine.cache_bytes;
  const auto count = [&](const Expr& size) {
    return size.is_axis() ? extent(size) : kernel::typical_value(size, options);
  };
  const double bytes = kernel::bytes_of(arena, kernel.roots[0].tensor, count) +
                       kernel::bytes_read(arena, std::span(&kernel.roots[0].value, 1), count);
  const double memory = bytes / machine.memory_bytes;
  return {machine.launch_us + 1e6 * kernel::overlapped({compute, memory}), bytes, products + steps};
}

}  // namespace

std::optional<KernelWork> attention_work(Arena& arena, const kernel::Kernel& kernel,
                                         const kernel::Machine& machine,
                                         const kernel::EstimateOptions& options,
                                         int64_t query_group) {
  constexpr int kProductBelowMaximumBelowSum = 3;
  const bool high =
      std::any_of(kernel.roots.begin(), kernel.roots.end(), [&](const kernel::Root& root) {
        return arena[root.value].height >= kProductBelowMaximumBelowSum;
      });
  if (!high || !options.reassociate) return std::nullopt;
  if (const auto plan = match_attention(arena, kernel))
    return work_of(arena, kernel, *plan, machine, options, query_group);
  kernel::Machine loops = machine;
  loops.matrix_in_online = false;
  const kernel::Estimate found = kernel::estimate(arena, kernel, loops, options);
  return KernelWork{found.microseconds, found.memory_bytes,
                    found.vector_flops + found.matrix_flops};
}

std::optional<double> attention_cost(Arena& arena, const kernel::Kernel& kernel,
                                     const kernel::Machine& machine,
                                     const kernel::EstimateOptions& options) {
  const auto work = attention_work(arena, kernel, machine, options);
  return work ? std::optional(work->microseconds) : std::nullopt;
}

}  // namespace luminal::codegen
