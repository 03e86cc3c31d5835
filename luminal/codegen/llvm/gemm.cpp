#include "luminal/codegen/llvm/gemm.h"

#include <algorithm>

#include "luminal/codegen/llvm/gemm_pack.h"
#include "luminal/codegen/llvm/gemm_tile.h"
#include "luminal/support/check.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using llvm::Value;

int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

DType accumulator_of(const GemmSpec& spec) {
  if (spec.a == DType::kF64 || spec.b == DType::kF64) return DType::kF64;
  if (graph::is_float(spec.a)) return DType::kF32;
  return spec.c == DType::kI64 ? DType::kI64 : DType::kI32;
}

void check_spec(const GemmSpec& spec, const GemmLayout& layout) {
  LUMINAL_CHECK(spec.nr % layout.lanes() == 0 && spec.nr > 0 && spec.mr > 0,
                "a tile of {} x {} with {} lanes", spec.mr, spec.nr, layout.lanes());
  LUMINAL_CHECK(spec.kc == 0 || (spec.kc % layout.group() == 0 && spec.row_block == 0),
                "passes over k of {} with items of {} rows", spec.kc, spec.row_block);
  LUMINAL_CHECK((spec.kc == 0 && !spec.accumulate) || spec.c == layout.accumulator(),
                "sums of {} cannot start from {}", layout.accumulator(), spec.c);
  LUMINAL_CHECK(
      spec.b_source != GemmB::kInPlace || (!spec.b_transposed && spec.mode == GemmMode::kFma &&
                                           spec.b == layout.accumulator() && spec.kc == 0),
      "this B cannot be read in place");
  LUMINAL_CHECK(spec.mode != GemmMode::kDotI8 || (spec.kc == 0 && !spec.accumulate),
                "i8 sums are made in one pass");
}

/// Emits the kernel "gemm".
class GemmEmitter {
 public:
  GemmEmitter(VectorBuilder& builder, const GemmSpec& spec, const GemmEpilogue& epilogue)
      : builder_(builder),
        ir_(builder.ir()),
        spec_(spec),
        epilogue_(epilogue),
        layout_(spec, builder.target()) {}

  void emit() {
    check_spec(spec_, layout_);
    tile_ = GemmTile(builder_, spec_, epilogue_).emit();
    entry_ = builder_.begin_entry("gemm");
    load_arguments();
    const Carried nothing_packed{builder_.index(-1)};
    builder_.loop(entry_.begin, entry_.end, builder_.index(1), nothing_packed,
                  [&](Value* item, llvm::ArrayRef<Value*> packed) {
                    return Carried{emit_item(item, packed[0])};
                  });
    ir_.CreateRetVoid();
  }

 private:
  Value* scalar(GemmScalar number) { return scalars_[number]; }
  Value* bytes_of(DType dtype, Value* elements) {
    return ir_.CreateMul(elements, builder_.index(graph::bits(dtype) / 8));
  }

  void load_arguments() {
    for (int i = 0; i < kGemmScalars; ++i) scalars_.push_back(builder_.scalar(entry_, i));
    a_ = builder_.buffer(entry_, 0);
    b_ = builder_.buffer(entry_, 1);
    c_ = builder_.buffer(entry_, 2);
    panels_ = ir_.CreateSDiv(ir_.CreateAdd(scalar(kGemmN), builder_.index(spec_.nr - 1)),
                             builder_.index(spec_.nr));
    row_blocks_ = builder_.index(1);
    if (spec_.row_block > 0)
      row_blocks_ =
          ir_.CreateSDiv(ir_.CreateAdd(scalar(kGemmM), builder_.index(spec_.row_block - 1)),
                         builder_.index(spec_.row_block));
  }

  /// One work item: a block of rows times one panel. Gives the number of the panel that lies packed
  /// in the scratch afterwards.
  Value* emit_item(Value* item, Value* packed) {
    Value* row_block = ir_.CreateSRem(item, row_blocks_);
    Value* number = ir_.CreateSDiv(item, row_blocks_);
    Value* panel = ir_.CreateSRem(number, panels_);
    batch_ = ir_.CreateSDiv(number, panels_);
    column_ = ir_.CreateMul(panel, builder_.index(spec_.nr));
    columns_ = ir_.CreateBinaryIntrinsic(
        llvm::Intrinsic::smin, ir_.CreateSub(scalar(kGemmN), column_), builder_.index(spec_.nr));
    first_row_ = builder_.index(0);
    end_row_ = scalar(kGemmM);
    if (spec_.row_block > 0) {
      first_row_ = ir_.CreateMul(row_block, builder_.index(spec_.row_block));
      end_row_ = ir_.CreateBinaryIntrinsic(
          llvm::Intrinsic::smin, ir_.CreateAdd(first_row_, builder_.index(spec_.row_block)),
          scalar(kGemmM));
    }
    if (spec_.kc > 0) {
      emit_passes();
      return packed;
    }
    const auto [pointer, step] = panel_pointer(panel, number, packed);
    emit_rows(pointer, step, builder_.index(0), scalar(kGemmK), builder_.index(!spec_.accumulate),
              builder_.index(1));
    return spec_.b_source == GemmB::kPrepacked ? packed : number;
  }

