#include "luminal/codegen/llvm/gemm_amx.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <memory>

#include "luminal/support/check.h"

namespace luminal::codegen {
namespace {

using llvm::Value;

/// Matrix registers: rows are 16-bit values, columns are 16 elements of 32 bits.
class Matrices {
 public:
  virtual ~Matrices() = default;
  virtual Value* zero(Value* rows) = 0;
  virtual Value* load(Value* rows, Value* pointer, Value* stride) = 0;
  virtual void store(Value* rows, Value* pointer, Value* stride, Value* matrix) = 0;
  /// c + a * b, where b has 16 rows.
  virtual Value* multiply(Value* rows, Value* c, Value* a, Value* b) = 0;
};

/// The registers of the processor.
class AmxMatrices : public Matrices {
 public:
  AmxMatrices(VectorBuilder& builder, GemmMode mode)
      : builder_(builder), mode_(mode), bytes_(builder.ir().getInt16(kAmxRowBytes)) {}

  Value* zero(Value* rows) override {
    return builder_.call_intrinsic(llvm::Intrinsic::x86_tilezero_internal, {}, {rows, bytes_});
  }
  Value* load(Value* rows, Value* pointer, Value* stride) override {
    return builder_.call_intrinsic(llvm::Intrinsic::x86_tileloadd64_internal, {},
                                   {rows, bytes_, pointer, stride});
  }
  void store(Value* rows, Value* pointer, Value* stride, Value* matrix) override {
    builder_.call_intrinsic(llvm::Intrinsic::x86_tilestored64_internal, {},
                            {rows, bytes_, pointer, stride, matrix});
  }
  Value* multiply(Value* rows, Value* c, Value* a, Value* b) override {
    const auto id = mode_ == GemmMode::kAmxBf16 ? llvm::Intrinsic::x86_tdpbf16ps_internal
                                                : llvm::Intrinsic::x86_tdpbssd_internal;
    return builder_.call_intrinsic(id, {}, {rows, bytes_, bytes_, c, a, b});
  }

 private:
  VectorBuilder& builder_;
  GemmMode mode_;
  Value* bytes_;
};

/// The same in memory of the function's frame; a matrix is a pointer.
class EmulatedMatrices : public Matrices {
 public:
  EmulatedMatrices(VectorBuilder& builder, GemmMode mode)
      : builder_(builder), ir_(builder.ir()), mode_(mode) {}

  Value* zero(Value*) override {
    Value* matrix = frame();
    ir_.CreateMemSet(matrix, ir_.getInt8(0), kAmxRows * kAmxRowBytes, llvm::MaybeAlign(64));
    return matrix;
  }
  Value* load(Value* rows, Value* pointer, Value* stride) override {
    Value* matrix = frame();
    copy_rows(rows, matrix, builder_.index(kAmxRowBytes), pointer, stride);
    return matrix;
  }
  void store(Value* rows, Value* pointer, Value* stride, Value* matrix) override {
    copy_rows(rows, pointer, stride, matrix, builder_.index(kAmxRowBytes));
  }
  Value* multiply(Value* rows, Value* c, Value* a, Value* b) override {
    const int group = mode_ == GemmMode::kAmxBf16 ? 2 : 4;
    builder_.loop(builder_.index(0), wide(rows), builder_.index(1), [&](Value* m) {
      builder_.loop(
          builder_.index(0), builder_.index(kAmxColumns), builder_.index(1), [&](Value* n) {
            Value* place = at(c, m, n);
            const Carried first{builder_.load(sum_type(), place)};
            const Carried sum =
                builder_.loop(builder_.index(0), builder_.index(kAmxRows), builder_.index(1), first,
                              [&](Value* k, llvm::ArrayRef<Value*> now) {
                                Value* total = now[0];
                                for (int g = 0; g < group; ++g)
                                  total = add(total, part(at(a, m, k), g), part(at(b, k, n), g));
                                return Carried{total};
                              });
            builder_.store(sum[0], place);
          });
    });
    return c;
  }

