#include "luminal/codegen/llvm/gemm_tile.h"

#include <llvm/IR/IntrinsicsX86.h>

#include "luminal/support/error.h"

namespace luminal::codegen {

using llvm::Value;

int GemmTile::lanes(int vector) const {
  return std::min(layout_.lanes(), columns_ - vector * layout_.lanes());
}

llvm::Type* GemmTile::sum_vector(int vector) {
  return ElementCode(builder_).register_type(spec_.accumulator, lanes(vector));
}

void GemmTile::called_with(llvm::ArrayRef<Value*> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i)
    known_[i] = llvm::dyn_cast<llvm::ConstantInt>(arguments[i]);
}

llvm::Function* GemmTile::emit() {
  const llvm::IRBuilderBase::InsertPointGuard guard(ir_);
  llvm::SmallVector<llvm::Type*, 20> types(spec_.lines_ahead() > 0 ? kTileArguments : kTileCommon,
                                           builder_.i64());
  for (const TileArgument pointer : {kTileA, kTileB, kTileOut}) types[pointer] = builder_.pointer();
  if (spec_.lines_ahead() > 0) types[kTileAhead] = builder_.pointer();
  if (raises_maxima_) types.push_back(builder_.pointer());
  function_ =
      builder_.begin_function(fmt::format("tile{}x{}", rows_, columns_), ir_.getVoidTy(), types);
  function_->addFnAttr(llvm::Attribute::NoInline);
  // Rows past the end repeat the last one: harmless to read, and never looked at.
  Value* last_row = ir_.CreateSub(argument(kTileRows), builder_.index(1));
  for (int r = 0; r < rows_; ++r) {
    Value* row = builder_.index(r);
    if (!whole_) row = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, row, last_row);
    row_offsets_.push_back(ir_.CreateMul(row, a_row_bytes()));
  }
  const Carried sums = run_over_k(initial_sums());
  store_sums(sums);
  if (raises_maxima_) raise_maxima(sums);
  ir_.CreateRetVoid();
  return function_;
}

Value* GemmTile::out_place(int row, int vector) {
  Value* at = ir_.CreateMul(builder_.index(row), argument(kTileOutRow));
  return builder_.offset(builder_.offset(argument(kTileOut), at),
                         int64_t{vector} * layout_.lanes() * (graph::bits(stored_) / 8));
}

void GemmTile::store_sums(llvm::ArrayRef<Value*> sums) {
  // Narrow elements of two vectors are one: rounding them together takes one instruction.
  const bool pairs = columns_ % (2 * layout_.lanes()) == 0;
  const int together = stored_ != spec_.accumulator && pairs ? 2 : 1;
  const int bytes = together * layout_.lanes() * (graph::bits(stored_) / 8);
  const Access access{.align = streaming_ ? bytes : 0, .streaming = streaming_};
  // A dot that is denormal comes out as zero, but not a sum of several.
  const bool normal = together == 2 && spec_.mode == GemmMode::kDotBf16 && spec_.k_unroll == 1;
  ElementCode code(builder_);
  for (int r = 0; r < rows_; ++r)
    for (int v = 0; v < vectors_; v += together) {
      const auto first = static_cast<size_t>(r * vectors_ + v);
      Value* value = builder_.join(sums.slice(first, static_cast<size_t>(together)));
      if (normal)
        builder_.store(code.narrow_normals(value), out_place(r, v), access);
      else
        code.store(stored_, value, out_place(r, v), builder_.index(0), access);
    }
}

/// Rows that repeat the last one change nothing.
void GemmTile::raise_maxima(llvm::ArrayRef<Value*> sums) {
  for (int v = 0; v < vectors_; ++v) {
    Value* place = builder_.offset(argument(kTileMaxima), int64_t{v} * layout_.lanes() * 4);
    llvm::SmallVector<Value*, 17> all{builder_.load(sum_vector(v), place)};
    for (int r = 0; r < rows_; ++r) all.push_back(sums[static_cast<size_t>(r * vectors_ + v)]);
    // By halves, so that few of them wait for each other.
    while (all.size() > 1) {
      const size_t half = (all.size() + 1) / 2;
      for (size_t i = half; i < all.size(); ++i)
        all[i - half] =
            ir_.CreateSelect(ir_.CreateFCmpOGT(all[i], all[i - half]), all[i], all[i - half]);
      all.resize(half);
    }
    builder_.store(all[0], place);
  }
}

/// The lines that a row of the result touches, wherever it begins.
void GemmTile::ask_for_row(Value* row) {
  constexpr int64_t kLine = 64;
  constexpr int kFirstCache = 3;
  const int64_t bytes = int64_t{columns_} * (graph::bits(stored_) / 8);
  Value* begin = builder_.offset(argument(kTileOut), ir_.CreateMul(row, argument(kTileOutRow)));
  for (int64_t at = 0; at < bytes; at += kLine)
    builder_.prefetch(builder_.offset(begin, at), kFirstCache, true);
  builder_.prefetch(builder_.offset(begin, bytes - 1), kFirstCache, true);
}

