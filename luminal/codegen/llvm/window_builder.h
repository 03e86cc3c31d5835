// What the builders of convolutions in their several forms share: each describes its code, which an
// emitter reads, and adds the launch that runs it.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "luminal/codegen/llvm/launch_list.h"
#include "luminal/codegen/llvm/window_emitter.h"

namespace luminal::codegen {

/// See above. `Code` is a WindowCode.
template <typename Code>
class WindowBuilder {
 protected:
  WindowBuilder(kernel::Arena& arena, const kernel::Kernel& kernel, const CpuTarget& target,
                const CpuKernelOptions& options)
      : arena_(arena),
        kernel_(kernel),
        target_(target),
        options_(options),
        list_(arena, target, options),
        code_(std::make_shared<Code>()) {}

  ConvolutionPlan& plan() { return code_->plan; }
  const ConvolutionPlan& plan() const { return code_->plan; }
  Product& product() { return plan().base.products[0]; }
  const Product& product() const { return plan().base.products[0]; }

  /// How many planes of pixels there usually are.
  int64_t typical_planes() const {
    int64_t planes = 1;
    for (const symbolic::Expr& axis : plan().outer)
      planes *= std::max<int64_t>(1, typical_extent(axis.axis_extent(), options_));
    return planes;
  }

  /// Whether the image is two to a byte: steps of a window begin within bytes.
  bool reads_half_bytes() const {
    const std::vector<kernel::BodyId> reached =
        arena_.reachable(std::vector<kernel::BodyId>{plan().value});
    return std::any_of(reached.begin(), reached.end(), [&](kernel::BodyId id) {
      const kernel::BodyNode& node = arena_[id];
      return node.kind == kernel::BodyKind::kLoad &&
             graph::bits(arena_.tensor(node.tensor).dtype) < 8;
    });
  }

  kernel::BodyId as_dtype(kernel::BodyId value, graph::DType dtype) {
    return arena_[value].dtype == dtype ? value : arena_.op(graph::Op::kCast, dtype, {value});
  }

  /// Completes the description with where everything is and adds the launch that emits it.
  void add_launch(Schedule schedule, void (*emit)(llvm::Module&, const CpuTarget&, const Code&)) {
    list_.kernel().schedule = std::move(schedule);
    MainLaunch main = list_.main_launch(kernel_, "conv", to_string(*code_));
    code_->arena = &arena_;
    code_->round_each = options_.round_each;
    code_->tensors = std::move(main.tensors);
    code_->dims = std::move(main.dims);
    CpuLaunch& launch = main.launch;
    launch.source.emit = [code = code_, emit](llvm::Module& module, const CpuTarget& target) {
      emit(module, target, *code);
    };
    launch.items = code_->items();
    launch.scratch_bytes = code_->scratch_bytes();
    launch.chunk = chunk_;
    launch.threads = threads_;
    list_.kernel().launches.push_back(std::move(launch));
  }

  kernel::Arena& arena_;
  const kernel::Kernel& kernel_;
  const CpuTarget& target_;
  const CpuKernelOptions& options_;
  LaunchList list_;
  std::shared_ptr<Code> code_;
  int64_t chunk_ = 0;  // as runtime::LaunchSize has it
  int threads_ = 0;    // likewise
};

}  // namespace luminal::codegen
