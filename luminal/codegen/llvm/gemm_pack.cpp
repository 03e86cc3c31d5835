#include "luminal/codegen/llvm/gemm_pack.h"

#include <llvm/IR/IntrinsicsX86.h>

namespace luminal::codegen {

using llvm::Value;

llvm::Type* GemmPacker::unit_vector() {
  llvm::Type* unit = nullptr;
  if (spec_.mode == GemmMode::kFma)
    unit = ElementCode(builder_).register_type(layout_.accumulator(), 1);
  else
    unit = builder_.i32();
  return VectorBuilder::vector(unit, layout_.lanes());
}

void GemmPacker::pack(const Panel& panel) {
  if (spec_.b_transposed)
    pack_transposed(panel);
  else
    pack_rows(panel);
}

Value* GemmPacker::store_units(const Panel& panel, Value* unit_row, int vector, Value* units) {
  const int64_t row_bytes = int64_t{spec_.nr} * layout_.unit_bytes();
  Value* at = ir_.CreateMul(unit_row, builder_.index(row_bytes));
  Value* pointer = builder_.offset(
      builder_.offset(panel.target, at),
      layout_.header_bytes() + int64_t{vector} * layout_.lanes() * layout_.unit_bytes());
  builder_.store(units, pointer);
  return units;
}

/// Adds the four bytes of each unit to running sums of the columns.
Value* GemmPacker::add_to_sums(Value* sums, Value* units) {
  if (spec_.mode != GemmMode::kDotI8) return sums;
  Value* ones = VectorBuilder::integer(units->getType(), 0x01010101);
  return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_vpdpbusd_512, {}, {sums, ones, units});
}

/// What the accumulators start from: A is read as unsigned, 128 too large.
void GemmPacker::store_sums(const Panel& panel, llvm::ArrayRef<Value*> sums) {
  if (spec_.mode != GemmMode::kDotI8) return;
  for (int v = 0; v < layout_.vectors(); ++v) {
    Value* correction =
        ir_.CreateMul(sums[static_cast<size_t>(v)], VectorBuilder::integer(unit_vector(), -128));
    builder_.store(correction, builder_.offset(panel.target, int64_t{v} * layout_.lanes() * 4));
  }
}

/// One vector of units made of `group` rows of the source, from row `row` on.
Value* GemmPacker::unit_from_rows(const Panel& panel, Value* row, int vector) {
  const int64_t first = int64_t{vector} * layout_.lanes();
  const auto load_row = [&](int g) {
    Value* k = ir_.CreateAdd(row, builder_.index(g));
    Value* exists = ir_.CreateICmpSLT(k, panel.k);
    Value* columns = ir_.CreateSub(panel.columns, builder_.index(first));
    Value* mask =
        builder_.lanes_below(ir_.CreateSelect(exists, columns, builder_.index(0)), layout_.lanes());
    Value* position = ir_.CreateAdd(ir_.CreateMul(k, panel.stride), builder_.index(first));
    return std::pair{position, mask};
  };
  if (spec_.mode == GemmMode::kFma) {
    const auto [position, mask] = load_row(0);
    ElementCode code(builder_);
    Value* value = code.load(spec_.b, panel.source, position, layout_.lanes(), {.mask = mask});
    return code.cast(spec_.b, layout_.accumulator(), value);
  }
  const int bits = 32 / layout_.group();
  llvm::Type* narrow =
      VectorBuilder::vector(ir_.getIntNTy(static_cast<unsigned>(bits)), layout_.lanes());
  Value* units = VectorBuilder::integer(unit_vector(), 0);
  for (int g = 0; g < layout_.group(); ++g) {
    const auto [position, mask] = load_row(g);
    Value* pointer =
        builder_.offset(panel.source, ir_.CreateMul(position, builder_.index(bits / 8)));
    Value* part = ir_.CreateZExt(builder_.load(narrow, pointer, {.mask = mask}), unit_vector());
    units = ir_.CreateOr(
        units, ir_.CreateShl(part, VectorBuilder::integer(unit_vector(), int64_t{g} * bits)));
  }
  return units;
}

