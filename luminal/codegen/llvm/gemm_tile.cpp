#include "luminal/codegen/llvm/gemm_tile.h"

#include <llvm/IR/IntrinsicsX86.h>

namespace luminal::codegen {

using llvm::Value;

llvm::Type* GemmTile::sum_vector() {
  return ElementCode(builder_).register_type(layout_.accumulator(), layout_.lanes());
}

llvm::Function* GemmTile::emit() {
  const llvm::IRBuilderBase::InsertPointGuard guard(ir_);
  llvm::SmallVector<llvm::Type*, 20> types(kTileArguments, builder_.i64());
  for (const TileArgument pointer : {kTileA, kTileB, kTileC, kTileBuffers, kTileScalars})
    types[pointer] = builder_.pointer();
  function_ = builder_.begin_function("tile", ir_.getVoidTy(), types);
  function_->addFnAttr(llvm::Attribute::NoInline);
  // Rows past the end repeat the last one: harmless to read, and never stored.
  Value* last_row = ir_.CreateSub(argument(kTileRows), builder_.index(1));
  for (int r = 0; r < spec_.mr; ++r) {
    Value* row = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, builder_.index(r), last_row);
    row_offsets_.push_back(ir_.CreateMul(row, argument(kTileARow)));
  }
  store_sums(run_over_k(initial_sums()));
  ir_.CreateRetVoid();
  return function_;
}

/// The lanes of a row of C that exist.
Value* GemmTile::row_mask(int row, int vector) {
  Value* exists = ir_.CreateICmpSLT(builder_.index(row), argument(kTileRows));
  Value* columns =
      ir_.CreateSub(argument(kTileColumns), builder_.index(int64_t{vector} * layout_.lanes()));
  return builder_.lanes_below(ir_.CreateSelect(exists, columns, builder_.index(0)),
                              layout_.lanes());
}

Carried GemmTile::sums_from_c() {
  Carried result;
  const int64_t vector_bytes = int64_t{layout_.lanes()} * layout_.unit_bytes();
  for (int r = 0; r < spec_.mr; ++r) {
    Value* row =
        builder_.offset(argument(kTileC), ir_.CreateMul(builder_.index(r), argument(kTileCRow)));
    for (int v = 0; v < layout_.vectors(); ++v)
      result.push_back(builder_.load(sum_vector(), builder_.offset(row, v * vector_bytes),
                                     {.mask = row_mask(r, v)}));
  }
  return result;
}

Carried GemmTile::initial_sums() {
  const auto count = static_cast<size_t>(spec_.mr * layout_.vectors());
  if (spec_.mode == GemmMode::kDotI8) {
    // A is read 128 too large; the header of the panel has what corrects it.
    Carried result;
    for (int r = 0; r < spec_.mr; ++r)
      for (int v = 0; v < layout_.vectors(); ++v)
        result.push_back(builder_.load(
            sum_vector(), builder_.offset(argument(kTileB), int64_t{v} * layout_.lanes() * 4 -
                                                                layout_.header_bytes())));
    return result;
  }
  const Carried zeros(count, llvm::Constant::getNullValue(sum_vector()));
  if (!spec_.accumulate && spec_.kc == 0) return zeros;
  Value* first = ir_.CreateICmpNE(argument(kTileFirst), builder_.index(0));
  return builder_.if_else(
      first, [&] { return zeros; }, [&] { return sums_from_c(); });
}

/// The g elements of a last, partial unit; what is missing is zero.
Value* GemmTile::tail_unit(Value* pointer) {
  const int bits = 32 / layout_.group();
  Value* unit = ir_.getInt32(0);
  Value* last = ir_.CreateSub(argument(kTileTail), builder_.index(1));
  for (int g = 0; g + 1 < layout_.group(); ++g) {
    Value* exists = ir_.CreateICmpSLT(builder_.index(g), argument(kTileTail));
    Value* place = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, builder_.index(g), last);
    Value* at = builder_.offset(pointer, ir_.CreateMul(place, builder_.index(bits / 8)));
    Value* part = ir_.CreateZExt(builder_.load(ir_.getIntNTy(static_cast<unsigned>(bits)), at),
                                 builder_.i32());
    part = ir_.CreateShl(part, ir_.getInt32(static_cast<uint32_t>(g * bits)));
    unit = ir_.CreateOr(unit, ir_.CreateSelect(exists, part, ir_.getInt32(0)));
  }
  return unit;
}

