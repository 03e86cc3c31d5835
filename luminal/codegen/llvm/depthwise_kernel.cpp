#include "luminal/codegen/llvm/depthwise_kernel.h"

#include <algorithm>
#include <array>

#include "luminal/codegen/llvm/convolution_kernel.h"
#include "luminal/codegen/llvm/depthwise_emitter.h"
#include "luminal/codegen/llvm/schedule_reader.h"
#include "luminal/codegen/llvm/schedule_values.h"
#include "luminal/codegen/llvm/window_builder.h"

namespace luminal::codegen {
namespace {

using symbolic::Expr;

/// Steps of a window whose filter stays in registers, and vectors of a row that are written out.
constexpr int64_t kMostSteps = 25;
constexpr int64_t kMostVectors = 8;
constexpr int64_t kMostTogether = 16;
/// Products of vectors of an item that is worth handing out.
constexpr int64_t kProductsOfItem = 2048;

class DepthwiseBuilder : WindowBuilder<DepthwiseCode> {
 public:
  DepthwiseBuilder(kernel::Arena& arena, const kernel::Kernel& kernel, const ConvolutionPlan& plan,
                   const CpuTarget& target, const CpuKernelOptions& options)
      : WindowBuilder(arena, kernel, target, options) {
    code_->plan = plan;
    code_->accumulator = accumulator_of(product().dtype);
    code_->lanes = target.lanes(graph::bits(code_->accumulator));
  }

  std::optional<CpuKernel> build() {
    if (!is_possible()) return std::nullopt;
    choose_rows();
    if (options_.schedule) read_schedule(*options_.schedule);
    code_->image = as_dtype(plan().value, code_->accumulator);
    code_->filter = as_dtype(product().a.value, code_->accumulator);
    add_launch(schedule(), &emit_depthwise);
    return std::move(list_.kernel());
  }

  std::optional<ScheduleSpace> space() {
    if (!is_possible()) return std::nullopt;
    choose_rows();
    ScheduleSpace space;
    space.start = schedule();
    SpaceBuilder builder(space);
    builder.add_up_to("together", {1, 2, 3, 4, 6, 7, 8, 14, 16},
                      std::min(kMostTogether, plan().height));
    builder.add_up_to("rows", {1, 2, 4, 7, 8, 14, 16, 28, 32, 56}, plan().height);
    builder.add("chunk", {0, 1, 2, 4});
    builder.add_threads(options_.threads);
    return space;
  }

 private:
  int64_t steps() const { return plan().y.steps() * plan().x.steps(); }

  bool is_possible() const {
    const std::vector<Expr>& k = product().k.axes;
    const bool only_windows = std::all_of(k.begin(), k.end(), [&](const Expr& axis) {
      return axis == plan().y.window || axis == plan().x.window;
    });
    return only_windows && plan().base.m.extent.is_constant(1) && plan().planes.empty() &&
           plan().x.has_window() && plan().x.stride <= longest_stride() && steps() <= kMostSteps &&
           code_->vectors() <= kMostVectors && !reads_half_bytes() && !adds_up_operands();
  }

  /// Operands are computed where they are used, which sums cannot be.
  bool adds_up_operands() const {
    const std::array<kernel::BodyId, 2> operands{plan().value, product().a.value};
    const std::vector<kernel::BodyId> reached = arena_.reachable(operands);
    return std::any_of(reached.begin(), reached.end(), [&](kernel::BodyId id) {
      return arena_[id].kind == kernel::BodyKind::kReduce;
    });
  }

  /// Pixels that are further apart are gathered.
  int64_t longest_stride() const {
    const bool shuffles =
        target_.has(runtime::CpuFeature::kAvx512bw) && target_.has(runtime::CpuFeature::kAvx512vl);
    return shuffles ? 4 : 1;
  }

  void choose_rows() {
    // All of a small plane: which lines lie inside is known then, and each is loaded once.
    const int64_t some = target_.vector_registers() == 32 ? 4 : 2;
    code_->together = code_->vectors() == 1 && plan().height <= kMostTogether
                          ? plan().height
                          : std::min(plan().height, some);
    code_->rows = plan().height;
    const int64_t wanted = 4 * int64_t{std::max(1, options_.threads)};
    const int64_t row_products = code_->vectors() * steps();
    while (options_.threads > 1 && typical_planes() * code_->row_blocks() < wanted &&
           code_->rows / 2 >= code_->together && code_->rows / 2 * row_products >= kProductsOfItem)
      code_->rows = (code_->rows / 2 + code_->together - 1) / code_->together * code_->together;
  }

  Schedule schedule() const {
    return Schedule(std::string(kDepthwiseFamily), {{"together", code_->together},
                                                    {"rows", code_->rows},
                                                    {"chunk", chunk_},
                                                    {"threads", threads_}});
  }
  void read_schedule(const Schedule& asked) {
    ScheduleReader reader(asked);
    code_->together = reader.number("together", 1, std::min(kMostTogether, plan().height));
    code_->rows = reader.number("rows", 1, plan().height);
    chunk_ = reader.number("chunk", 0, 1 << 20);
    threads_ = reader.small("threads", 0, 1024);
    reader.finish();
  }
};

}  // namespace

std::optional<CpuKernel> depthwise_kernel(kernel::Arena& arena, const kernel::Kernel& kernel,
                                          const ConvolutionPlan& plan, const CpuTarget& target,
                                          const CpuKernelOptions& options) {
  return DepthwiseBuilder(arena, kernel, plan, target, options).build();
}

std::optional<ScheduleSpace> depthwise_space(kernel::Arena& arena, const kernel::Kernel& kernel,
                                             const ConvolutionPlan& plan, const CpuTarget& target,
                                             const CpuKernelOptions& options) {
  return DepthwiseBuilder(arena, kernel, plan, target, options).space();
}

}  // namespace luminal::codegen
