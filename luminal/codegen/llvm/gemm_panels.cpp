#include "luminal/codegen/llvm/gemm_panels.h"

#include <algorithm>

#include "luminal/codegen/llvm/gemm_pack.h"

namespace luminal::codegen {

using llvm::Value;

PanelEmitter::PanelEmitter(llvm::Module& module, const CpuTarget& target, const GemmCode& code)
    : ProductEmitter(module, target, code, code.specs[0].accumulator),
      spec_(code.specs[0]),
      layout_(spec_, target) {
  // Two vectors of floats are rounded to bf16 by one instruction, and leave as a whole line.
  const bool narrow = std::all_of(plan_.roots.begin(), plan_.roots.end(), [&](const auto& root) {
    return code.arena->tensor(root.tensor).dtype == graph::DType::kBF16;
  });
  const int lanes = 2 * sum_lanes_;
  if (narrow && target.has(runtime::CpuFeature::kAvx512bf16) && spec_.nr % lanes == 0)
    finished_lanes_ = lanes;
}

void PanelEmitter::begin(std::string_view name) {
  ProductEmitter::begin(name);
  panels_ = body_.index(layout_.panels(plan_.n.extent));
}

void PanelEmitter::begin_with_rows(std::string_view name) {
  begin(name);
  m_ = body_.index(plan_.m.extent);
  row_batch_ = body_.index(product_of_extents(plan_.row_batch));
}

Value* PanelEmitter::buffer_after_tensors(size_t number) {
  return builder_.buffer(entry_, static_cast<int>(code_.tensors.size() + number));
}

void PanelEmitter::set_panel(Value* number) {
  Value* panel = ir_.CreateURem(number, panels_);
  body_.set_axes(plan_.batch, ir_.CreateUDiv(number, panels_));
  column_ = ir_.CreateMul(panel, builder_.index(spec_.nr));
  columns_ = minimum(ir_.CreateSub(n_, column_), builder_.index(spec_.nr));
}

void PanelEmitter::pack(size_t product, const Steps& steps, Value* target) {
  GemmPacker(builder_, body_, *code_.arena, code_.specs[product], plan_.n, plan_.products[product])
      .pack({column_, columns_, steps.first, steps.count, target});
}

Value* PanelEmitter::place_of_sums(Value* block, Value* row) {
  Value* rows = ir_.CreateAdd(ir_.CreateMul(block, body_.index(code_.tile_rows())), row);
  return ir_.CreateMul(rows, builder_.index(int64_t{spec_.nr} * layout_.sum_bytes()));
}

namespace {

class PackEmitter : PanelEmitter {
 public:
  PackEmitter(llvm::Module& module, const CpuTarget& target, const GemmCode& code, size_t product)
      : PanelEmitter(module, target, code), product_(product) {}

  void emit() {
    begin("pack");
    const symbolic::Expr& k = plan_.products[product_].k.extent;
    Value* bytes = body_.index(layout_.panel_bytes(k));
    Value* buffer = buffer_after_tensors(0);
    builder_.loop(entry_.begin, entry_.end, builder_.index(1), [&](Value* item) {
      const BodyCode::Scope scope(body_);
      set_panel(item);
      pack(product_, {builder_.index(0), body_.index(k)},
           builder_.offset(buffer, ir_.CreateMul(item, bytes)));
    });
    ir_.CreateRetVoid();
  }

 private:
  size_t product_;
};

class JoinEmitter : PanelEmitter {
 public:
  JoinEmitter(llvm::Module& module, const CpuTarget& target, const GemmCode& code)
      : PanelEmitter(module, target, code) {}

  void emit() {
    begin_with_rows("join");
    parts_ = spec_.split;
    part_bytes_ = body_.index(code_.part_bytes(builder_.target()));
    Value* tiles = body_.index(ceil_div(plan_.m.extent, spec_.mr));
    builder_.loop(entry_.begin, entry_.end, builder_.index(1), [&](Value* item) {
      const BodyCode::Scope scope(body_);
      Value* block = ir_.CreateUDiv(item, tiles);
      body_.set_axes(plan_.row_batch, ir_.CreateURem(block, row_batch_));
      set_panel(ir_.CreateUDiv(block, row_batch_));
      Value* row = ir_.CreateMul(ir_.CreateURem(item, tiles), builder_.index(spec_.mr));
      std::vector<Value*> sums;
      for (size_t i = 0; i < plan_.products.size(); ++i)
        sums.push_back(builder_.offset(buffer_after_tensors(i), place_of_sums(block, row)));
      finish(row, minimum(ir_.CreateSub(m_, row), builder_.index(spec_.mr)), sums,
             builder_.index(int64_t{spec_.nr} * layout_.sum_bytes()));
    });
    ir_.CreateRetVoid();
  }
};

}  // namespace

void emit_gemm_pack(llvm::Module& module, const CpuTarget& target, const GemmCode& code,
                    size_t product) {
  PackEmitter(module, target, code, product).emit();
}

void emit_gemm_join(llvm::Module& module, const CpuTarget& target, const GemmCode& code) {
  JoinEmitter(module, target, code).emit();
}

}  // namespace luminal::codegen