  Value* source_of_b(Value* k) {
    Value* element = ir_.CreateMul(batch_, scalar(kGemmBatchB));
    Value* n_stride = spec_.b_transposed ? scalar(kGemmStrideB) : builder_.index(1);
    Value* k_stride = spec_.b_transposed ? builder_.index(1) : scalar(kGemmStrideB);
    element = ir_.CreateAdd(element, ir_.CreateMul(column_, n_stride));
    element = ir_.CreateAdd(element, ir_.CreateMul(k, k_stride));
    return builder_.offset(b_, bytes_of(spec_.b, element));
  }

  void pack_panel(Value* k, Value* k_count) {
    GemmPacker(builder_, spec_)
        .pack({source_of_b(k), scalar(kGemmStrideB), columns_, k_count, entry_.scratch});
  }

  Value* panel_bytes(Value* k) {
    Value* units = ir_.CreateSDiv(ir_.CreateAdd(k, builder_.index(layout_.group() - 1)),
                                  builder_.index(layout_.group()));
    Value* bytes = ir_.CreateMul(units, builder_.index(int64_t{spec_.nr} * layout_.unit_bytes()));
    return ir_.CreateAnd(ir_.CreateAdd(bytes, builder_.index(layout_.header_bytes() + 63)),
                         builder_.index(-64));
  }

  /// Where the units of a panel begin and how far apart they are.
  std::pair<Value*, Value*> panel_pointer(Value* panel, Value* number, Value* packed) {
    Value* packed_step = builder_.index(int64_t{spec_.nr} * layout_.unit_bytes());
    if (spec_.b_source == GemmB::kPrepacked) {
      Value* shared = ir_.CreateICmpEQ(scalar(kGemmBatchB), builder_.index(0));
      Value* which = ir_.CreateSelect(shared, panel, number);
      Value* at = ir_.CreateMul(which, panel_bytes(scalar(kGemmK)));
      return {builder_.offset(builder_.offset(b_, at), layout_.header_bytes()), packed_step};
    }
    Value* in_scratch = builder_.offset(entry_.scratch, layout_.header_bytes());
    Value* must_pack = ir_.CreateICmpNE(number, packed);
    Value* whole = ir_.CreateICmpEQ(columns_, builder_.index(spec_.nr));
    const bool in_place = spec_.b_source == GemmB::kInPlace;
    // In place, only a last narrow panel is packed: reading past its columns could fault.
    if (in_place) must_pack = ir_.CreateAnd(must_pack, ir_.CreateNot(whole));
    builder_.if_then(must_pack, [&] { pack_panel(builder_.index(0), scalar(kGemmK)); });
    if (!in_place) return {in_scratch, packed_step};
    return {ir_.CreateSelect(whole, source_of_b(builder_.index(0)), in_scratch),
            ir_.CreateSelect(whole, bytes_of(spec_.b, scalar(kGemmStrideB)), packed_step)};
  }