Value* GemmTile::broadcast_a(Value* pointer, bool tail) {
  const int lanes = layout_.lanes();
  ElementCode code(builder_);
  switch (spec_.mode) {
    case GemmMode::kFma: {
      Value* element = code.load(spec_.a, pointer, builder_.index(0), 1);
      return builder_.splat(code.cast(spec_.a, layout_.accumulator(), element), lanes);
    }
    case GemmMode::kDotBf16: {
      Value* pair = tail ? ir_.CreateBitCast(tail_unit(pointer), builder_.f32())
                         : builder_.load(builder_.f32(), pointer, {.align = 2});
      return ir_.CreateBitCast(builder_.splat(pair, lanes),
                               VectorBuilder::vector(ir_.getBFloatTy(), 2 * lanes));
    }
    case GemmMode::kDotI8: {
      Value* four =
          tail ? tail_unit(pointer) : builder_.load(builder_.i32(), pointer, {.align = 1});
      Value* all = builder_.splat(four, lanes);
      return ir_.CreateXor(all, VectorBuilder::integer(all->getType(), 0x80808080));
    }
  }
  return nullptr;
}

Value* GemmTile::product(Value* sum, Value* a, Value* b) {
  if (spec_.mode == GemmMode::kDotBf16)
    return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {}, {sum, a, b});
  if (spec_.mode == GemmMode::kDotI8)
    return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_vpdpbusd_512, {}, {sum, a, b});
  if (sum->getType()->isIntOrIntVectorTy()) return ir_.CreateAdd(sum, ir_.CreateMul(a, b));
  return builder_.mul_add(a, b, sum);
}

/// One unit of k for the whole tile.
Carried GemmTile::multiply(llvm::ArrayRef<Value*> sums, Value* a, Value* b, bool tail) {
  llvm::Type* b_type = sum_vector();
  if (spec_.mode == GemmMode::kDotBf16)
    b_type = VectorBuilder::vector(ir_.getBFloatTy(), 2 * layout_.lanes());
  const int64_t vector_bytes = int64_t{layout_.lanes()} * layout_.unit_bytes();
  llvm::SmallVector<Value*, 4> b_vectors;
  const int align = spec_.b_source == GemmB::kInPlace ? layout_.unit_bytes() : 64;
  for (int v = 0; v < layout_.vectors(); ++v)
    b_vectors.push_back(
        builder_.load(b_type, builder_.offset(b, v * vector_bytes),
                      {.align = std::min<int>(align, static_cast<int>(vector_bytes))}));
  Carried result;
  for (int r = 0; r < spec_.mr; ++r) {
    const auto row = static_cast<size_t>(r);
    Value* splat = broadcast_a(builder_.offset(a, row_offsets_[row]), tail);
    for (int v = 0; v < layout_.vectors(); ++v)
      result.push_back(product(sums[row * b_vectors.size() + static_cast<size_t>(v)], splat,
                               b_vectors[static_cast<size_t>(v)]));
  }
  return result;
}

Carried GemmTile::run_over_k(const Carried& initial) {
  const auto tile = initial.size();
  const auto sets = static_cast<size_t>(spec_.k_unroll);
  Carried state = initial;
  state.append((sets - 1) * tile, llvm::Constant::getNullValue(sum_vector()));
  state.push_back(argument(kTileA));
  state.push_back(argument(kTileB));
  const auto step = [&](Value*, llvm::ArrayRef<Value*> now, size_t count) {
    Carried next(now.begin(), now.end());
    for (size_t set = 0; set < count; ++set) {
      const Carried sums =
          multiply(now.slice(set * tile, tile), next[sets * tile], next[sets * tile + 1], false);
      std::copy(sums.begin(), sums.end(), next.begin() + static_cast<int64_t>(set * tile));
      next[sets * tile] = builder_.offset(next[sets * tile], argument(kTileAStep));
      next[sets * tile + 1] = builder_.offset(next[sets * tile + 1], argument(kTileBStep));
    }
    return next;
  };
  Value* units = argument(kTileUnits);
  Value* rest = builder_.index(0);
  if (sets > 1) {
    rest = ir_.CreateSRem(units, builder_.index(spec_.k_unroll));
    units = ir_.CreateSub(units, rest);
  }
  state = builder_.loop(builder_.index(0), units, builder_.index(spec_.k_unroll), state,
                        [&](Value* i, llvm::ArrayRef<Value*> now) { return step(i, now, sets); });
  if (sets > 1)
    state = builder_.loop(builder_.index(0), rest, builder_.index(1), state,
                          [&](Value* i, llvm::ArrayRef<Value*> now) { return step(i, now, 1); });
  Carried sums(state.begin(), state.begin() + static_cast<int64_t>(tile));
  for (size_t set = 1; set < sets; ++set)
    for (size_t i = 0; i < tile; ++i) {
      Value* other = state[set * tile + i];
      sums[i] = other->getType()->isIntOrIntVectorTy() ? ir_.CreateAdd(sums[i], other)
                                                       : ir_.CreateFAdd(sums[i], other);
    }
  if (spec_.mode == GemmMode::kFma) return sums;
  return builder_.if_else(
      ir_.CreateICmpNE(argument(kTileTail), builder_.index(0)),
      [&] { return multiply(sums, state[sets * tile], state[sets * tile + 1], true); },
      [&] { return sums; });
}

