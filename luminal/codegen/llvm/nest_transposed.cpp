// Loops in which some operands lie across: squares of them are transposed in registers. Vectors of
// the result are longer where elements are narrow, so a register holds several squares side by
// side, and what is read is a whole line of each row, kept in a tile until all of it was used. Few
// rows that lie in turn are picked out of whole vectors instead, and large results wait in the
// second cache before they are stored (nest_waiting_rows.cpp).
#include <array>

#include "luminal/codegen/llvm/nest_emitter.h"

namespace luminal::codegen {

using kernel::BodyId;
using kernel::BodyNode;
using kernel::Statement;
using kernel::StatementKind;
using llvm::Value;
using symbolic::Expr;

/// A block of the result, walked along the rows of what is read.
void NestEmitter::emit_transposed(const Statement& loop, const Range& rows, const Range& columns) {
  aligned_roots_ = streaming_ ? roots_in_line(loop, loop.axes.back()) : std::vector<size_t>{};
  const int run = plan_.transposition()->run;
  const int lanes = plan_.lanes();
  const bool whole = !plan_.masks_squares() || !aligned_roots_.empty();
  const auto whole_part = [&](const Range& range, int step) {
    if (!whole) return range.end;
    Value* count = ir_.CreateSDiv(ir_.CreateSub(range.end, range.begin), builder_.index(step));
    return ir_.CreateAdd(range.begin, ir_.CreateMul(count, builder_.index(step)));
  };
  Value* whole_rows = whole_part(rows, run);
  Value* whole_columns = whole_part(columns, lanes);
  Value* first_row = rows.begin;
  if (whole && streaming_ && plan_.waiting_rows().most > 0)
    first_row = emit_waiting_rows(loop, rows, {columns.begin, whole_columns});
  builder_.loop(first_row, whole_rows, builder_.index(run), [&](Value* row) {
    builder_.loop(columns.begin, whole_columns, builder_.index(lanes), [&](Value* column) {
      emit_tile(loop, {row, rows.end}, {column, columns.end}, whole);
    });
  });
  aligned_roots_.clear();
  if (!whole || plan_.squares_are_whole()) return;
  // The borders are gathered.
  const Expr row_axis = loop.axes[plan_.transposition()->axis];
  builder_.loop(rows.begin, rows.end, builder_.index(1), [&](Value* row) {
    axes_[row_axis.axis_id()] = row;
    Value* from =
        ir_.CreateSelect(ir_.CreateICmpSLT(row, whole_rows), whole_columns, columns.begin);
    for_each_vector(loop.axes.back(), {from, columns.end}, [&] { emit_body(loop); });
  });
}

/// The roots whose vectors along an axis are aligned wherever a row of the result begins.
std::vector<size_t> NestEmitter::roots_in_line(const Statement& loop, const Expr& axis) const {
  std::vector<size_t> result;
  for (const Statement& statement : loop.body) {
    if (statement.kind != StatementKind::kStore) continue;
    const kernel::Root& root = nest_.kernel.roots[statement.root];
    const graph::TensorType& type = arena_.tensor(root.tensor);
    const auto stride = stride_along(position_of(root.store, type.shape), axis);
    const int bytes = graph::bits(type.dtype) / 8;
    if (stride && stride->stride.is_constant(1) && bytes > 0 && plan_.lanes() * bytes >= 16 &&
        divisible_by(stride->rest, std::min(64, plan_.lanes() * bytes) / bytes))
      result.push_back(statement.root);
  }
  return result;
}

/// One run of rows from the begin of two ranges on; where it is not whole, what lies beyond their
/// ends is neither read nor written.
void NestEmitter::emit_tile(const Statement& loop, const Range& rows, const Range& columns,
                            bool whole) {
  const NestPlan::Transposition& transposition = *plan_.transposition();
  std::vector<Tile> tiles;
  for (const BodyId id : transposition.loads)
    tiles.push_back(tile_of(id, loop, rows, columns, whole));
  if (transposition.run == transposition.side)
    return emit_square(loop, tiles, builder_.index(0), rows, columns, whole);
  builder_.loop(builder_.index(0), builder_.index(transposition.run),
                builder_.index(transposition.side), [&](Value* first) {
                  const Range rest{ir_.CreateAdd(rows.begin, first), rows.end};
                  known_.emplace_back();
                  emit_square(loop, tiles, first, rest, columns, whole);
                  known_.pop_back();
                });
}

/// Where the runs of a load lie: in the tensor itself, or copied line by line. Asks for the next.
NestEmitter::Tile NestEmitter::tile_of(BodyId id, const Statement& loop, const Range& rows,
                                       const Range& columns, bool whole) {
  const NestPlan::Transposition& transposition = *plan_.transposition();
  const BodyNode& node = arena_[id];
  const graph::TensorType& type = arena_.tensor(node.tensor);
  const Expr position = position_of(node.exprs, type.shape);
  const int bytes = graph::bits(type.dtype) / 8;
  axes_[loop.axes[transposition.axis].axis_id()] = rows.begin;
  Value* last = ir_.CreateSub(columns.end, builder_.index(1));
  // There are more rows than the processor follows by itself: each asks for its next line.
  const int64_t line_bytes = int64_t{transposition.run} * bytes;
  const auto place = [this, &loop, position, line_bytes, bytes, columns, last, whole,
                      base = buffers_.at(node.tensor)](Value* lane) {
    Value* column = ir_.CreateAdd(columns.begin, lane);
    // Beyond the end the last one is read again.
    if (!whole) column = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, column, last);
    axes_[loop.axes.back().axis_id()] = column;
    Value* at = builder_.offset(base, ir_.CreateMul(index_.emit(position), builder_.index(bytes)));
    builder_.prefetch(builder_.offset(at, line_bytes), 2);
    return at;
  };
  llvm::Type* element = ir_.getIntNTy(static_cast<unsigned>(bytes) * 8);
  const auto below = [&](int count) {
    Value* left = ir_.CreateSub(rows.end, rows.begin);
    return whole ? nullptr : builder_.lanes_below(left, count);
  };
  Tile tile{element, bytes, nullptr, nullptr, place};
  if (transposition.in_turn) {
    Value* left = ir_.CreateSub(columns.end, columns.begin);
    if (!whole) tile.left = ir_.CreateMul(left, builder_.index(transposition.side));
    return tile;
  }
  tile.mask = below(transposition.side);
  if (transposition.run == transposition.side) return tile;
  llvm::Type* line = VectorBuilder::vector(element, transposition.run);
  Value* memory =
      builder_.stack(llvm::ArrayType::get(line, static_cast<uint64_t>(plan_.lanes())), 64);
  Value* mask = below(transposition.run);
  builder_.loop(
      builder_.index(0), builder_.index(plan_.lanes()), builder_.index(1), [&](Value* lane) {
        Value* at = builder_.offset(memory, ir_.CreateMul(lane, builder_.index(line_bytes)));
        builder_.store(builder_.load(line, place(lane), {.mask = mask}), at);
      });
  tile.mask = nullptr;
  tile.place = [this, memory, line_bytes](Value* lane) {
    return builder_.offset(memory, ir_.CreateMul(lane, builder_.index(line_bytes)));
  };
  return tile;
}