  /// All of k in several passes, each with its part of the panel.
  void emit_passes() {
    Value* k = scalar(kGemmK);
    builder_.loop(builder_.index(0), k, builder_.index(spec_.kc), [&](Value* begin) {
      Value* count = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateSub(k, begin),
                                               builder_.index(spec_.kc));
      Value* first = builder_.index(0);
      if (!spec_.accumulate)
        first = ir_.CreateZExt(ir_.CreateICmpEQ(begin, builder_.index(0)), builder_.i64());
      Value* last =
          ir_.CreateZExt(ir_.CreateICmpEQ(ir_.CreateAdd(begin, count), k), builder_.i64());
      Value* pointer = entry_.scratch;
      if (spec_.b_source == GemmB::kPrepacked) {
        Value* number = ir_.CreateSDiv(column_, builder_.index(spec_.nr));
        Value* all = ir_.CreateAdd(ir_.CreateMul(batch_, panels_), number);
        Value* shared = ir_.CreateICmpEQ(scalar(kGemmBatchB), builder_.index(0));
        Value* which = ir_.CreateSelect(shared, number, all);
        Value* units = ir_.CreateSDiv(begin, builder_.index(layout_.group()));
        Value* at = ir_.CreateMul(units, builder_.index(int64_t{spec_.nr} * layout_.unit_bytes()));
        at = ir_.CreateAdd(at, ir_.CreateMul(which, panel_bytes(k)));
        pointer = builder_.offset(b_, at);
      } else {
        pack_panel(begin, count);
      }
      emit_rows(pointer, builder_.index(int64_t{spec_.nr} * layout_.unit_bytes()), begin, count,
                first, last);
    });
  }

  /// All row tiles of the item, for k in [k_begin, k_begin + k_count).
  void emit_rows(Value* panel, Value* panel_step, Value* k_begin, Value* k_count, Value* first,
                 Value* last) {
    const int group = layout_.group();
    Value* units = ir_.CreateSDiv(k_count, builder_.index(group));
    Value* tail = ir_.CreateSRem(k_count, builder_.index(group));
    Value* a_row = bytes_of(spec_.a, scalar(kGemmStrideARow));
    Value* a_element = bytes_of(spec_.a, scalar(kGemmStrideAK));
    Value* a_step = ir_.CreateMul(a_element, builder_.index(group));
    Value* a_batch =
        builder_.offset(a_, bytes_of(spec_.a, ir_.CreateMul(batch_, scalar(kGemmBatchA))));
    a_batch = builder_.offset(a_batch, ir_.CreateMul(a_element, k_begin));
    Value* c_row = bytes_of(spec_.c, scalar(kGemmStrideC));
    Value* c_batch = builder_.offset(
        c_, bytes_of(spec_.c, ir_.CreateAdd(ir_.CreateMul(batch_, scalar(kGemmBatchC)), column_)));
    builder_.loop(first_row_, end_row_, builder_.index(spec_.mr), [&](Value* row) {
      Value* rows = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateSub(end_row_, row),
                                              builder_.index(spec_.mr));
      Value* arguments[kTileArguments];
      arguments[kTileA] = builder_.offset(a_batch, ir_.CreateMul(row, a_row));
      arguments[kTileARow] = a_row;
      arguments[kTileAStep] = a_step;
      arguments[kTileB] = panel;
      arguments[kTileBStep] = panel_step;
      arguments[kTileUnits] = units;
      arguments[kTileTail] = tail;
      arguments[kTileC] = builder_.offset(c_batch, ir_.CreateMul(row, c_row));
      arguments[kTileCRow] = c_row;
      arguments[kTileRows] = rows;
      arguments[kTileColumns] = columns_;
      arguments[kTileRow] = row;
      arguments[kTileColumn] = column_;
      arguments[kTileBatch] = batch_;
      arguments[kTileBuffers] = entry_.buffers;
      arguments[kTileScalars] = entry_.scalars;
      arguments[kTileFirst] = first;
      arguments[kTileLast] = last;
      ir_.CreateCall(tile_, arguments);
    });
  }

  VectorBuilder& builder_;
  llvm::IRBuilder<>& ir_;
  GemmSpec spec_;
  const GemmEpilogue& epilogue_;
  GemmLayout layout_;
  llvm::Function* tile_ = nullptr;
  EntryArguments entry_;
  llvm::SmallVector<Value*, 16> scalars_;
  Value* a_ = nullptr;
  Value* b_ = nullptr;
  Value* c_ = nullptr;
  Value* panels_ = nullptr;
  Value* row_blocks_ = nullptr;
  // Of the current item.
  Value* batch_ = nullptr;
  Value* column_ = nullptr;
  Value* columns_ = nullptr;
  Value* first_row_ = nullptr;
  Value* end_row_ = nullptr;
};

}  // namespace

GemmLayout::GemmLayout(const GemmSpec& spec, const CpuTarget& target)
    : spec_(spec), accumulator_(accumulator_of(spec)) {
  if (spec.mode == GemmMode::kDotBf16) group_ = 2;
  if (spec.mode == GemmMode::kDotI8) group_ = 4;
  unit_bytes_ = graph::bits(accumulator_) / 8;
  lanes_ = target.lanes(8 * unit_bytes_);
}