Carried GemmTile::initial_sums() {
  const auto each = [&](auto&& make) {
    Carried result;
    for (int r = 0; r < rows_; ++r)
      for (int v = 0; v < vectors_; ++v) result.push_back(make(r, v));
    return result;
  };
  const auto zeros = [&] {
    return each([&](int, int v) { return llvm::Constant::getNullValue(sum_vector(v)); });
  };
  // A is read 128 too large; the header of the panel has what corrects it.
  const auto corrections = [&] {
    return each([&](int, int v) {
      const int64_t at = int64_t{v} * layout_.lanes() * 4 - layout_.header_bytes();
      return builder_.load(sum_vector(v), builder_.offset(argument(kTileB), at));
    });
  };
  if (spec_.mode == GemmMode::kDotI8 && spec_.split > 1)
    return builder_.if_else(ir_.CreateICmpNE(argument(kTileFirst), builder_.index(0)), corrections,
                            zeros);
  if (spec_.mode == GemmMode::kDotI8) return corrections();
  if (spec_.kc == 0) return zeros();
  return builder_.if_else(ir_.CreateICmpNE(argument(kTileFirst), builder_.index(0)), zeros, [&] {
    return each([&](int r, int v) { return builder_.load(sum_vector(v), out_place(r, v)); });
  });
}

/// The g elements of a last, partial unit; what is missing is zero.
Value* GemmTile::tail_unit(Value* pointer) {
  const int bits = 32 / layout_.group();
  Value* unit = ir_.getInt32(0);
  Value* last = ir_.CreateSub(argument(kTileTail), builder_.index(1));
  for (int g = 0; g + 1 < layout_.group(); ++g) {
    const auto load = [&](Value* at) {
      llvm::Type* element = ir_.getIntNTy(static_cast<unsigned>(bits));
      return ir_.CreateZExt(builder_.load(element, at), builder_.i32());
    };
    if (g == 0) {  // there is one, or there were no tail
      unit = load(pointer);
      continue;
    }
    Value* exists = ir_.CreateICmpSLT(builder_.index(g), argument(kTileTail));
    Value* place = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, builder_.index(g), last);
    Value* part = load(builder_.offset(pointer, ir_.CreateMul(place, builder_.index(bits / 8))));
    part = ir_.CreateShl(part, ir_.getInt32(static_cast<uint32_t>(g * bits)));
    unit = ir_.CreateOr(unit, ir_.CreateSelect(exists, part, ir_.getInt32(0)));
  }
  return unit;
}