 private:
  Value* frame() {
    return builder_.stack(llvm::ArrayType::get(builder_.i8(), kAmxRows * kAmxRowBytes), 64);
  }
  Value* wide(Value* rows) { return ir_.CreateZExt(rows, builder_.i64()); }
  llvm::Type* sum_type() { return mode_ == GemmMode::kAmxBf16 ? builder_.f32() : builder_.i32(); }
  /// The 32 bits of a row and column.
  Value* at(Value* matrix, Value* row, Value* column) {
    Value* bytes = ir_.CreateAdd(ir_.CreateMul(row, builder_.index(kAmxRowBytes)),
                                 ir_.CreateMul(column, builder_.index(4)));
    return builder_.offset(matrix, bytes);
  }
  /// One of the elements in 32 bits.
  Value* part(Value* unit, int number) {
    if (mode_ == GemmMode::kAmxBf16)
      return ElementCode(builder_).load(graph::DType::kBF16, unit, builder_.index(number), 1);
    return ir_.CreateSExt(builder_.load(builder_.i8(), builder_.offset(unit, number)),
                          builder_.i32());
  }
  Value* add(Value* total, Value* a, Value* b) {
    if (mode_ == GemmMode::kAmxBf16) return ir_.CreateFAdd(total, ir_.CreateFMul(a, b));
    return ir_.CreateAdd(total, ir_.CreateMul(a, b));
  }
  void copy_rows(Value* rows, Value* to, Value* to_stride, Value* from, Value* from_stride) {
    builder_.loop(builder_.index(0), wide(rows), builder_.index(1), [&](Value* row) {
      Value* target = builder_.offset(to, ir_.CreateMul(row, to_stride));
      Value* source = builder_.offset(from, ir_.CreateMul(row, from_stride));
      ir_.CreateMemCpy(target, llvm::MaybeAlign(1), source, llvm::MaybeAlign(1), kAmxRowBytes);
    });
  }

  VectorBuilder& builder_;
  llvm::IRBuilder<>& ir_;
  GemmMode mode_;
};

/// Writes the function.
class AmxTile {
 public:
  AmxTile(VectorBuilder& builder, const GemmSpec& spec)
      : builder_(builder), ir_(builder.ir()), spec_(spec) {
    if (builder.target().has(runtime::CpuFeature::kAmxTile))
      matrices_ = std::make_unique<AmxMatrices>(builder, spec.mode);
    else
      matrices_ = std::make_unique<EmulatedMatrices>(builder, spec.mode);
  }

