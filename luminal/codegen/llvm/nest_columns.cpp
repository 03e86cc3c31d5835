// Passes along an axis that memory does not run along, for a block of lanes at a time. Each pass
// goes row by row, so that memory is read in long runs; sums of the lanes, and rows that are kept,
// lie in scratch. Several rows at a time share what is loaded of the sums.
#include <algorithm>

#include "luminal/codegen/llvm/nest_emitter.h"

namespace luminal::codegen {

using kernel::LoopRole;
using kernel::Statement;
using kernel::StatementKind;
using llvm::Value;
using symbolic::Expr;

namespace {

/// Rows that are added to each other before a sum takes them in, the same of many rows and small
/// sums, and rows of what is computed more or stored. (A Zen 5 reads 8192 rows of 8 KB at .84 of
/// its speed by sixteen rows, at .77 by eight, .65 by three and .83 row by row; rows of 16 KB at
/// .90 row by row, at 1 by eight or sixteen.)
constexpr int kRowsAtOnce = 8;
constexpr int kManyRowsAtOnce = 16;
constexpr int kCostlyRowsAtOnce = 4;
constexpr int64_t kManyRows = 64;
/// Steps of a reduction whose sums stay in registers, vector by vector.
constexpr int64_t kShortWindow = 16;
/// Lanes of a block whose sums are kept in scratch. Where they are all columns, rows are one run of
/// memory: so as many as may be, but sums take half of the nearest cache at most.
constexpr int64_t kFewColumns = 2048;
constexpr int64_t kMostColumns = 4096;
constexpr int64_t kSumBytes = 16 << 10;
/// What several passes over a block read and write stays in a cache that is near.
constexpr int64_t kPassesBytes = 512 << 10;

}  // namespace

/// Whether the sums of the widest block are small: one sum of 32 bits or less. Others take 1.1
/// times as long by sixteen rows (f64, and a sum beside a maximum, on a Zen 5).
bool NestPlan::has_small_column_sums() const {
  int64_t bytes = 0;
  for (const kernel::Accumulator& sum : nest_.accumulators)
    bytes += graph::bits(stored_dtype(sum.dtype)) / 8;
  return bytes * kMostColumns <= kSumBytes;
}

/// Lanes of one item: what is reduced once is read in runs as long as may be, what is read again
/// stays near until then.
Expr NestPlan::columns_of_block(const Statement& loop) const {
  const int64_t unit = int64_t{lanes_} * unroll();
  const int64_t fit = has_small_column_sums() ? kMostColumns : kFewColumns;
  const int64_t most = (fit + unit - 1) / unit * unit;
  int loops = 0;
  Expr rows = 1;
  for (const Statement& pass : loop.body) {
    if (pass.kind != StatementKind::kLoop) continue;
    ++loops;
    Expr steps = 1;
    for (const Expr& axis : pass.axes) steps = steps * axis.axis_extent();
    rows = max(rows, steps);
  }
  if (loops < 2) return most;
  int64_t bits = 0;
  for (const kernel::NodeId input : inputs_) bits += graph::bits(arena_.tensor(input).dtype);
  for (const kernel::NodeId output : outputs_) bits += graph::bits(arena_.tensor(output).dtype);
  for (const kernel::RowBuffer& buffer : nest_.buffers)
    bits += graph::bits(stored_dtype(arena_[buffer.written].dtype));
  const Expr fitting = floor_div(kPassesBytes * 8, rows * bits);
  const Expr extent = loop.axes.back().axis_extent();
  const auto width = fitting.constant_value();
  const auto all = extent.constant_value();
  if (!width || !all) return max(Expr(unit), min(Expr(most), floor_div(fitting, unit) * unit));
  // Blocks of about the same width.
  const int64_t block = std::clamp(*width, unit, most);
  const int64_t blocks = std::max<int64_t>(1, (*all + block - 1) / block);
  return ((*all + blocks - 1) / blocks + lanes_ - 1) / lanes_ * lanes_;
}

/// Whether what is in a loop is passes, one after the other, over rows of lanes.
bool NestPlan::holds_passes(const Statement& loop) const {
  if (&loop != parallel_loop() || nest_.accumulators.empty()) return false;
  // What an output loop reads of a row was kept before it, with the row along its lanes.
  if (!nest_.buffers.empty() && loop.role != LoopRole::kRow) return false;
  int loops = 0;
  bool long_ones = false;
  for (const Statement& statement : loop.body) {
    if (statement.kind != StatementKind::kLoop) continue;
    ++loops;
    if (statement.online || has_inner_loops(statement)) return false;
    // Windows are short: their sums stay in registers.
    Expr steps = 1;
    for (const Expr& axis : statement.axes) steps = steps * axis.axis_extent();
    long_ones = long_ones || !provably_ge(kShortWindow, steps);
  }
  return loops > 0 && (long_ones || !nest_.buffers.empty());
}

bool NestPlan::is_interchanged(const Statement& loop) const {
  return !rows_in_lanes_ && has_inner_loops(loop) && holds_passes(loop) && is_vectorised(loop) &&
         !writes_out_windows(loop);
}

/// The first of the current lanes, counted from the begin of the block.
Value* NestEmitter::column() {
  return ir_.CreateSub(axes_.at(columns_->axis.axis_id()), columns_->range.begin);
}

/// Where the current lanes of a sum lie.
Value* NestEmitter::column_sum(size_t number) {
  const int bytes = graph::bits(stored_dtype(nest_.accumulators[number].dtype)) / 8;
  Value* base = builder_.offset(entry_.scratch, index_.emit(plan_.interchanged_offset(number)));
  return builder_.offset(base, ir_.CreateMul(column(), builder_.index(bytes)));
}

/// Where a value that is kept for a row, or for each lane of a block, lies in its buffer.
Value* NestEmitter::position_in_row(const Expr& row) {
  if (!columns_) return index_at_first_lane(row);
  Value* first = ir_.CreateMul(index_.emit(row), index_.emit(plan_.blocks().back()));
  return ir_.CreateAdd(first, column());
}

/// All lanes of the block, with the sums that were begun and the values made of them at hand.
void NestEmitter::for_each_of_columns(llvm::function_ref<void()> body) {
  for_each_vector(columns_->axis, columns_->range, [&] {
    for (const size_t number : columns_->started)
      sums_[number].value =
          code_.load(stored_dtype(nest_.accumulators[number].dtype), column_sum(number),
                     builder_.index(0), plan_.lanes(), {.mask = mask_});
    for (const kernel::BodyId id : columns_->values) value_of(id);
    body();
  });
}

/// Statements of a loop are run one after the other, each for all lanes of the block.
void NestEmitter::emit_interchanged(const Statement& loop, const Range& range) {
  columns_ = Columns{.loop = &loop, .axis = loop.axes.back(), .range = range};
  for (const Statement& each : loop.body) {
    if (each.kind != StatementKind::kLoop || each.axes.size() != 1 || !options_.prefetch_rows)
      continue;
    if (columns_->first == nullptr) {
      columns_->first = &each;
    } else if (each.axes[0].axis_extent() == columns_->first->axes[0].axis_extent() &&
               has_new_costly_work(each) && columns_->asking == nullptr) {
      columns_->asking = &each;
    }
  }
  const auto put = [&](size_t number, Value* value) {
    code_.store(stored_dtype(nest_.accumulators[number].dtype), value, column_sum(number),
                builder_.index(0), {.mask = mask_});
  };
  for (const Statement& statement : loop.body) {
    const size_t number = statement.accumulator;
    switch (statement.kind) {
      case StatementKind::kLoop:
        if (statement.role == LoopRole::kReduction)
          reduce_columns(statement);
        else
          store_columns(statement);
        break;
      case StatementKind::kReset: {
        const kernel::Accumulator& sum = nest_.accumulators[number];
        for_each_vector(columns_->axis, range,
                        [&] { put(number, ops_.identity(sum.op, sum.dtype, plan_.lanes())); });
        columns_->started.push_back(number);
        break;
      }
      case StatementKind::kFinish:
        if (nest_.accumulators[number].dtype == stored_dtype(nest_.accumulators[number].dtype))
          break;
        for_each_of_columns([&] {
          finish(statement);
          put(number, sums_[number].value);
        });
        break;
      case StatementKind::kLet:
        columns_->values.push_back(statement.value);
        break;
      default:
        for_each_of_columns([&] { emit_statement(statement); });
    }
  }
  columns_.reset();
}

/// The rows of a pass, so many at a time.
void NestEmitter::pass_of_columns(const Statement& pass, int rows_at_once,
                                  llvm::function_ref<void(Value* first, int count)> rows) {
  const auto from = [&](const auto& self, size_t depth) -> void {
    Value* extent = index_.emit(pass.axes[depth].axis_extent());
    if (depth + 1 < pass.axes.size())
      return builder_.loop(builder_.index(0), extent, builder_.index(1), [&](Value* position) {
        axes_[pass.axes[depth].axis_id()] = position;
        self(self, depth + 1);
      });
    Value* whole = ir_.CreateSub(extent, ir_.CreateSRem(extent, builder_.index(rows_at_once)));
    builder_.loop(builder_.index(0), whole, builder_.index(rows_at_once),
                  [&](Value* first) { rows(first, rows_at_once); });
    builder_.loop(whole, extent, builder_.index(1), [&](Value* first) { rows(first, 1); });
  };
  from(from, 0);
}

/// Memory would be idle while much is computed: asks for a row of the next block, as the first pass
/// will read it.
void NestEmitter::ask_for_next_block(Value* row) {
  constexpr int64_t kLine = 64;
  const Expr& along = columns_->first->axes[0];
  const std::map<int64_t, Value*> here = axes_;
  Value* lane = ir_.CreateAdd(next_ranges_.back().begin, column());
  for (size_t k = 0; k < next_ranges_.size(); ++k)
    axes_[columns_->loop->axes[k].axis_id()] = next_ranges_[k].begin;
  axes_[columns_->axis.axis_id()] = lane;
  axes_[along.axis_id()] = row;
  std::vector<kernel::BodyId> values;
  for (const Statement& each : columns_->first->body)
    if (each.kind == StatementKind::kAccumulate) values.push_back(each.value);
  for (const kernel::BodyId id : arena_.reachable(values)) {
    const kernel::BodyNode& node = arena_[id];
    if (node.kind != kernel::BodyKind::kLoad || !node.index_values.empty()) continue;
    const graph::TensorType& type = arena_.tensor(node.tensor);
    const Expr position = position_of(node.exprs, type.shape);
    const auto stride = stride_along(position, columns_->axis);
    if (!stride || !stride->stride.is_constant(1) || !position.depends_on(along)) continue;
    const int bytes = std::max(1, graph::bits(type.dtype) / 8);
    Value* at = ir_.CreateMul(index_at_first_lane(position), builder_.index(bytes));
    Value* line = builder_.offset(buffers_.at(node.tensor), at);
    for (int64_t from = 0; from < int64_t{plan_.lanes()} * bytes; from += kLine)
      builder_.prefetch(builder_.offset(line, from), 2);
  }
  axes_ = here;
}

/// A pass that adds rows to sums.
void NestEmitter::reduce_columns(const Statement& pass) {
  std::vector<size_t> numbers;
  for (const Statement& each : pass.body)
    if (each.kind == StatementKind::kAccumulate) numbers.push_back(each.accumulator);
  const auto rows = pass.axes.back().axis_extent().constant_value();
  const bool few = rows && *rows < kManyRows;
  const int rows_at_once = plan_.is_costly(pass) ? kCostlyRowsAtOnce
                           : few                 ? kRowsAtOnce
                                                 : kManyRowsAtOnce;
  pass_of_columns(pass, rows_at_once, [&](Value* first, int count) {
    for_each_of_columns([&] {
      // Rows are added to each other first: the sums then take in a part of the values.
      std::vector<Value*> before;
      for (const size_t number : numbers) {
        const kernel::Accumulator& sum = nest_.accumulators[number];
        before.push_back(sums_[number].value);
        sums_[number].value = ops_.identity(sum.op, sum.dtype, plan_.lanes());
      }
      for (int row = 0; row < count; ++row) {
        axes_[pass.axes.back().axis_id()] = ir_.CreateAdd(first, builder_.index(row));
        emit_block(pass.body);
        if (&pass == columns_->asking) ask_for_next_block(axes_.at(pass.axes[0].axis_id()));
      }
      for (size_t i = 0; i < numbers.size(); ++i) {
        const kernel::Accumulator& sum = nest_.accumulators[numbers[i]];
        Value* total = ops_.combine(sum.op, sum.dtype, before[i], sums_[numbers[i]].value);
        code_.store(stored_dtype(sum.dtype), total, column_sum(numbers[i]), builder_.index(0),
                    {.mask = mask_});
      }
    });
  });
}

/// A pass that stores results.
void NestEmitter::store_columns(const Statement& pass) {
  aligned_roots_ = streaming_ ? roots_in_line(pass, columns_->axis) : std::vector<size_t>{};
  pass_of_columns(pass, kCostlyRowsAtOnce, [&](Value* first, int count) {
    for_each_of_columns([&] {
      for (int row = 0; row < count; ++row) {
        axes_[pass.axes.back().axis_id()] = ir_.CreateAdd(first, builder_.index(row));
        emit_block(pass.body);
      }
    });
  });
  aligned_roots_.clear();
}

}  // namespace luminal::codegen
