#include "luminal/codegen/llvm/gemm_blocks.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "luminal/codegen/llvm/gemm_pack.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using llvm::Value;

constexpr int kDigitsPerWord = 8;

class BlockTile : public GemmTile {
 public:
  BlockTile(VectorBuilder& builder, const GemmSpec& spec, int rows, bool whole)
      : GemmTile(builder, spec, rows, spec.nr, whole),
        elements_(builder),
        lanes_(layout_.lanes()),
        words_(spec.blocks.size / kDigitsPerWord) {
    // Sums that wait for each other: fewer rows take turns with more of them.
    chains_ = builder.target().vector_registers() == 32 ? std::max(1, 4 / rows) : 1;
  }

 protected:
  Carried run_over_k(const Carried& initial) override {
    zero_ = builder_.hidden(ir_.getInt64(0));
    Carried state = initial;
    state.push_back(argument(kTileA));
    state.push_back(argument(kTileB));
    const size_t tile = initial.size();
    state = builder_.loop(builder_.index(0), argument(kTileUnits), builder_.index(1), state,
                          [&](Value*, llvm::ArrayRef<Value*> now) {
                            Carried next =
                                add_block(now.take_front(tile), now[tile], now[tile + 1]);
                            next.push_back(builder_.offset(now[tile], argument(kTileAStep)));
                            next.push_back(builder_.offset(now[tile + 1], argument(kTileBStep)));
                            return next;
                          });
    return Carried(state.begin(), state.begin() + static_cast<int64_t>(tile));
  }

 private:
  bool dots() const { return spec_.mode == GemmMode::kDotBf16; }
  int64_t column_bytes(const std::optional<DType>& dtype) const {
    return dtype ? int64_t{spec_.nr} * graph::bits(*dtype) / 8 : 0;
  }
  /// What every column of a vector has once per block.
  Value* shared(const std::optional<DType>& dtype, Value* pointer, int vector) {
    Value* value = elements_.load(*dtype, pointer, builder_.index(int64_t{vector} * lanes_), lanes_,
                                  {.align = 2});
    return elements_.cast(*dtype, spec_.accumulator, value);
  }

  /// The sums after one more block.
  Carried add_block(llvm::ArrayRef<Value*> sums, Value* a, Value* b) {
    Value* offsets = builder_.offset(b, column_bytes(spec_.blocks.scale));
    Value* words = builder_.offset(offsets, column_bytes(spec_.blocks.offset));
    const Carried block = sum_block(a, words);
    Carried result;
    for (int r = 0; r < rows_; ++r) {
      Value* total = spec_.blocks.offset ? sum_of_row(a, r) : nullptr;
      for (int v = 0; v < vectors_; ++v) {
        const auto at = static_cast<size_t>(r * vectors_ + v);
        Value* sum = sums[at];
        if (spec_.blocks.scale)
          sum = builder_.mul_add(block[at], shared(spec_.blocks.scale, b, v), sum);
        else
          sum = ir_.CreateFAdd(sum, block[at]);
        if (total != nullptr)
          sum = builder_.mul_add(total, shared(spec_.blocks.offset, offsets, v), sum);
        result.push_back(sum);
      }
    }
    return result;
  }

  /// The sum of a row of A over a block, in all lanes.
  Value* sum_of_row(Value* a, int row) {
    Value* from = builder_.offset(a, row_offsets_[static_cast<size_t>(row)]);
    Value* sum = nullptr;
    for (int w = 0; w < words_; ++w) {
      Value* part = elements_.load(spec_.a, from, builder_.index(int64_t{w} * kDigitsPerWord),
                                   kDigitsPerWord);
      part = elements_.cast(spec_.a, spec_.accumulator, part);
      sum = sum == nullptr ? part : ir_.CreateFAdd(sum, part);
    }
    return builder_.splat(builder_.horizontal_sum(sum), lanes_);
  }

  /// Digits times rows over a block, without the scale.
  Carried sum_block(Value* a, Value* words) {
    const auto tile = static_cast<size_t>(rows_ * vectors_);
    Carried sums(tile * static_cast<size_t>(chains_), llvm::Constant::getNullValue(sum_vector()));
    int together = 4;
    while (words_ % together != 0) --together;
    const int64_t word_bytes = int64_t{spec_.nr} * 4;
    const int64_t a_bytes = int64_t{kDigitsPerWord} * graph::bits(spec_.a) / 8;
    if (together == words_) {
      for (int w = 0; w < words_; ++w)
        add_words(sums, builder_.offset(a, w * a_bytes), builder_.offset(words, w * word_bytes));
    } else {
      sums = builder_.loop(
          builder_.index(0), builder_.index(words_), builder_.index(together), sums,
          [&](Value* word, llvm::ArrayRef<Value*> now) {
            Carried next(now.begin(), now.end());
            for (int w = 0; w < together; ++w) {
              Value* at = ir_.CreateAdd(word, builder_.index(w));
              add_words(next, builder_.offset(a, ir_.CreateMul(at, builder_.index(a_bytes))),
                        builder_.offset(words, ir_.CreateMul(at, builder_.index(word_bytes))));
            }
            return next;
          });
    }
    for (int chain = 1; chain < chains_; ++chain)
      for (size_t i = 0; i < tile; ++i)
        sums[i] = ir_.CreateFAdd(sums[i], sums[static_cast<size_t>(chain) * tile + i]);
    sums.resize(tile);
    return sums;
  }

