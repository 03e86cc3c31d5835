#include "luminal/codegen/llvm/depthwise_kernel.h"

#include <algorithm>
#include <memory>

#include "luminal/codegen/llvm/code_launch.h"
#include "luminal/codegen/llvm/convolution_kernel.h"
#include "luminal/codegen/llvm/depthwise_emitter.h"
#include "luminal/codegen/llvm/launch_list.h"
#include "luminal/codegen/llvm/schedule_reader.h"
#include "luminal/codegen/llvm/schedule_values.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using kernel::BodyId;
using symbolic::Expr;

/// Steps of a window whose filter stays in registers, and vectors of a row that are written out.
constexpr int64_t kMostSteps = 25;
constexpr int64_t kMostVectors = 8;
constexpr int64_t kMostTogether = 8;
/// Products of vectors of an item that is worth handing out.
constexpr int64_t kProductsOfItem = 2048;

class DepthwiseBuilder {
 public:
  DepthwiseBuilder(kernel::Arena& arena, const kernel::Kernel& kernel, const ConvolutionPlan& plan,
                   const CpuTarget& target, const CpuKernelOptions& options)
      : arena_(arena),
        kernel_(kernel),
        target_(target),
        options_(options),
        list_(arena, target, options),
        code_(std::make_shared<DepthwiseCode>()) {
    code_->plan = plan;
    code_->accumulator = accumulator_of(product().dtype);
    code_->lanes = target.lanes(graph::bits(code_->accumulator));
  }

  std::optional<CpuKernel> build() {
    if (!is_possible()) return std::nullopt;
    choose_rows();
    if (options_.schedule) read_schedule(*options_.schedule);
    code_->image = in_sum_type(plan().value);
    code_->filter = in_sum_type(product().a.value);
    add_launch();
    return std::move(list_.kernel());
  }

  std::optional<ScheduleSpace> space() {
    if (!is_possible()) return std::nullopt;
    choose_rows();
    ScheduleSpace space;
    space.start = schedule();
    SpaceBuilder builder(space);
    builder.add_up_to("together", {1, 2, 3, 4, 6, 8}, std::min(kMostTogether, plan().height));
    builder.add_up_to("rows", {1, 2, 4, 7, 8, 14, 16, 28, 32, 56}, plan().height);
    builder.add("chunk", {0, 1, 2, 4});
    builder.add_threads(options_.threads);
    return space;
  }

 private:
  const ConvolutionPlan& plan() const { return code_->plan; }
  const Product& product() const { return plan().base.products[0]; }
  int64_t steps() const { return plan().y.steps() * plan().x.steps(); }

  bool is_possible() const {
    const std::vector<Expr>& k = product().k.axes;
    const bool only_windows = std::all_of(k.begin(), k.end(), [&](const Expr& axis) {
      return axis == plan().y.window || axis == plan().x.window;
    });
    return only_windows && plan().base.m.extent.is_constant(1) && plan().planes.empty() &&
           plan().x.has_window() && plan().x.stride == 1 && steps() <= kMostSteps &&
           code_->vectors() <= kMostVectors;
  }

  int64_t typical_planes() const {
    int64_t planes = 1;
    for (const Expr& axis : plan().outer)
      planes *= std::max<int64_t>(1, typical_extent(axis.axis_extent(), options_));
    return planes;
  }

  void choose_rows() {
    // Few enough for their sums to stay in registers beside the filter.
    code_->together = std::min<int64_t>(plan().height, target_.vector_registers() == 32 ? 4 : 2);
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

  BodyId in_sum_type(BodyId value) {
    const DType dtype = code_->accumulator;
    return arena_[value].dtype == dtype ? value : arena_.op(graph::Op::kCast, dtype, {value});
  }

  void add_launch() {
    list_.kernel().schedule = schedule();
    CpuLaunch launch =
        launch_of_code(list_, arena_, kernel_, options_.round_each, code_, &emit_depthwise);
    launch.chunk = chunk_;
    launch.threads = threads_;
    list_.kernel().launches.push_back(std::move(launch));
  }

  kernel::Arena& arena_;
  const kernel::Kernel& kernel_;
  const CpuTarget& target_;
  const CpuKernelOptions& options_;
  LaunchList list_;
  std::shared_ptr<DepthwiseCode> code_;
  int64_t chunk_ = 0;
  int threads_ = 0;
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
