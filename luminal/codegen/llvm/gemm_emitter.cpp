#include "luminal/codegen/llvm/gemm_emitter.h"

#include <algorithm>

#include "luminal/codegen/llvm/gemm_amx.h"
#include "luminal/codegen/llvm/gemm_blocks.h"
#include "luminal/codegen/llvm/gemm_panels.h"
#include "luminal/codegen/llvm/gemm_tile.h"
#include "luminal/codegen/llvm/nest_plan.h"

namespace luminal::codegen {
namespace {

using llvm::Value;
using symbolic::Expr;

class GemmEmitter : PanelEmitter {
 public:
  GemmEmitter(llvm::Module& module, const CpuTarget& target, const GemmCode& code)
      : PanelEmitter(module, target, code) {}

  void emit() {
    emit_tiles();
    begin_with_rows("gemm");
    row_blocks_ = body_.index(layout_.row_blocks(plan_.m.extent));
    panels_of_batches_ = body_.index(code_.pack_items(builder_.target()));
    const auto tile_bytes = static_cast<uint64_t>(rows_at_once()) *
                            static_cast<uint64_t>(spec_.nr) *
                            static_cast<uint64_t>(layout_.sum_bytes());
    for (size_t i = 0; i < plan_.products.size(); ++i)
      tile_sums_.push_back(builder_.stack(llvm::ArrayType::get(builder_.i8(), tile_bytes), 64));
    const Carried nothing_packed{builder_.index(-1)};
    builder_.loop(entry_.begin, entry_.end, builder_.index(1), nothing_packed,
                  [&](Value* item, llvm::ArrayRef<Value*> packed) {
                    const BodyCode::Scope scope(body_);
                    return Carried{emit_item(item, packed[0])};
                  });
    if (code_.streaming) builder_.fence();
    ir_.CreateRetVoid();
  }

 private:
  /// A panel of one product: where its units begin and how far apart they are.
  struct PanelPlace {
    Value* pointer;
    Value* step;
    Value* next = nullptr;  // where what the next panel is made of begins; null: not asked for
  };
  using TileArguments = llvm::SmallVector<Value*, kTileArguments>;

  void emit_tiles() {
    const bool direct = code_.direct_position().has_value();
    if (spec_.has_matrix_registers()) {
      full_ = storing_ = emit_amx_tiles(builder_, spec_);
      if (!has_whole_rows()) few_rows_ = emit_amx_tile(builder_, spec_);
      return;
    }
    if (spec_.blocks.size > 0) {
      full_ = storing_ = emit_block_tile(builder_, spec_, spec_.mr, spec_.whole_rows);
      if (spec_.row_tail > 0)
        few_rows_ = emit_block_tile(builder_, spec_, spec_.row_tail, spec_.whole_rows);
      return;
    }
    if (direct) storing_ = storing_tile();
    if (direct && code_.has_whole_tiles()) return;
    const bool same = direct && code_.stored_dtype() == spec_.accumulator;
    full_ =
        same ? storing_ : GemmTile(builder_, spec_, spec_.mr, spec_.nr, spec_.whole_rows).emit();
    if (spec_.row_tail > 0)
      few_rows_ = GemmTile(builder_, spec_, spec_.row_tail, spec_.nr, spec_.whole_rows).emit();
    if (spec_.column_tail > 0)
      few_columns_ = GemmTile(builder_, spec_, spec_.mr, spec_.column_tail, false).emit();
  }

  /// The tile that stores into the result where it is whole.
  llvm::Function* storing_tile() {
    GemmTile tile(builder_, spec_, spec_.mr, spec_.nr, spec_.whole_rows);
    tile.store_as(code_.stored_dtype());
    // A result of this size was in no near cache before.
    constexpr int64_t kFar = int64_t{1} << 20;
    if (code_.streaming)
      tile.stream();
    else if (code_.stored_bytes().value_or(0) > kFar)
      tile.ask_for_result();
    return tile.emit();
  }

  /// Rows whose sums are found before anything is done to them: those of a tile, or of as many
  /// tiles of matrix registers as the nearest cache holds well.
  int64_t rows_at_once() const {
    return spec_.has_matrix_registers() ? kMatrixTilesAtOnce * spec_.mr : spec_.mr;
  }
  bool has_whole_rows() const {
    return divisible_by(plan_.m.extent, spec_.mr) && spec_.row_block % spec_.mr == 0;
  }