  /// One word of every column: eight steps of k.
  void add_words(Carried& sums, Value* a, Value* words) {
    llvm::SmallVector<Value*, 4> vectors;
    llvm::Type* type = VectorBuilder::vector(builder_.i32(), lanes_);
    for (int v = 0; v < vectors_; ++v)
      vectors.push_back(
          builder_.load(type, builder_.offset(words, int64_t{v} * lanes_ * 4), {.align = 4}));
    const int steps = dots() ? kDigitsPerWord / 2 : kDigitsPerWord;
    for (int i = 0; i < steps; ++i) {
      llvm::SmallVector<Value*, 4> digits;
      for (Value* each : vectors) digits.push_back(dots() ? pair(each, i) : digit(each, i));
      const int step = dots() ? 2 * i : step_of_digit(i);
      for (int r = 0; r < rows_; ++r) {
        const int64_t bytes = int64_t{step} * graph::bits(spec_.a) / 8;
        Value* from = builder_.offset(a, row_offsets_[static_cast<size_t>(r)]);
        for (int v = 0; v < vectors_; ++v) {
          // An element of A is an operand in memory of every product it is in, which costs
          // nothing; if the compiler knew that it is one element, it would spread it into a
          // register, which takes as long as a product where all units are busy. (Not so with
          // dots, whose operands in memory are slow.)
          if (v > 0 && !dots()) from = builder_.offset(from, zero_);
          Value* row = row_element(builder_.offset(from, bytes));
          const int at = (i % chains_) * rows_ * vectors_ + r * vectors_ + v;
          Value*& sum = sums[static_cast<size_t>(at)];
          sum = multiply_add(row, digits[static_cast<size_t>(v)], sum);
        }
      }
    }
  }

  /// One element of A, or a pair of them, in all lanes.
  Value* row_element(Value* pointer) {
    if (!dots()) return builder_.splat(builder_.load(builder_.f32(), pointer), lanes_);
    Value* pair = builder_.load(builder_.f32(), pointer, {.align = 2});
    return ir_.CreateBitCast(builder_.splat(pair, lanes_),
                             VectorBuilder::vector(ir_.getBFloatTy(), 2 * lanes_));
  }
  Value* multiply_add(Value* a, Value* b, Value* sum) {
    if (!dots()) return builder_.mul_add(a, b, sum);
    return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {}, {sum, a, b});
  }

  /// Digit `number` of each word as a float, less the zero. Without a table it is put among the low
  /// bits of a float whose last place is 1 there, so that nothing is rounded.
  Value* digit(Value* word, int number) {
    constexpr int kMantissa = 23;
    constexpr int kExponentOfOne = 127;
    constexpr int kDown = 3;
    if (has_table()) return looked_up(word, number);
    // Digits from the sixth on would reach the exponent.
    if (number > 4) {
      word = ir_.CreateLShr(word, VectorBuilder::integer(word->getType(), 4 * kDown));
      number -= kDown;
    }
    const int shift = 4 * number;
    const int64_t one = int64_t{kExponentOfOne + kMantissa - shift} << kMantissa;
    Value* bits =
        ir_.CreateAnd(word, VectorBuilder::integer(word->getType(), int64_t{15} << shift));
    bits = ir_.CreateOr(bits, VectorBuilder::integer(word->getType(), one));
    const double base = static_cast<double>(int64_t{1} << (kMantissa - shift));
    return ir_.CreateFSub(ir_.CreateBitCast(bits, sum_vector()),
                          VectorBuilder::number(sum_vector(), base + spec_.blocks.zero));
  }

  bool has_table() const {
    return lanes_ == 16 && builder_.target().has(runtime::CpuFeature::kAvx512bw);
  }
  /// The same from a table; the processor looks at four bits. Those of the upper half of a word are
  /// looked up there, as bf16 over zeros, so that two digits share a shift.
  Value* looked_up(Value* word, int number) {
    constexpr int kHalf = kDigitsPerWord / 2;
    if (number >= kHalf) {
      // Known, it would become an instruction that clears the lower halves.
      if (upper_ == nullptr) upper_ = builder_.hidden(ir_.getInt32(0xAAAAAAAA));
      Value* upper = ir_.CreateBitCast(upper_, VectorBuilder::vector(ir_.getInt1Ty(), 2 * lanes_));
      Value* halves = looked_up_halves(word, number - kHalf);
      halves = ir_.CreateSelect(upper, halves, llvm::Constant::getNullValue(halves->getType()));
      return ir_.CreateBitCast(halves, sum_vector());
    }
    llvm::SmallVector<llvm::Constant*, 16> table;
    for (int i = 0; i < 16; ++i)
      table.push_back(llvm::ConstantFP::get(builder_.f32(), i - spec_.blocks.zero));
    return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {},
                                   {llvm::ConstantVector::get(table), shifted(word, number)});
  }

  /// Digits `number` and `number` + 4 of each word as two bf16 less the zero.
  Value* pair(Value* word, int number) {
    return ir_.CreateBitCast(looked_up_halves(word, number),
                             VectorBuilder::vector(ir_.getBFloatTy(), 2 * lanes_));
  }

  /// Their bits, from a table. The processor looks at five bits, the fifth being one of the next
  /// digit: the table has all twice.
  Value* looked_up_halves(Value* word, int number) {
    llvm::SmallVector<llvm::Constant*, 32> table;
    for (int i = 0; i < 32; ++i)
      table.push_back(llvm::ConstantExpr::getBitCast(
          llvm::ConstantFP::get(ir_.getBFloatTy(), i % 16 - spec_.blocks.zero), builder_.i16()));
    Value* words =
        ir_.CreateBitCast(shifted(word, number), VectorBuilder::vector(builder_.i16(), 2 * lanes_));
    return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_permvar_hi_512, {},
                                   {llvm::ConstantVector::get(table), words});
  }

  /// So that digit `number` is the first.
  Value* shifted(Value* word, int number) {
    if (number == 0) return word;
    return ir_.CreateLShr(word, VectorBuilder::integer(word->getType(), int64_t{4} * number));
  }

  ElementCode elements_;
  int lanes_;
  int words_;
  int chains_ = 1;
  Value* zero_ = nullptr;   ///< hidden
  Value* upper_ = nullptr;  ///< bits of the upper halves of words, hidden; null: none needed so far
};

}  // namespace