/// Sums as elements of C. Narrow floats are rounded when they are stored.
Value* GemmTile::converted(Value* value) {
  const bool rounds_later = layout_.accumulator() == graph::DType::kF32 &&
                            graph::is_float(spec_.c) && graph::bits(spec_.c) < 32;
  if (rounds_later) return value;
  return ElementCode(builder_).cast(layout_.accumulator(), spec_.c, value);
}

bool GemmTile::can_store_directly() const {
  return epilogue_.emit == nullptr && spec_.c == layout_.accumulator();
}

void GemmTile::store_directly(llvm::ArrayRef<Value*> sums) {
  const int64_t vector_bytes = int64_t{layout_.lanes()} * layout_.unit_bytes();
  for (int r = 0; r < spec_.mr; ++r) {
    Value* row =
        builder_.offset(argument(kTileC), ir_.CreateMul(builder_.index(r), argument(kTileCRow)));
    for (int v = 0; v < layout_.vectors(); ++v)
      builder_.store(sums[static_cast<size_t>(r * layout_.vectors() + v)],
                     builder_.offset(row, v * vector_bytes));
  }
}

/// Edges and epilogues: the tile in memory, then a small loop over what exists of it.
void GemmTile::store_through_scratch(llvm::ArrayRef<Value*> sums, bool with_epilogue) {
  const int lanes = layout_.lanes();
  const int64_t vector_bytes = int64_t{lanes} * layout_.unit_bytes();
  const int64_t row_bytes = vector_bytes * layout_.vectors();
  auto* type = llvm::ArrayType::get(sum_vector(), sums.size());
  Value* scratch = builder_.stack(type, 64);
  for (size_t i = 0; i < sums.size(); ++i)
    builder_.store(sums[i], builder_.offset(scratch, static_cast<int64_t>(i) * vector_bytes),
                   {.align = static_cast<int>(std::min<int64_t>(64, vector_bytes))});
  ElementCode code(builder_);
  builder_.loop(builder_.index(0), argument(kTileRows), builder_.index(1), [&](Value* r) {
    Value* c_row = builder_.offset(argument(kTileC), ir_.CreateMul(r, argument(kTileCRow)));
    Value* scratch_row = builder_.offset(scratch, ir_.CreateMul(r, builder_.index(row_bytes)));
    builder_.loop(
        builder_.index(0), argument(kTileColumns), builder_.index(lanes), [&](Value* column) {
          Value* mask = builder_.lanes_below(ir_.CreateSub(argument(kTileColumns), column), lanes);
          Value* at = ir_.CreateMul(column, builder_.index(layout_.unit_bytes()));
          Value* value = builder_.load(sum_vector(), builder_.offset(scratch_row, at));
          graph::DType stored = layout_.accumulator();
          if (with_epilogue) {
            stored = spec_.c;
            value = epilogue_.emit != nullptr
                        ? epilogue_.emit({builder_, value, argument(kTileBatch),
                                          ir_.CreateAdd(argument(kTileRow), r),
                                          ir_.CreateAdd(argument(kTileColumn), column), mask,
                                          argument(kTileBuffers), argument(kTileScalars), lanes})
                        : converted(value);
          }
          code.store(stored, value, c_row, column, {.mask = mask});
        });
  });
}

void GemmTile::store_sums(llvm::ArrayRef<Value*> sums) {
  const auto finish = [&] {
    if (!can_store_directly()) return store_through_scratch(sums, true);
    Value* whole =
        ir_.CreateAnd(ir_.CreateICmpEQ(argument(kTileRows), builder_.index(spec_.mr)),
                      ir_.CreateICmpEQ(argument(kTileColumns), builder_.index(spec_.nr)));
    builder_.if_else(
        whole,
        [&] {
          store_directly(sums);
          return Carried{};
        },
        [&] {
          store_through_scratch(sums, true);
          return Carried{};
        });
  };
  if (spec_.kc == 0 || can_store_directly()) return finish();
  builder_.if_else(
      ir_.CreateICmpNE(argument(kTileLast), builder_.index(0)),
      [&] {
        finish();
        return Carried{};
      },
      [&] {
        store_through_scratch(sums, false);
        return Carried{};
      });
}

}  // namespace luminal::codegen
