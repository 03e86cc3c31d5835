// Transposed results that are stored past the caches. Memory is quick with long runs of a row and
// slow with a line of each row in turn, on either side of a transposition. So a block of rows of
// the result waits in the second cache: it is filled from few rows of the operand at a time, each
// read in a long run, and then stored in long pieces. Meanwhile the operand of the next block is
// asked for, run by run.
#include <algorithm>

#include "luminal/codegen/llvm/nest_emitter.h"
#include "luminal/support/check.h"

namespace luminal::codegen {

using kernel::BodyId;
using kernel::BodyNode;
using kernel::Statement;
using llvm::Value;
using symbolic::Expr;

namespace {

constexpr int64_t kLine = 64;

}  // namespace

/// All rows but a few that fill no line; gives the first of these. Columns are whole vectors.
Value* NestEmitter::emit_waiting_rows(const Statement& loop, const Range& rows,
                                      const Range& columns) {
  std::vector<WaitingLoad> waiting = waiting_loads(loop);
  Value* most = builder_.index(plan_.waiting_rows().most);
  Value* few = builder_.index(plan_.waiting_rows().unit);
  Value* end = ir_.CreateSub(rows.end, ir_.CreateSRem(ir_.CreateSub(rows.end, rows.begin), few));
  builder_.loop(rows.begin, end, most, [&](Value* row) {
    const Range block{
        row, ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateAdd(row, most), end)};
    Value* is_last = ir_.CreateICmpEQ(block.end, end);
    for (WaitingLoad& each : waiting) {
      each.next = next_place(each, loop, block.end, columns.begin, is_last);
      fill_block(each, loop, block, columns);
    }
    store_block(waiting, loop, block, columns);
  });
  return end;
}

std::vector<NestEmitter::WaitingLoad> NestEmitter::waiting_loads(const Statement& loop) {
  std::vector<WaitingLoad> result;
  for (const BodyId load : plan_.transposition()->loads) {
    const BodyNode& node = arena_[load];
    const graph::TensorType& type = arena_.tensor(node.tensor);
    const int bytes = std::max(8, graph::bits(type.dtype)) / 8;
    const Expr position = position_of(node.exprs, type.shape);
    const Expr pitch = stride_along(position, loop.axes.back())->stride;
    Value* memory =
        builder_.offset(entry_.scratch, index_.emit(plan_.waiting_offset(result.size())));
    result.push_back({load, memory, bytes, plan_.waiting_row_bytes(load),
                      ir_.CreateMul(index_.emit(pitch), builder_.index(bytes))});
  }
  return result;
}

/// Squares of whole lines: so many rows of the operand at a time that the processor follows all of
/// them, and that the first cache keeps their lines even where they begin at one place of a page.
void NestEmitter::fill_block(const WaitingLoad& waiting, const Statement& loop, const Range& rows,
                             const Range& columns) {
  const NestPlan::Transposition& transposition = *plan_.transposition();
  const int side = transposition.side;
  const int elements = std::max(side, builder_.target().vector_bytes() / waiting.bytes);
  LUMINAL_CHECK(plan_.waiting_rows().unit % elements == 0,
                "blocks of {} rows have no whole squares", plan_.waiting_rows().unit);
  llvm::Type* line =
      VectorBuilder::vector(ir_.getIntNTy(static_cast<unsigned>(waiting.bytes) * 8), elements);
  axes_[loop.axes[transposition.axis].axis_id()] = rows.begin;
  const auto squares_at = [&](Value* begin, Value* first, Value* along) {
    Value* place = builder_.offset(begin, ir_.CreateMul(first, builder_.index(waiting.bytes)));
    llvm::SmallVector<Value*, 16> squares;
    for (int i = 0; i < side; ++i)
      squares.push_back(builder_.load(
          line, builder_.offset(place, ir_.CreateMul(waiting.pitch, builder_.index(i)))));
    builder_.transpose(squares);
    place = place_in(waiting, first, along);
    for (int at = 0; at < elements; ++at)
      builder_.store(builder_.part(squares[static_cast<size_t>(at % side)], at / side * side, side),
                     builder_.offset(place, at * waiting.row_bytes));
  };
  Value* count = ir_.CreateSub(rows.end, rows.begin);
  builder_.loop(columns.begin, columns.end, builder_.index(side), [&](Value* column) {
    axes_[loop.axes.back().axis_id()] = column;
    Value* begin = place_of(waiting);
    Value* along = ir_.CreateSub(column, columns.begin);
    builder_.loop(builder_.index(0), count, builder_.index(elements),
                  [&](Value* first) { squares_at(begin, first, along); });
  });
}

