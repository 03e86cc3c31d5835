#include "luminal/codegen/llvm/window_emitter.h"

#include "luminal/codegen/llvm/product_emitter.h"

namespace luminal::codegen {

using llvm::Value;

WindowEmitter::WindowEmitter(llvm::Module& module, const CpuTarget& target, const WindowCode& code,
                             graph::DType accumulator)
    : builder_(module, target),
      ir_(builder_.ir()),
      plan_(code.plan),
      body_(builder_, *code.arena, {code.round_each, MathAccuracy::kFull}, code.plan.base.roots),
      window_code_(code),
      accumulator_(accumulator) {}

void WindowEmitter::begin(std::string_view name) {
  entry_ = builder_.begin_entry(name);
  for (size_t i = 0; i < window_code_.tensors.size(); ++i)
    body_.set_buffer(window_code_.tensors[i], builder_.buffer(entry_, static_cast<int>(i)));
  for (size_t i = 0; i < window_code_.dims.size(); ++i)
    body_.set_dim(window_code_.dims[i], builder_.scalar(entry_, static_cast<int>(i)));
}

void WindowEmitter::end(llvm::function_ref<void(Value* item)> each) {
  builder_.loop(entry_.begin, entry_.end, builder_.index(1), [&](Value* item) {
    const BodyCode::Scope scope(body_);
    each(item);
  });
  ir_.CreateRetVoid();
}

Value* WindowEmitter::scaled(Value* number, int64_t by) {
  return ir_.CreateMul(number, builder_.index(by));
}

Value* WindowEmitter::minimum(Value* a, Value* b) {
  return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
}

void WindowEmitter::store_pixels(Value* sum, Value* x, Value* mask) {
  const BodyCode::Scope scope(body_);
  body_.spread(plan_.x.position, x, VectorBuilder::lanes_of(sum), mask);
  // Beside the mask there is what another tile left, which functions would look at too
  // (ProductEmitter::load_sum).
  if (mask != nullptr)
    sum = ir_.CreateSelect(mask, sum, llvm::Constant::getNullValue(sum->getType()));
  const Product& product = plan_.base.products[0];
  body_.define(product.sum, value_of_sum(body_, accumulator_, product.dtype, sum));
  for (const kernel::Root& root : plan_.base.roots) body_.store(root, body_.wide_value(root.value));
  body_.gather_up();
}

}  // namespace luminal::codegen
