// The main launch of a kernel whose code is a description that an emitter reads: convolutions in
// their several forms.
#pragma once

#include <memory>

#include "luminal/codegen/llvm/launch_list.h"

namespace luminal::codegen {

/// Completes the description with where everything is and gives the launch that emits it. Scratch,
/// chunk and threads are left to the caller.
template <typename Code>
CpuLaunch launch_of_code(const LaunchList& list, kernel::Arena& arena, const kernel::Kernel& kernel,
                         bool round_each, const std::shared_ptr<Code>& code,
                         void (*emit)(llvm::Module&, const CpuTarget&, const Code&)) {
  MainLaunch main = list.main_launch(kernel, "conv", to_string(*code));
  code->arena = &arena;
  code->round_each = round_each;
  code->tensors = std::move(main.tensors);
  code->dims = std::move(main.dims);
  main.launch.source.emit = [code, emit](llvm::Module& module, const CpuTarget& target) {
    emit(module, target, *code);
  };
  main.launch.items = code->items();
  return std::move(main.launch);
}

}  // namespace luminal::codegen