/// Stores a block, row by row.
void NestEmitter::store_block(llvm::ArrayRef<WaitingLoad> waiting, const Statement& loop,
                              const Range& rows, const Range& columns) {
  const int64_t row_axis = loop.axes[plan_.transposition()->axis].axis_id();
  Value* lanes = builder_.index(plan_.lanes());
  Value* vectors = ir_.CreateSDiv(ir_.CreateSub(columns.end, columns.begin), lanes);
  lane_axis_ = loop.axes.back();
  builder_.loop(rows.begin, rows.end, builder_.index(1), [&](Value* row) {
    Value* number = ir_.CreateSub(row, rows.begin);
    builder_.loop(columns.begin, columns.end, lanes, [&](Value* column) {
      Value* along = ir_.CreateSub(column, columns.begin);
      Value* vector = ir_.CreateAdd(ir_.CreateMul(number, vectors), ir_.CreateSDiv(along, lanes));
      for (const WaitingLoad& each : waiting) ask_for(each, vector);
      axes_[row_axis] = row;
      axes_[loop.axes.back().axis_id()] = column;
      known_.emplace_back();
      for (const WaitingLoad& each : waiting) {
        llvm::Type* bits = VectorBuilder::vector(
            ir_.getIntNTy(static_cast<unsigned>(each.bytes) * 8), plan_.lanes());
        known_.back()[each.load] = code_.from_bits(
            arena_[each.load].dtype, builder_.load(bits, place_in(each, number, along)));
      }
      emit_body(loop);
      known_.pop_back();
    });
  });
  lane_axis_.reset();
}

/// Where the operand of the block after this one begins: that of the next item, or of this one.
Value* NestEmitter::next_place(const WaitingLoad& waiting, const Statement& loop, Value* row,
                               Value* column, Value* in_next_item) {
  const std::map<int64_t, Value*> here = axes_;
  for (size_t k = 0; k < loop.axes.size(); ++k) {
    const bool is_row = k == plan_.transposition()->axis;
    const bool is_column = k + 1 == loop.axes.size();
    Value*& axis = axes_[loop.axes[k].axis_id()];
    Value* in_this_item = is_row ? row : is_column ? column : axis;
    axis = ir_.CreateSelect(in_next_item, next_ranges_[k].begin, in_this_item);
  }
  Value* result = place_of(waiting);
  axes_ = here;
  return result;
}

/// Asks for as many lines of the next block as a vector of this one is worth, row by row of the
/// operand.
void NestEmitter::ask_for(const WaitingLoad& waiting, Value* vector) {
  const int64_t in_row = plan_.waiting_rows().most * waiting.bytes / kLine;
  const int64_t bytes = int64_t{plan_.lanes()} * waiting.bytes;
  Value* first = ir_.CreateMul(vector, builder_.index(bytes));
  first = ir_.CreateUDiv(first, builder_.index(kLine));
  for (int64_t i = 0; i * kLine < bytes; ++i) {
    Value* line = ir_.CreateAdd(first, builder_.index(i));
    Value* row = ir_.CreateUDiv(line, builder_.index(in_row));
    Value* part = ir_.CreateURem(line, builder_.index(in_row));
    Value* place = builder_.offset(waiting.next, ir_.CreateMul(row, waiting.pitch));
    builder_.prefetch(builder_.offset(place, ir_.CreateMul(part, builder_.index(kLine))), 2);
  }
}

/// Where a load reads at the current axes.
Value* NestEmitter::place_of(const WaitingLoad& waiting) {
  const BodyNode& node = arena_[waiting.load];
  const Expr position = position_of(node.exprs, arena_.tensor(node.tensor).shape);
  return builder_.offset(buffers_.at(node.tensor),
                         ir_.CreateMul(index_.emit(position), builder_.index(waiting.bytes)));
}

Value* NestEmitter::place_in(const WaitingLoad& waiting, Value* row, Value* column) {
  Value* begin =
      builder_.offset(waiting.memory, ir_.CreateMul(row, builder_.index(waiting.row_bytes)));
  return builder_.offset(begin, ir_.CreateMul(column, builder_.index(waiting.bytes)));
}

}  // namespace luminal::codegen
