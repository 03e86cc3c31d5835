#include "luminal/codegen/llvm/schedule_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "luminal/codegen/llvm/attention_cost.h"
#include "luminal/codegen/llvm/attention_kernel.h"
#include "luminal/codegen/llvm/contraction_kernel.h"
#include "luminal/codegen/llvm/contraction_plan.h"
#include "luminal/codegen/llvm/convolution_kernel.h"
#include "luminal/codegen/llvm/gemm.h"
#include "luminal/codegen/llvm/nest_launches.h"
#include "luminal/codegen/llvm/scan_kernel.h"

namespace luminal::codegen {
namespace {

using kernel::Machine;

/// Copies of operands stay in a cache that is near, up to so many bytes for each core.
constexpr double kNearBytes = 1 << 20;
/// Products that meet no tile of registers wait for what they load.
constexpr double kWithoutTiles = 2;
/// How much quicker products of matrix registers are than the price of all products, measured: the
/// second cache does not feed them any quicker (docs/kernels.md).
constexpr double kMatrixRegisters = 5;

class ScheduleCost {
 public:
  ScheduleCost(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuKernel& code,
               const CpuTarget& target, const CpuKernelOptions& options, const Machine& machine)
      : arena_(arena),
        kernel_(kernel),
        code_(code),
        target_(target),
        options_(options),
        machine_(machine),
        sizes_{.dims = options.dims,
               .typical_dim = options.typical_dim,
               .reassociate = options.reassociate} {}

  double microseconds() {
    const std::string& family = code_.schedule.family();
    if (family == kScanFamily)
      if (const auto work = scan_work(arena_, kernel_, machine_, sizes_)) return work->microseconds;
    const bool by_matrices = family == kAttentionMatricesFamily;
    if (family == kAttentionFamily || family == kAttentionRunsFamily || by_matrices) {
      const auto group = code_.schedule.find("query_group");
      Machine machine = machine_;
      if (by_matrices) machine.matrix_flops *= kMatrixRegisters;
      const auto work = attention_work(arena_, kernel_, machine, sizes_, group.value_or(0));
      if (work) return work->microseconds + more_launches(1);
    }
    if (family == kNestFamily || family == kScanFamily || family == kDepthwiseFamily)
      return of_loops();
    return of_products();
  }

 private:
  double more_launches(size_t known) const {
    const auto launches = std::count_if(code_.launches.begin(), code_.launches.end(),
                                        [](const CpuLaunch& each) { return !each.prepare; });
    return machine_.launch_us * (static_cast<double>(launches) - static_cast<double>(known));
  }

  /// Without tiles, neither for the product nor for what is below a softmax.
  double of_loops() {
    Machine loops = machine_;
    loops.smallest_matrix = std::numeric_limits<int64_t>::max();
    loops.matrix_in_online = false;
    return kernel::estimate(arena_, kernel_, loops, sizes_).microseconds;
  }

  double of_products() {
    Machine tiles = machine_;
    tiles.matrix_in_online = false;
    // A template says how many products it forms, however narrow the matrices are.
    if (code_.vector_products > 0) tiles.smallest_matrix = 1;
    const kernel::Estimate found = kernel::estimate(arena_, kernel_, tiles, sizes_);
    const double others = found.vector_flops / machine_.vector_flops;
    const double expected = others + found.matrix_flops / machine_.matrix_flops;
    const double compute = others + products_of(found.matrix_flops) / machine_.matrix_flops;
    const double memory = found.memory_bytes / machine_.memory_bytes;
    const double difference =
        kernel::overlapped({compute, memory}) - kernel::overlapped({expected, memory}) + copies();
    return std::max(machine_.launch_us,
                    found.microseconds + 1e6 * difference + more_launches(found.launches));
  }