  /// One work item: a block of rows times one panel. Gives the number of the panel that lies packed
  /// in the scratch afterwards.
  Value* emit_item(Value* item, Value* packed) {
    part_ = builder_.index(0);
    if (spec_.split > 1) {
      // Outermost, so that threads have stretches of k of their own.
      Value* of_part = ir_.CreateMul(ir_.CreateMul(panels_of_batches_, row_batch_), row_blocks_);
      part_ = ir_.CreateUDiv(item, of_part);
      item = ir_.CreateURem(item, of_part);
    }
    Value* row_block = ir_.CreateURem(item, row_blocks_);
    Value* rest = ir_.CreateUDiv(item, row_blocks_);
    if (spec_.rows_outer && spec_.row_block > 0) {
      Value* others = ir_.CreateMul(panels_of_batches_, row_batch_);
      row_block = ir_.CreateUDiv(item, others);
      rest = ir_.CreateURem(item, others);
    }
    block_ = rest;
    body_.set_axes(plan_.row_batch, ir_.CreateURem(rest, row_batch_));
    Value* number = ir_.CreateUDiv(rest, row_batch_);
    set_panel(number);
    first_row_ = builder_.index(0);
    end_row_ = m_;
    if (spec_.row_block > 0) {
      first_row_ = ir_.CreateMul(row_block, builder_.index(spec_.row_block));
      end_row_ = minimum(ir_.CreateAdd(first_row_, builder_.index(spec_.row_block)), m_);
    }
    Value* own = ir_.CreateAdd(ir_.CreateMul(part_, panels_of_batches_), number);
    std::vector<PanelPlace> panels;
    for (size_t i = 0; i < plan_.products.size(); ++i)
      panels.push_back(panel_place(i, number, ir_.CreateICmpNE(own, packed)));
    if (spec_.kc > 0)
      emit_passes(panels);
    else
      emit_rows(panels);
    return own;
  }

  /// The steps of k that the current item sums.
  Steps steps_of(size_t product) {
    const Expr& extent = plan_.products[product].k.extent;
    Value* k = body_.index(extent);
    if (spec_.split == 1) return {builder_.index(0), k};
    Value* most = body_.index(layout_.part_steps(extent));
    Value* first = ir_.CreateMul(part_, most);
    Value* rest = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, ir_.CreateSub(k, first),
                                            builder_.index(0));
    return {first, minimum(rest, most)};
  }

  PanelPlace panel_place(size_t product, Value* number, Value* must_pack) {
    const Product& each = plan_.products[product];
    const GemmLayout layout(code_.specs[product], builder_.target());
    const Steps steps = steps_of(product);
    Value* packed_step = builder_.index(layout.row_bytes());
    if (spec_.b_source == GemmB::kPrepacked) {
      Value* at = ir_.CreateMul(number, body_.index(layout.panel_bytes(each.k.extent)));
      Value* first = ir_.CreateUDiv(steps.first, builder_.index(layout.group()));
      at = ir_.CreateAdd(at, ir_.CreateMul(first, packed_step));
      Value* units = builder_.offset(builder_.offset(buffer_after_tensors(product), at),
                                     layout.header_bytes());
      return {units, packed_step, next_packed(units, layout, each.k.extent)};
    }
    Value* panel = builder_.offset(entry_.scratch,
                                   body_.index(code_.panel_offset(product, builder_.target())));
    Value* whole = ir_.CreateICmpEQ(columns_, builder_.index(spec_.nr));
    const bool in_place = spec_.b_source == GemmB::kInPlace;
    // In place, only a last narrow panel is packed: reading past its columns could fault.
    if (in_place) must_pack = ir_.CreateAnd(must_pack, ir_.CreateNot(whole));
    builder_.if_then(must_pack, [&] {
      const BodyCode::Scope scope(body_);
      pack(product, steps, panel);
    });
    Value* units = builder_.offset(panel, layout.header_bytes());
    Value* next = spec_.lines_ahead() > 0 && each.b.place ? next_panel(each.b) : nullptr;
    if (!in_place) return {units, packed_step, next};
    Value* k_row = body_.index(each.b.place->k_stride * element_bytes(each.b));
    Value* source = builder_.offset(source_of(each.b, column_), ir_.CreateMul(steps.first, k_row));
    return {ir_.CreateSelect(whole, source, units), ir_.CreateSelect(whole, k_row, packed_step),
            next};
  }