/// The elements of a tile over one square, as bits: vector i is along the last axis of the loop, at
/// position i of the axis across.
llvm::SmallVector<Value*, 16> NestEmitter::transposed(const Tile& tile, Value* first) {
  const int side = plan_.transposition()->side;
  if (plan_.transposition()->in_turn) return picked_out(tile);
  llvm::Type* run = VectorBuilder::vector(tile.element, side);
  Value* offset = ir_.CreateMul(first, builder_.index(tile.bytes));
  llvm::SmallVector<Value*, 16> square;
  for (int i = 0; i < side; ++i) {
    Carried runs;
    for (int lane = i; lane < plan_.lanes(); lane += side)
      runs.push_back(builder_.load(run, builder_.offset(tile.place(builder_.index(lane)), offset),
                                   {.mask = tile.mask}));
    square.push_back(builder_.join(runs));
  }
  builder_.transpose(square);
  return square;
}

/// The same of rows that lie in turn.
llvm::SmallVector<Value*, 16> NestEmitter::picked_out(const Tile& tile) {
  const int lanes = plan_.lanes();
  llvm::Type* type = VectorBuilder::vector(tile.element, lanes);
  Value* place = tile.place(builder_.index(0));
  llvm::SmallVector<Value*, 16> rows;
  for (int i = 0; i < plan_.transposition()->side; ++i) {
    Value* mask = nullptr;
    if (tile.left != nullptr)
      mask =
          builder_.lanes_below(ir_.CreateSub(tile.left, builder_.index(int64_t{i} * lanes)), lanes);
    rows.push_back(builder_.load(type, builder_.offset(place, int64_t{i} * lanes * tile.bytes),
                                 {.mask = mask}));
  }
  builder_.unzip(rows);
  return rows;
}