  /// What is multiplied and added, of so many that the kernel asks for.
  double products_of(double flops) {
    if (code_.vector_products > 0) return 2 * code_.vector_products * target_.lanes(32);
    if (code_.schedule.family() == kGemvFamily) return kWithoutTiles * flops;
    const Recognised<ContractionPlan> plan = plan_contraction(arena_, kernel_, options_);
    if (!plan) return flops;
    flops *= idle_factor();
    // Rows that are left over have tiles of their own; columns fill up a vector.
    const auto columns = static_cast<double>(typical_extent(plan->n.extent, options_));
    const double lanes = target_.lanes(graph::bits(accumulator_of(plan->products[0].dtype)));
    if (by_matrix_registers()) flops /= kMatrixRegisters;
    return columns < 1 ? flops : flops * std::ceil(columns / lanes) * lanes / columns;
  }

  bool by_matrix_registers() const {
    const auto mode = code_.schedule.find("mode");
    return mode && has_matrix_registers(static_cast<GemmMode>(*mode));
  }

  /// How much longer the products take because threads have nothing to do.
  double idle_factor() const {
    for (const CpuLaunch& launch : code_.launches) {
      if (launch.source.entries.front().name != "gemm") continue;
      const double items = std::max(1.0, kernel::typical_value(launch.items, sizes_));
      const double threads = std::max(1, options_.threads);
      return std::ceil(items / threads) * threads / items;
    }
    return 1;
  }

  /// Seconds for writing and reading what is copied for the products in every run.
  double copies() {
    double bytes = 0;
    for (size_t k = 0; k < code_.temporaries.size(); ++k)
      if (!is_made_ahead(k)) bytes += kernel::typical_value(code_.temporaries[k], sizes_);
    bytes += packed_by_threads();
    const double rate = bytes <= kNearBytes * static_cast<double>(machine_.units)
                            ? machine_.cache_bytes
                            : machine_.memory_bytes;
    return 2 * bytes / rate;
  }

  bool is_made_ahead(size_t temporary) const {
    return std::any_of(code_.launches.begin(), code_.launches.end(), [&](const CpuLaunch& launch) {
      return launch.prepare && std::any_of(launch.buffers.begin(), launch.buffers.end(),
                                           [&](const LaunchBuffer& buffer) {
                                             return buffer.kind == LaunchBuffer::Kind::kTemporary &&
                                                    buffer.temporary == temporary;
                                           });
    });
  }

  /// Panels of the matrix that are no launch of their own.
  double packed_by_threads() {
    if (code_.schedule.family() != kGemmFamily ||
        code_.schedule.at("b") != static_cast<int64_t>(GemmB::kPackedHere))
      return 0;
    const Recognised<ContractionPlan> plan = plan_contraction(arena_, kernel_, options_);
    if (!plan) return 0;
    double elements = static_cast<double>(typical_extent(plan->n.extent, options_));
    const int64_t rows = code_.schedule.at("row_tiles") * code_.schedule.at("mr");
    if (rows > 0 && code_.schedule.at("outer") != 0)  // again for every block of rows
      elements *= std::ceil(static_cast<double>(typical_extent(plan->m.extent, options_)) /
                            static_cast<double>(rows));
    for (const symbolic::Expr& axis : plan->batch)
      elements *= static_cast<double>(typical_extent(axis.axis_extent(), options_));
    double bytes = 0;
    for (const Product& each : plan->products)
      bytes += elements * static_cast<double>(typical_extent(each.k.extent, options_)) *
               graph::bits(each.b.dtype) / 8.0;
    return bytes;
  }

  kernel::Arena& arena_;
  const kernel::Kernel& kernel_;
  const CpuKernel& code_;
  const CpuTarget& target_;
  const CpuKernelOptions& options_;
  const Machine& machine_;
  kernel::EstimateOptions sizes_;
};

}  // namespace

std::variant<double, ScheduleRefusal> schedule_cost(
    kernel::Arena& arena, const kernel::Kernel& kernel, const Schedule& schedule,
    const CpuTarget& target, const CpuKernelOptions& options, const kernel::Machine& machine) {
  CpuKernelOptions asked = options;
  asked.schedule = schedule;
  auto code = try_cpu_kernel(arena, kernel, target, asked);
  if (auto* refusal = std::get_if<ScheduleRefusal>(&code)) return std::move(*refusal);
  asked.schedule.reset();
  return ScheduleCost(arena, kernel, std::get<CpuKernel>(code), target, asked, machine)
      .microseconds();
}

}  // namespace luminal::codegen