int64_t GemmLayout::panel_bytes(int64_t k) const {
  const int64_t units = (k + group_ - 1) / group_;
  return round_up(header_bytes() + units * spec_.nr * unit_bytes_, 64);
}

int64_t GemmLayout::items(int64_t batch, int64_t m, int64_t n) const {
  const int64_t row_blocks = spec_.row_block == 0 ? 1 : (m + spec_.row_block - 1) / spec_.row_block;
  return batch * panels(n) * row_blocks;
}

int64_t GemmLayout::scratch_bytes(int64_t k) const {
  if (spec_.b_source == GemmB::kPrepacked) return 0;
  return panel_bytes(spec_.kc == 0 ? k : std::min<int64_t>(k, spec_.kc));
}

std::string to_string(const GemmSpec& spec) {
  constexpr std::string_view kModes[] = {"fma", "dot-bf16", "dot-i8"};
  constexpr std::string_view kSources[] = {"prepacked", "packed", "in-place"};
  return fmt::format("gemm {} x {}{} -> {}{} {} b {} tile {}x{} unroll {} rows {} kc {}", spec.a,
                     spec.b, spec.b_transposed ? "^T" : "", spec.c,
                     spec.accumulate ? " accumulating" : "", kModes[static_cast<int>(spec.mode)],
                     kSources[static_cast<int>(spec.b_source)], spec.mr, spec.nr, spec.k_unroll,
                     spec.row_block, spec.kc);
}

KernelSource gemm_kernel(const GemmSpec& spec, const GemmEpilogue& epilogue) {
  KernelSource source;
  source.label = to_string(spec);
  source.key = source.label + "\n" + epilogue.key;
  runtime::EntryInfo entry{
      "gemm",
      {runtime::BufferUse::kRead, runtime::BufferUse::kRead,
       spec.accumulate ? runtime::BufferUse::kReadWrite : runtime::BufferUse::kWrite},
      kGemmScalars + epilogue.scalars,
      0};
  for (const runtime::BufferUse use : epilogue.buffers) entry.buffers.push_back(use);
  source.entries = {std::move(entry)};
  source.emit = [spec, epilogue](llvm::Module& module, const CpuTarget& target) {
    VectorBuilder builder(module, target);
    GemmEmitter(builder, spec, epilogue).emit();
  };
  return source;
}

KernelSource gemm_pack_kernel(const GemmSpec& spec) {
  KernelSource source;
  source.label = "pack for " + to_string(spec);
  source.key = source.label;
  source.entries = {{"pack", {runtime::BufferUse::kRead, runtime::BufferUse::kWrite}, 4, 0}};
  source.emit = [spec](llvm::Module& module, const CpuTarget& target) {
    VectorBuilder builder(module, target);
    llvm::IRBuilder<>& ir = builder.ir();
    const GemmLayout layout(spec, target);
    const EntryArguments entry = builder.begin_entry("pack");
    Value* from = builder.buffer(entry, 0);
    Value* to = builder.buffer(entry, 1);
    Value* n = builder.scalar(entry, 0);
    Value* k = builder.scalar(entry, 1);
    Value* stride = builder.scalar(entry, 2);
    Value* batch_stride = builder.scalar(entry, 3);
    Value* nr = builder.index(spec.nr);
    Value* panels = ir.CreateSDiv(ir.CreateAdd(n, builder.index(spec.nr - 1)), nr);
    Value* units = ir.CreateSDiv(ir.CreateAdd(k, builder.index(layout.group() - 1)),
                                 builder.index(layout.group()));
    Value* bytes = ir.CreateMul(units, builder.index(int64_t{spec.nr} * layout.unit_bytes()));
    bytes = ir.CreateAnd(ir.CreateAdd(bytes, builder.index(layout.header_bytes() + 63)),
                         builder.index(-64));
    builder.loop(entry.begin, entry.end, builder.index(1), [&](Value* item) {
      Value* column = ir.CreateMul(ir.CreateSRem(item, panels), nr);
      Value* element = ir.CreateMul(ir.CreateSDiv(item, panels), batch_stride);
      element = ir.CreateAdd(element, spec.b_transposed ? ir.CreateMul(column, stride) : column);
      Value* columns = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir.CreateSub(n, column), nr);
      Value* first =
          builder.offset(from, ir.CreateMul(element, builder.index(graph::bits(spec.b) / 8)));
      GemmPacker(builder, spec)
          .pack({first, stride, columns, k, builder.offset(to, ir.CreateMul(item, bytes))});
    });
    ir.CreateRetVoid();
  };
  return source;
}

}  // namespace luminal::codegen