  static int64_t element_bytes(const ProductOperand& operand) {
    return graph::bits(operand.dtype) / 8;
  }
  /// Where a column of a plain B begins.
  Value* source_of(const ProductOperand& b, Value* column) {
    Value* along = ir_.CreateMul(column, body_.index(b.place->outer_stride));
    Value* position = ir_.CreateAdd(body_.index(b.place->position), along);
    return builder_.offset(body_.buffer(b.place->tensor),
                           ir_.CreateMul(position, builder_.index(element_bytes(b))));
  }
  Value* next_panel(const ProductOperand& b) {
    return source_of(b, ir_.CreateAdd(column_, builder_.index(spec_.nr)));
  }

  /// What is asked for while panels that lie one after the other are used: a little of what comes
  /// next if one tile uses a line once and for all, else what all tiles use next.
  Value* next_packed(Value* units, const GemmLayout& layout, const Expr& k) {
    constexpr int64_t kLittle = 4096;
    if (spec_.lines_ahead() == 0) return nullptr;
    if (spec_.kc > 0) return builder_.offset(units, spec_.kc / layout.group() * layout.row_bytes());
    const bool one_tile = plan_.m.extent.bounds().hi <= spec_.mr;
    return builder_.offset(units,
                           one_tile ? builder_.index(kLittle) : body_.index(layout.panel_bytes(k)));
  }

  /// The lines of the next panel that a tile asks for, into the second cache. A step of k has work
  /// for so many lines of the next panel; the first tiles of a plain matrix share them, the others
  /// ask for nothing new.
  void set_ahead(const Product& product, Value* row, Value* k_begin, Value* next,
                 Value** arguments) {
    constexpr int64_t kLine = 64;
    arguments[kTileAhead] = arguments[kTileA];
    arguments[kTileAheadStep] = arguments[kTileAheadNext] = builder_.index(0);
    if (next == nullptr) return;
    if (spec_.b_source == GemmB::kPrepacked) return set_ahead_of_units(row, next, arguments);
    const int64_t bytes = element_bytes(product.b);
    const int64_t in_row = std::max<int64_t>(1, spec_.nr * bytes / kLine);
    const int64_t lines = std::max<int64_t>(1, spec_.nr * layout_.group() * bytes / kLine);
    Value* tile = ir_.CreateUDiv(ir_.CreateSub(row, first_row_), builder_.index(spec_.mr));
    Value* line = ir_.CreateMul(tile, builder_.index(spec_.ahead));
    Value* at = nullptr;
    Value* step = nullptr;
    if (product.b.place->k_stride.is_constant(1)) {
      // Rows of k lie one after the other.
      at = ir_.CreateMul(ir_.CreateMul(line, arguments[kTileUnits]), builder_.index(kLine));
      step = builder_.index(spec_.ahead * kLine);
      arguments[kTileAheadNext] = builder_.index(kLine);
    } else {
      Value* k_row = body_.index(product.b.place->k_stride * bytes);
      Value* k = ir_.CreateAdd(k_begin, ir_.CreateUDiv(line, builder_.index(in_row)));
      Value* in_line = ir_.CreateURem(line, builder_.index(in_row));
      at = ir_.CreateAdd(ir_.CreateMul(k, k_row), ir_.CreateMul(in_line, builder_.index(kLine)));
      step = ir_.CreateMul(k_row, builder_.index(layout_.group()));
      arguments[kTileAheadNext] = in_row > 1 ? builder_.index(kLine) : k_row;
    }
    Value* asks = ir_.CreateICmpSLT(line, builder_.index(lines));
    arguments[kTileAhead] =
        ir_.CreateSelect(asks, builder_.offset(next, at), arguments[kTileAhead]);
    arguments[kTileAheadStep] = ir_.CreateSelect(asks, step, builder_.index(0));
  }

