// What the code of convolutions in their several forms shares: what an entry is made of, how it
// begins, and what is done to the sums of a vector of pixels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "luminal/codegen/llvm/body_code.h"
#include "luminal/codegen/llvm/convolution_plan.h"
#include "luminal/codegen/llvm/kernel_compiler.h"

namespace luminal::codegen {

/// What every entry is made of. Pointers come in the order of `tensors`, scalars of `dims`.
struct WindowCode {
  const kernel::Arena* arena = nullptr;
  ConvolutionPlan plan;
  std::vector<kernel::NodeId> tensors;
  std::vector<std::string> dims;
  bool round_each = false;

  /// Bytes of scratch that a thread needs.
  int64_t scratch_bytes() const { return 0; }
};

/// The base of emitters of the entry "conv", and of what is done before it.
class WindowEmitter {
 protected:
  WindowEmitter(llvm::Module& module, const CpuTarget& target, const WindowCode& code,
                graph::DType accumulator);

  /// Starts the entry; buffers and dims are known from here on.
  void begin(std::string_view name = "conv");
  /// Writes the loop over the items, and with it the end of the entry.
  void end(llvm::function_ref<void(llvm::Value* item)> each);

  llvm::Value* scaled(llvm::Value* number, int64_t by);
  llvm::Value* minimum(llvm::Value* a, llvm::Value* b);
  /// What is done to the sums of the pixels from `x` on, and storing. Other axes are set.
  void store_pixels(llvm::Value* sum, llvm::Value* x, llvm::Value* mask);

  VectorBuilder builder_;
  llvm::IRBuilder<>& ir_;
  const ConvolutionPlan& plan_;
  BodyCode body_;
  EntryArguments entry_;

 private:
  const WindowCode& window_code_;
  graph::DType accumulator_;
};

}  // namespace luminal::codegen