llvm::Function* emit_block_tile(VectorBuilder& builder, const GemmSpec& spec, int rows,
                                bool whole) {
  return BlockTile(builder, spec, rows, whole).emit();
}

// Packing.

/// The digits of eight steps of k from `k` on, per column of a vector.
Value* GemmPacker::word_of_digits(const Panel& panel, Value* k, int vector) {
  const FourBitWeights& weights = *product_.four_bit;
  llvm::Type* type = VectorBuilder::vector(builder_.i32(), layout_.lanes());
  Value* word = llvm::Constant::getNullValue(type);
  for (int number = 0; number < kDigitsPerWord; ++number) {
    const BodyCode::Scope scope(body_);
    set_k(ir_.CreateAdd(k, builder_.index(step_of_digit(number))));
    spread_columns(panel, builder_.index(vector));
    Value* digit = body_.elements().cast(arena_[weights.digits].dtype, DType::kI32,
                                         body_.wide_value(weights.digits));
    digit = ir_.CreateSub(digit, VectorBuilder::integer(type, weights.lowest));
    digit = ir_.CreateAnd(digit, VectorBuilder::integer(type, 15));
    word = ir_.CreateOr(word, ir_.CreateShl(digit, VectorBuilder::integer(type, 4 * number)));
  }
  return word;
}

void GemmPacker::pack_block(const Panel& panel, Value* unit, int vector) {
  const FourBitWeights& weights = *product_.four_bit;
  const int64_t lanes = layout_.lanes();
  Value* first = ir_.CreateMul(unit, builder_.index(spec_.blocks.size));
  Value* to =
      builder_.offset(panel.target, ir_.CreateMul(unit, builder_.index(layout_.row_bytes())));
  for (const auto& [value, dtype] :
       {std::pair(weights.scale, spec_.blocks.scale), {weights.offset, spec_.blocks.offset}}) {
    if (!value) continue;
    const BodyCode::Scope scope(body_);
    set_k(first);
    spread_columns(panel, builder_.index(vector));
    body_.elements().store(*dtype, body_.wide_value(*value), to, builder_.index(vector * lanes),
                           {.align = 2});
    to = builder_.offset(to, int64_t{spec_.nr} * graph::bits(*dtype) / 8);
  }
  to = builder_.offset(to, vector * lanes * 4);
  builder_.loop(builder_.index(0), builder_.index(spec_.blocks.size / kDigitsPerWord),
                builder_.index(1), [&](Value* number) {
                  const BodyCode::Scope scope(body_);
                  Value* k = ir_.CreateMul(number, builder_.index(kDigitsPerWord));
                  Value* at = ir_.CreateMul(number, builder_.index(int64_t{spec_.nr} * 4));
                  builder_.store(word_of_digits(panel, ir_.CreateAdd(first, k), vector),
                                 builder_.offset(to, at), {.align = 4});
                });
}

void GemmPacker::pack_blocks(const Panel& panel) {
  builder_.loop(builder_.index(0), units_of(panel), builder_.index(1), [&](Value* unit) {
    const BodyCode::Scope scope(body_);
    for (int vector = 0; vector < layout_.vectors(); ++vector) pack_block(panel, unit, vector);
  });
  body_.gather_up();
}

}  // namespace luminal::codegen