  /// The same for panels that are packed ahead, which all tiles of this one share: where the first
  /// tiles ask for all of it, memory is their bound. Many tiles have less than a line for a step:
  /// they ask for a line several times, which costs no more than asking for nothing. There is a
  /// tile here, so there are rows.
  void set_ahead_of_units(Value* row, Value* next, Value** arguments) {
    constexpr int64_t kLine = 64;
    Value* up = ir_.CreateAdd(ir_.CreateSub(end_row_, first_row_), builder_.index(spec_.mr - 1));
    Value* tiles = ir_.CreateUDiv(up, builder_.index(spec_.mr));
    Value* share = ir_.CreateAdd(builder_.index(layout_.row_bytes() - 1), tiles);
    share = ir_.CreateUDiv(share, tiles);  // bytes in a step
    Value* tile = ir_.CreateUDiv(ir_.CreateSub(row, first_row_), builder_.index(spec_.mr));
    Value* at = ir_.CreateMul(ir_.CreateMul(tile, share), arguments[kTileUnits]);
    arguments[kTileAhead] = builder_.offset(next, at);
    arguments[kTileAheadStep] = share;
    arguments[kTileAheadNext] = builder_.index(kLine);
  }

  /// The rows of the next tile, which lie after those of this one, as many bytes in each step as
  /// this tile reads. The processor does not see past the end of a page, and rows have several.
  void set_rows_ahead(Value** arguments) {
    Value* rows = builder_.index(spec_.mr);
    arguments[kTileAhead] =
        builder_.offset(arguments[kTileA], ir_.CreateMul(arguments[kTileARow], rows));
    arguments[kTileAheadStep] = ir_.CreateMul(arguments[kTileAStep], rows);
    arguments[kTileAheadNext] = builder_.index(0);
  }

  void for_each_tile(llvm::function_ref<void(Value* row, Value* rows)> body) {
    Value* most = builder_.index(rows_at_once());
    builder_.loop(first_row_, end_row_, most, [&](Value* row) {
      const BodyCode::Scope scope(body_);
      body(row, minimum(ir_.CreateSub(end_row_, row), most));
    });
  }

  void emit_rows(const std::vector<PanelPlace>& panels) {
    const std::optional<Expr> direct = code_.direct_position();
    Value* tile_row = builder_.index(int64_t{spec_.nr} * layout_.sum_bytes());
    for_each_tile([&](Value* row, Value* rows) {
      const auto multiply = [&](size_t product, Value* out, Value* out_row) {
        const Steps steps = steps_of(product);
        return arguments_of(product, row, rows, steps.first, steps.count, panels[product], out,
                            out_row, starts_from_header());
      };
      const auto by_way_of_sums = [&] {
        const BodyCode::Scope scope(body_);
        const bool in_parts = spec_.split > 1;
        for (size_t i = 0; i < panels.size(); ++i)
          call_tile(multiply(i, in_parts ? sums_of_part(i, row) : tile_sums_[i], tile_row), rows);
        if (!in_parts) finish(row, rows, tile_sums_, tile_row);
        return Carried{};
      };
      const auto into_result = [&] {
        const BodyCode::Scope scope(body_);
        const auto [c, c_row] = place_in_result(*direct, row);
        return call(storing_, multiply(0, c, c_row));
      };
      if (!direct || code_.has_whole_tiles()) {
        direct ? into_result() : by_way_of_sums();
        return;
      }
      Value* rest = ir_.CreateURem(rows, builder_.index(spec_.mr));
      Value* whole = ir_.CreateAnd(ir_.CreateICmpEQ(rest, builder_.index(0)),
                                   ir_.CreateICmpEQ(columns_, builder_.index(spec_.nr)));
      builder_.if_else(whole, into_result, by_way_of_sums);
    });
  }

  /// Panels that are packed ahead have one header for all of k.
  Value* starts_from_header() {
    if (spec_.split == 1 || spec_.b_source != GemmB::kPrepacked) return builder_.index(1);
    return ir_.CreateZExt(ir_.CreateICmpEQ(part_, builder_.index(0)), builder_.i64());
  }