Value* GemmTile::broadcast_a(Value* pointer, bool tail, int lanes) {
  ElementCode code(builder_);
  switch (spec_.mode) {
    case GemmMode::kFma: {
      Value* element = code.load(spec_.a, pointer, builder_.index(0), 1);
      return builder_.splat(code.cast(spec_.a, spec_.accumulator, element), lanes);
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
    case GemmMode::kAmxBf16:
    case GemmMode::kAmxI8:
      break;
  }
  throw InternalError("this tile has no matrix registers");
}

Value* GemmTile::product(Value* sum, Value* a, Value* b) {
  const bool half = sum->getType()->getPrimitiveSizeInBits() == 256;
  if (spec_.mode == GemmMode::kDotBf16)
    return builder_.call_intrinsic(half ? llvm::Intrinsic::x86_avx512bf16_dpbf16ps_256
                                        : llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512,
                                   {}, {sum, a, b});
  if (spec_.mode == GemmMode::kDotI8)
    return builder_.call_intrinsic(
        half ? llvm::Intrinsic::x86_avx512_vpdpbusd_256 : llvm::Intrinsic::x86_avx512_vpdpbusd_512,
        {}, {sum, a, b});
  if (sum->getType()->isIntOrIntVectorTy()) return ir_.CreateAdd(sum, ir_.CreateMul(a, b));
  return builder_.mul_add(a, b, sum);
}

Value* GemmTile::load_b(Value* pointer, int vector) {
  const int lanes = this->lanes(vector);
  const int bytes = lanes * layout_.unit_bytes();
  Value* at = builder_.offset(pointer, int64_t{vector} * layout_.lanes() * layout_.unit_bytes());
  const int align = spec_.b_source == GemmB::kInPlace ? layout_.unit_bytes() : 64;
  const Access access{.align = std::min(align, bytes)};
  if (spec_.mode == GemmMode::kDotBf16)
    return builder_.load(VectorBuilder::vector(ir_.getBFloatTy(), 2 * lanes), at, access);
  if (spec_.mode == GemmMode::kDotI8) return builder_.load(sum_vector(vector), at, access);
  ElementCode code(builder_);
  return code.cast(spec_.panel, spec_.accumulator,
                   code.load(spec_.panel, at, builder_.index(0), lanes, access));
}

/// One unit of k for the whole tile.
Carried GemmTile::multiply(llvm::ArrayRef<Value*> sums, Value* a, Value* b, bool tail) {
  llvm::SmallVector<Value*, 4> b_vectors;
  for (int v = 0; v < vectors_; ++v) b_vectors.push_back(load_b(b, v));
  Carried result;
  for (int r = 0; r < rows_; ++r) {
    const auto row = static_cast<size_t>(r);
    Value* from = builder_.offset(a, row_offsets_[row]);
    Value* splat = nullptr;
    for (int v = 0; v < vectors_; ++v) {
      if (v == 0 || lanes(v) != lanes(v - 1)) splat = broadcast_a(from, tail, lanes(v));
      const auto at = static_cast<size_t>(v);
      result.push_back(product(sums[row * b_vectors.size() + at], splat, b_vectors[at]));
    }
  }
  return result;
}

/// Asks for lines of the next panel or of the next rows; gives what the next step asks for.
Value* GemmTile::ask_ahead(Value* pointer) {
  constexpr int kSecondCache = 2;
  for (int i = 0; i < spec_.lines_ahead(); ++i) {
    Value* at = ir_.CreateMul(argument(kTileAheadNext), builder_.index(i));
    builder_.prefetch(builder_.offset(pointer, at), kSecondCache);
  }
  return builder_.offset(pointer, argument(kTileAheadStep));
}

Carried GemmTile::run_over_k(const Carried& initial) {
  const auto tile = initial.size();
  const auto sets = static_cast<size_t>(spec_.k_unroll);
  Carried state = initial;
  for (size_t i = tile; i < sets * tile; ++i)
    state.push_back(llvm::Constant::getNullValue(initial[i % tile]->getType()));
  state.push_back(argument(kTileA));
  state.push_back(argument(kTileB));
  if (spec_.lines_ahead() > 0) state.push_back(argument(kTileAhead));
  const auto step = [&](Value*, llvm::ArrayRef<Value*> now, size_t count) {
    Carried next(now.begin(), now.end());
    for (size_t set = 0; set < count; ++set) {
      const Carried sums =
          multiply(now.slice(set * tile, tile), next[sets * tile], next[sets * tile + 1], false);
      std::copy(sums.begin(), sums.end(), next.begin() + static_cast<int64_t>(set * tile));
      next[sets * tile] = builder_.offset(next[sets * tile], argument(kTileAStep));
      next[sets * tile + 1] = builder_.offset(next[sets * tile + 1], argument(kTileBStep));
      if (spec_.lines_ahead() > 0) next.back() = ask_ahead(next.back());
    }
    return next;
  };
  Value* units = argument(kTileUnits);
  Value* rest = builder_.index(0);
  if (sets > 1) {
    rest = ir_.CreateSRem(units, builder_.index(spec_.k_unroll));
    units = ir_.CreateSub(units, rest);
  }
  const auto steps = [&](Value* count, llvm::ArrayRef<Value*> before) {
    return builder_.loop(builder_.index(0), count, builder_.index(spec_.k_unroll), before,
                         [&](Value* i, llvm::ArrayRef<Value*> now) { return step(i, now, sets); });
  };
  if (asks_for_result_ && sets == 1) {
    // Row by row: what is asked for at once keeps operands waiting.
    Value* run = ir_.CreateUDiv(units, builder_.index(rows_));
    state = builder_.loop(builder_.index(0), builder_.index(rows_), builder_.index(1), state,
                          [&](Value* row, llvm::ArrayRef<Value*> now) {
                            ask_for_row(row);
                            return steps(run, now);
                          });
    units = ir_.CreateURem(units, builder_.index(rows_));
  }
  state = steps(units, state);
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

void call_tile(VectorBuilder& builder, const GemmSpec& spec, const TileSet& tiles,
               llvm::ArrayRef<llvm::Value*> arguments, llvm::Value* columns, llvm::Value* rows) {
  llvm::IRBuilder<>& ir = builder.ir();
  const auto call = [&](llvm::Function* tile) {
    return [&ir, arguments, tile] {
      ir.CreateCall(tile, arguments);
      return Carried{};
    };
  };
  const auto by_columns = [&] {
    if (tiles.few_columns == nullptr) return call(tiles.full)();
    return builder.if_else(ir.CreateICmpSLE(columns, builder.index(spec.column_tail)),
                           call(tiles.few_columns), call(tiles.full));
  };
  if (tiles.few_rows == nullptr) {
    by_columns();
    return;
  }
  builder.if_else(ir.CreateICmpSLT(rows, builder.index(spec.mr)), call(tiles.few_rows), by_columns);
}

}  // namespace luminal::codegen