/// Asks for the lines that are stored at a row of the next run: memory would be asked for them one
/// by one as they are stored, since no two of them are neighbours.
void NestEmitter::ask_to_write(const Statement& loop, Value* row) {
  constexpr int64_t kNearCache = 1 << 19;
  if (!aligned_roots_.empty() || plan_.transposition()->in_turn ||
      provably_less(plan_.result_bytes(), kNearCache))
    return;
  axes_[loop.axes[plan_.transposition()->axis].axis_id()] =
      ir_.CreateAdd(row, builder_.index(plan_.transposition()->run));
  for (const Statement& statement : loop.body) {
    if (statement.kind != StatementKind::kStore) continue;
    const kernel::Root& root = nest_.kernel.roots[statement.root];
    const graph::TensorType& type = arena_.tensor(root.tensor);
    Value* position = index_at_first_lane(position_of(root.store, type.shape));
    builder_.prefetch(
        builder_.offset(buffers_.at(root.tensor),
                        ir_.CreateMul(position, builder_.index(graph::bits(type.dtype) / 8))),
        2, true);
  }
}

void NestEmitter::emit_square(const Statement& loop, llvm::ArrayRef<Tile> tiles, Value* first,
                              const Range& rows, const Range& columns, bool whole) {
  const NestPlan::Transposition& transposition = *plan_.transposition();
  const Expr row_axis = loop.axes[transposition.axis];
  const Expr axis = loop.axes.back();
  std::vector<llvm::SmallVector<Value*, 16>> squares;
  for (const Tile& tile : tiles) squares.push_back(transposed(tile, first));
  Value* below =
      whole ? nullptr
            : builder_.lanes_below(ir_.CreateSub(columns.end, columns.begin), plan_.lanes());
  lane_axis_ = axis;
  axes_[axis.axis_id()] = columns.begin;
  mask_ = below;
  const auto emit_row = [&](Value* row, llvm::function_ref<Value*(size_t load)> bits) {
    axes_[row_axis.axis_id()] = row;
    known_.emplace_back();
    for (size_t k = 0; k < tiles.size(); ++k)
      known_.back()[transposition.loads[k]] =
          code_.from_bits(arena_[transposition.loads[k]].dtype, bits(k));
    emit_body(loop);
    known_.pop_back();
    ask_to_write(loop, row);
  };
  if (!transposition.rows_in_loop) {
    for (int i = 0; i < transposition.side; ++i) {
      Value* row = ir_.CreateAdd(rows.begin, builder_.index(i));
      const auto emit = [&] {
        emit_row(row, [&](size_t k) { return squares[k][static_cast<size_t>(i)]; });
      };
      // Not by a mask of no lanes: where nothing is mapped a processor takes long over it.
      Value* is_row = ir_.CreateICmpSLT(row, rows.end);
      const auto* known = llvm::dyn_cast<llvm::ConstantInt>(is_row);
      if (whole || (known != nullptr && known->isOne()))
        emit();
      else
        builder_.if_then(is_row, emit);
    }
  } else {
    // Once for all rows: the body is long.
    std::vector<Value*> memory;
    for (size_t k = 0; k < tiles.size(); ++k) {
      llvm::Type* type = squares[k][0]->getType();
      memory.push_back(builder_.stack(
          llvm::ArrayType::get(type, static_cast<uint64_t>(transposition.side)), 64));
      for (int i = 0; i < transposition.side; ++i)
        builder_.store(squares[k][static_cast<size_t>(i)],
                       builder_.offset(memory[k], int64_t{i} * plan_.lanes() * tiles[k].bytes));
    }
    Value* count = builder_.index(transposition.side);
    if (!whole)
      count = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, count,
                                        ir_.CreateSub(rows.end, rows.begin));
    builder_.loop(builder_.index(0), count, builder_.index(1), [&](Value* i) {
      emit_row(ir_.CreateAdd(rows.begin, i), [&](size_t k) {
        const int64_t bytes = int64_t{plan_.lanes()} * tiles[k].bytes;
        return builder_.load(squares[k][0]->getType(),
                             builder_.offset(memory[k], ir_.CreateMul(i, builder_.index(bytes))));
      });
    });
  }
  mask_ = nullptr;
  lane_axis_.reset();
}

}  // namespace luminal::codegen