  Value* sums_of_part(size_t product, Value* row) {
    const size_t panels = spec_.b_source == GemmB::kPrepacked ? plan_.products.size() : 0;
    Value* part = ir_.CreateMul(part_, body_.index(code_.part_bytes(builder_.target())));
    return builder_.offset(builder_.offset(buffer_after_tensors(panels + product), part),
                           place_of_sums(block_, row));
  }

  std::pair<Value*, Value*> place_in_result(const Expr& position, Value* row) {
    body_.set_axis(plan_.m.flat, row);
    body_.set_axis(plan_.n.flat, column_);
    const int64_t bytes = graph::bits(code_.stored_dtype()) / 8;
    Value* at = ir_.CreateMul(body_.index(position), builder_.index(bytes));
    const auto along_m = stride_along(position, plan_.m.flat);
    return {builder_.offset(body_.buffer(plan_.roots[0].tensor), at),
            body_.index(along_m->stride * bytes)};
  }

  /// All of k (or of its part) in several passes over the rows, with sums kept in memory.
  void emit_passes(const std::vector<PanelPlace>& panels) {
    Value* sums_row = builder_.index(int64_t{spec_.nr} * layout_.sum_bytes());
    std::vector<Value*> sums;
    for (size_t i = 0; i < panels.size(); ++i)
      sums.push_back(
          builder_.offset(entry_.scratch, body_.index(code_.sums_offset(i, builder_.target()))));
    const auto sums_of = [&](size_t product, Value* row) {
      if (spec_.split > 1) return sums_of_part(product, row);
      Value* from = ir_.CreateSub(row, first_row_);
      return builder_.offset(sums[product], ir_.CreateMul(from, sums_row));
    };
    for (size_t i = 0; i < panels.size(); ++i) {
      const auto [first_step, k] = steps_of(i);
      // No pass at all would leave the sums as they are.
      Value* end = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, k, builder_.index(1));
      builder_.loop(builder_.index(0), end, builder_.index(spec_.kc), [&](Value* begin) {
        const BodyCode::Scope scope(body_);
        Value* count = minimum(ir_.CreateSub(k, begin), builder_.index(spec_.kc));
        Value* first = ir_.CreateZExt(ir_.CreateICmpEQ(begin, builder_.index(0)), builder_.i64());
        Value* units = ir_.CreateUDiv(begin, builder_.index(layout_.group()));
        Value* at = ir_.CreateMul(units, panels[i].step);
        Value* next = panels[i].next;
        if (next != nullptr && spec_.b_source == GemmB::kPrepacked)
          next = builder_.offset(next, at);
        const PanelPlace part{builder_.offset(panels[i].pointer, at), panels[i].step, next};
        Value* from = ir_.CreateAdd(first_step, begin);
        for_each_tile([&](Value* row, Value* rows) {
          call_tile(arguments_of(i, row, rows, from, count, part, sums_of(i, row), sums_row, first),
                    rows);
        });
      });
    }
    if (spec_.split > 1) return;
    std::vector<Value*> all;
    for (size_t i = 0; i < panels.size(); ++i) all.push_back(sums_of(i, first_row_));
    finish(first_row_, ir_.CreateSub(end_row_, first_row_), all, sums_row);
  }