void GemmPacker::pack_rows(const Panel& panel) {
  const int group = layout_.group();
  const Carried zeros(static_cast<size_t>(layout_.vectors()),
                      llvm::Constant::getNullValue(unit_vector()));
  Value* units =
      ir_.CreateSDiv(ir_.CreateAdd(panel.k, builder_.index(group - 1)), builder_.index(group));
  const Carried sums =
      builder_.loop(builder_.index(0), units, builder_.index(1), zeros,
                    [&](Value* unit, llvm::ArrayRef<Value*> carried) {
                      Carried next;
                      Value* row = ir_.CreateMul(unit, builder_.index(group));
                      for (int v = 0; v < layout_.vectors(); ++v) {
                        Value* packed = store_units(panel, unit, v, unit_from_rows(panel, row, v));
                        next.push_back(add_to_sums(carried[static_cast<size_t>(v)], packed));
                      }
                      return next;
                    });
  store_sums(panel, sums);
}

/// `lanes` units of one column of B (a row of the N x K source) from element k on.
Value* GemmPacker::units_from_column(const Panel& panel, Value* column, Value* k) {
  const int lanes = layout_.lanes();
  const int elements = lanes * layout_.group();
  Value* exists = ir_.CreateICmpSLT(column, panel.columns);
  Value* rest = ir_.CreateSelect(exists, ir_.CreateSub(panel.k, k), builder_.index(0));
  Value* mask = builder_.lanes_below(rest, elements);
  Value* position = ir_.CreateAdd(ir_.CreateMul(column, panel.stride), k);
  if (spec_.mode == GemmMode::kFma) {
    ElementCode code(builder_);
    Value* value = code.load(spec_.b, panel.source, position, lanes, {.mask = mask});
    return code.cast(spec_.b, layout_.accumulator(), value);
  }
  const int bits = 32 / layout_.group();
  llvm::Type* narrow = VectorBuilder::vector(ir_.getIntNTy(static_cast<unsigned>(bits)), elements);
  Value* pointer = builder_.offset(panel.source, ir_.CreateMul(position, builder_.index(bits / 8)));
  return ir_.CreateBitCast(builder_.load(narrow, pointer, {.mask = mask}), unit_vector());
}

void GemmPacker::pack_transposed(const Panel& panel) {
  const int lanes = layout_.lanes();
  const int group = layout_.group();
  Value* units =
      ir_.CreateSDiv(ir_.CreateAdd(panel.k, builder_.index(group - 1)), builder_.index(group));
  for (int v = 0; v < layout_.vectors(); ++v) {
    const Carried zero{llvm::Constant::getNullValue(unit_vector())};
    const Carried sums = builder_.loop(
        builder_.index(0), units, builder_.index(lanes), zero,
        [&](Value* unit, llvm::ArrayRef<Value*> carried) {
          Value* k = ir_.CreateMul(unit, builder_.index(group));
          llvm::SmallVector<Value*, 16> square;
          for (int i = 0; i < lanes; ++i)
            square.push_back(units_from_column(panel, builder_.index(int64_t{v} * lanes + i), k));
          builder_.transpose(square);
          Value* sum = carried[0];
          for (int i = 0; i < lanes; ++i) {
            // Rows past the end would overwrite what follows the panel.
            Value* row = ir_.CreateAdd(unit, builder_.index(i));
            sum = add_to_sums(sum, square[static_cast<size_t>(i)]);
            builder_.if_then(ir_.CreateICmpSLT(row, units),
                             [&] { store_units(panel, row, v, square[static_cast<size_t>(i)]); });
          }
          return Carried{sum};
        });
    if (spec_.mode == GemmMode::kDotI8) {
      Value* correction = ir_.CreateMul(sums[0], VectorBuilder::integer(unit_vector(), -128));
      builder_.store(correction, builder_.offset(panel.target, int64_t{v} * lanes * 4));
    }
  }
}

}  // namespace luminal::codegen