  llvm::Function* emit() {
    const llvm::IRBuilderBase::InsertPointGuard guard(ir_);
    begin("amx_tile", kTileCommon);
    // A second block of rows that does not exist repeats the last row: nobody looks at it.
    Value* rows = argument(kTileRows);
    Value* below = ir_.CreateSub(rows, builder_.index(kAmxRows));
    rows_[0] =
        narrow(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, rows, builder_.index(kAmxRows)));
    rows_[1] = narrow(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, below, builder_.index(1)));
    Value* second = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, builder_.index(kAmxRows),
                                              ir_.CreateSub(rows, builder_.index(1)));
    second_rows_ = ir_.CreateMul(second, argument(kTileARow));
    finish(run(initial_sums()));
    ir_.CreateRetVoid();
    return function_;
  }

  /// Whole tiles, one below the other.
  llvm::Function* emit_many() {
    const llvm::IRBuilderBase::InsertPointGuard guard(ir_);
    begin("amx_tiles", kTileNextRows + 1);
    rows_[0] = rows_[1] = ir_.getInt16(kAmxRows);
    second_rows_ = ir_.CreateMul(builder_.index(kAmxRows), argument(kTileARow));
    Value* a = a_;
    Value* out = out_;
    builder_.loop(builder_.index(0), argument(kTileRows), builder_.index(spec_.mr),
                  [&](Value* row) {
                    Value* tile = ir_.CreateUDiv(row, builder_.index(spec_.mr));
                    a_ = builder_.offset(a, ir_.CreateMul(tile, argument(kTileNextRows)));
                    out_ = builder_.offset(out, ir_.CreateMul(row, argument(kTileOutRow)));
                    finish(run(initial_sums()));
                  });
    ir_.CreateRetVoid();
    return function_;
  }

 private:
  void begin(const char* name, unsigned arguments) {
    LUMINAL_CHECK(spec_.mr == 2 * kAmxRows && spec_.nr == 2 * kAmxColumns,
                  "a matrix tile of {} x {}", spec_.mr, spec_.nr);
    llvm::SmallVector<llvm::Type*, 20> types(arguments, builder_.i64());
    for (const TileArgument pointer : {kTileA, kTileB, kTileOut})
      types[pointer] = builder_.pointer();
    function_ = builder_.begin_function(name, ir_.getVoidTy(), types);
    function_->addFnAttr(llvm::Attribute::NoInline);
    a_ = argument(kTileA);
    out_ = argument(kTileOut);
  }

  Value* argument(TileArgument number) { return function_->getArg(number); }
  Value* narrow(Value* value) { return ir_.CreateTrunc(value, ir_.getInt16Ty()); }
  Value* out_place(int row, int column) {
    Value* at = ir_.CreateMul(builder_.index(int64_t{row} * kAmxRows), argument(kTileOutRow));
    return builder_.offset(builder_.offset(out_, at), int64_t{column} * kAmxRowBytes);
  }

  Carried initial_sums() {
    const auto each = [&](auto&& make) {
      Carried result;
      for (int r = 0; r < 2; ++r)
        for (int c = 0; c < 2; ++c) result.push_back(make(r, c));
      return result;
    };
    const auto zeros = [&] { return each([&](int r, int) { return matrices_->zero(rows_[r]); }); };
    if (spec_.kc == 0) return zeros();
    // Sums of a first pass are cleared in memory: registers must not depend on a branch.
    builder_.if_then(ir_.CreateICmpNE(argument(kTileFirst), builder_.index(0)), [&] {
      builder_.loop(builder_.index(0), builder_.index(2 * kAmxRows), builder_.index(1),
                    [&](Value* row) {
                      Value* at = ir_.CreateMul(row, argument(kTileOutRow));
                      ir_.CreateMemSet(builder_.offset(out_, at), ir_.getInt8(0), 2 * kAmxRowBytes,
                                       llvm::MaybeAlign(4));
                    });
    });
    return each([&](int r, int c) {
      return matrices_->load(rows_[r], out_place(r, c), argument(kTileOutRow));
    });
  }

  /// Asks for a register of A or B that is used `ahead` steps later.
  void ask_ahead(Value* pointer, Value* row_bytes, Value* step) {
    constexpr int kFirstCache = 3;
    if (spec_.ahead == 0) return;
    Value* line = builder_.offset(pointer, ir_.CreateMul(step, builder_.index(spec_.ahead)));
    for (int row = 0; row < kAmxRows; ++row) {
      builder_.prefetch(line, kFirstCache);
      line = builder_.offset(line, row_bytes);
    }
  }

  Carried run(const Carried& initial) {
    Carried state = initial;
    // A step is as many units as a register has rows of B.
    Value* a_step = ir_.CreateMul(argument(kTileAStep), builder_.index(kAmxRows));
    Value* b_step = ir_.CreateMul(argument(kTileBStep), builder_.index(kAmxRows));
    state.push_back(a_);
    state.push_back(argument(kTileB));
    Value* full = ir_.getInt16(kAmxRows);
    return builder_.loop(
        builder_.index(0), argument(kTileUnits), builder_.index(kAmxRows), state,
        [&](Value*, llvm::ArrayRef<Value*> now) {
          Value* a = now[4];
          Value* b = now[5];
          const auto row_of_a = [&](size_t r) {
            return r == 0 ? a : builder_.offset(a, second_rows_);
          };
          const auto column_of_b = [&](size_t c) {
            return builder_.offset(b, static_cast<int64_t>(c) * kAmxRowBytes);
          };
          Value* columns[2] = {};
          Carried next;
          // Loads, and lines that are asked for, lie between products.
          for (size_t r = 0; r < 2; ++r) {
            Value* row = matrices_->load(rows_[r], row_of_a(r), argument(kTileARow));
            for (size_t c = 0; c < 2; ++c) {
              if (r == 0) columns[c] = matrices_->load(full, column_of_b(c), argument(kTileBStep));
              next.push_back(matrices_->multiply(rows_[r], now[2 * r + c], row, columns[c]));
              if (c == 0)
                ask_ahead(row_of_a(r), argument(kTileARow), a_step);
              else
                ask_ahead(column_of_b(r), argument(kTileBStep), b_step);
            }
          }
          next.push_back(builder_.offset(a, a_step));
          next.push_back(builder_.offset(b, b_step));
          return next;
        });
  }

  void finish(const Carried& sums) {
    for (int r = 0; r < 2; ++r)
      for (int c = 0; c < 2; ++c)
        matrices_->store(rows_[r], out_place(r, c), argument(kTileOutRow),
                         sums[static_cast<size_t>(2 * r + c)]);
  }

  VectorBuilder& builder_;
  llvm::IRBuilder<>& ir_;
  GemmSpec spec_;
  std::unique_ptr<Matrices> matrices_;
  llvm::Function* function_ = nullptr;
  Value* a_ = nullptr;
  Value* out_ = nullptr;
  Value* rows_[2] = {};
  Value* second_rows_ = nullptr;
};

}  // namespace

llvm::Function* emit_amx_tile(VectorBuilder& builder, const GemmSpec& spec) {
  return AmxTile(builder, spec).emit();
}

llvm::Function* emit_amx_tiles(VectorBuilder& builder, const GemmSpec& spec) {
  return AmxTile(builder, spec).emit_many();
}

void emit_amx_rounds(VectorBuilder& builder, GemmMode mode, Value* begin, Value* end, Value* out) {
  AmxMatrices matrices(builder, mode);
  Value* rows = builder.ir().getInt16(kAmxRows);
  Value* bytes = builder.index(kAmxRowBytes);
  Value* a = matrices.load(rows, out, bytes);
  Value* b = matrices.load(rows, out, bytes);
  Carried sums;
  for (int i = 0; i < kAmxRoundProducts; ++i) sums.push_back(matrices.zero(rows));
  sums = builder.loop(begin, end, builder.index(1), sums, [&](Value*, llvm::ArrayRef<Value*> now) {
    Carried next;
    for (Value* sum : now) next.push_back(matrices.multiply(rows, sum, a, b));
    return next;
  });
  for (Value* sum : sums) matrices.store(rows, out, bytes, sum);
}

}  // namespace luminal::codegen