  TileArguments arguments_of(size_t product, Value* row, Value* rows, Value* k_begin,
                             Value* k_count, const PanelPlace& panel, Value* out, Value* out_row,
                             Value* first) {
    const ProductOperand::Place& a = *plan_.products[product].a.place;
    const int64_t bytes = graph::bits(spec_.a) / 8;
    Value* a_row = body_.index(a.outer_stride * bytes);
    Value* a_element = body_.index(a.k_stride * bytes);
    Value* start = builder_.offset(body_.buffer(a.tensor), body_.index(a.position * bytes));
    start = builder_.offset(start, ir_.CreateMul(row, a_row));
    TileArguments arguments(spec_.lines_ahead() > 0 ? kTileArguments : kTileCommon);
    if (spec_.has_matrix_registers())
      arguments.push_back(ir_.CreateMul(a_row, builder_.index(spec_.mr)));
    arguments[kTileA] = builder_.offset(start, ir_.CreateMul(k_begin, a_element));
    // A panel has the elements of one step side by side, or the rows of registers; tiles begin
    // where panels do.
    const int64_t in_panel = spec_.has_matrix_registers() ? kAmxRowBytes : bytes;
    arguments[kTileARow] = spec_.a_source == GemmA::kPacked ? builder_.index(in_panel) : a_row;
    arguments[kTileAStep] = ir_.CreateMul(a_element, builder_.index(layout_.group()));
    arguments[kTileB] = panel.pointer;
    arguments[kTileBStep] = panel.step;
    arguments[kTileUnits] = ir_.CreateUDiv(k_count, builder_.index(layout_.group()));
    // Past the end of k there are zeros in registers.
    if (spec_.has_matrix_registers())
      arguments[kTileUnits] =
          ir_.CreateUDiv(ir_.CreateAdd(k_count, builder_.index(layout_.group() - 1)),
                         builder_.index(layout_.group()));
    arguments[kTileTail] = ir_.CreateURem(k_count, builder_.index(layout_.group()));
    arguments[kTileOut] = out;
    arguments[kTileOutRow] = out_row;
    arguments[kTileRows] = rows;
    arguments[kTileFirst] = first;
    if (spec_.a_source == GemmA::kRowsAhead)
      set_rows_ahead(arguments.data());
    else if (spec_.lines_ahead() > 0)
      set_ahead(plan_.products[product], row, k_begin, panel.next, arguments.data());
    return arguments;
  }

  Carried call(llvm::Function* tile, const TileArguments& arguments) {
    ir_.CreateCall(tile, arguments);
    return {};
  }

  /// Whole tiles of matrix registers by one call, and what is left over by another.
  void call_matrix_tiles(TileArguments arguments, Value* rows) {
    if (few_rows_ == nullptr) {
      call(full_, arguments);
      return;
    }
    Value* rest = ir_.CreateURem(rows, builder_.index(spec_.mr));
    Value* whole = arguments[kTileRows] = ir_.CreateSub(rows, rest);
    builder_.if_then(ir_.CreateICmpNE(whole, builder_.index(0)), [&] { call(full_, arguments); });
    builder_.if_then(ir_.CreateICmpNE(rest, builder_.index(0)), [&] {
      Value* tiles = ir_.CreateUDiv(whole, builder_.index(spec_.mr));
      Value* a = ir_.CreateMul(tiles, arguments.pop_back_val());
      arguments[kTileA] = builder_.offset(arguments[kTileA], a);
      Value* out = ir_.CreateMul(whole, arguments[kTileOutRow]);
      arguments[kTileOut] = builder_.offset(arguments[kTileOut], out);
      arguments[kTileRows] = rest;
      call(few_rows_, arguments);
    });
  }

  /// Calls the tile that fits the rows and columns that there are.
  void call_tile(const TileArguments& arguments, Value* rows) {
    if (spec_.has_matrix_registers()) return call_matrix_tiles(arguments, rows);
    const auto by_rows = [&] {
      if (few_rows_ == nullptr) return call(full_, arguments);
      return builder_.if_else(
          ir_.CreateICmpSLE(rows, builder_.index(spec_.row_tail)),
          [&] { return call(few_rows_, arguments); }, [&] { return call(full_, arguments); });
    };
    if (few_columns_ == nullptr) {
      by_rows();
      return;
    }
    builder_.if_else(
        ir_.CreateICmpSLE(columns_, builder_.index(spec_.column_tail)),
        [&] { return call(few_columns_, arguments); }, by_rows);
  }

  llvm::Function* full_ = nullptr;
  llvm::Function* storing_ = nullptr;  // of whole tiles, into the result
  llvm::Function* few_rows_ = nullptr;
  llvm::Function* few_columns_ = nullptr;
  Value* row_blocks_ = nullptr;
  Value* panels_of_batches_ = nullptr;
  std::vector<Value*> tile_sums_;
  // Of the current item.
  Value* part_ = nullptr;
  Value* block_ = nullptr;
  Value* first_row_ = nullptr;
  Value* end_row_ = nullptr;
};

}  // namespace

void emit_gemm(llvm::Module& module, const CpuTarget& target, const GemmCode& code) {
  GemmEmitter(module, target, code).emit();
}

}  // namespace luminal::codegen
