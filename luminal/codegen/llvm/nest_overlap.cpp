// Rows whose results are stored while the next row is computed. A softmax reads a row, computes for
// a while and writes: memory would read and write by turns. So the loop that stores is written into
// the costly loop of the row after it, vector by vector; what it needs of its own row (sums, values
// made of them) waits on the stack, and rows that were kept are read just before they are
// overwritten.
#include <algorithm>
#include <utility>

#include "luminal/codegen/llvm/nest_emitter.h"

namespace luminal::codegen {

using kernel::BodyId;
using kernel::LoopRole;
using kernel::Statement;
using kernel::StatementKind;
using llvm::Value;
using symbolic::Expr;

namespace {

/// Fewer rows are dealt out one by one, longer ones leave the caches.
constexpr int64_t kFewestRows = 512;
constexpr int64_t kMostRowBytes = 64 << 10;
/// Rows of an item: the last of each is stored alone.
constexpr int64_t kRowsOfItem = 16;

}  // namespace

std::optional<NestPlan::Overlap> NestPlan::find_overlap() const {
  const Statement* row = parallel_loop();
  if (streaming_ != Streaming::kAlways || !options_.prefetch_rows || row == nullptr ||
      row->role != LoopRole::kRow || is_vectorised(*row) || row->body.size() < 2)
    return std::nullopt;
  const auto rows = row->axes.back().axis_extent().constant_value();
  if (!rows || *rows < kFewestRows) return std::nullopt;
  const Statement& last = row->body.back();
  const Statement* costly = nullptr;
  int loops = 0;
  for (size_t k = 0; k + 1 < row->body.size(); ++k) {
    if (row->body[k].kind != StatementKind::kLoop) continue;
    costly = &row->body[k];
    ++loops;
  }
  // The first loop waits for memory.
  if (loops < 2 || costly->role != LoopRole::kReduction || costly->online || !is_costly(*costly) ||
      !is_whole_row(*costly) || !is_whole_row(last) ||
      costly->axes.back().axis_extent() != last.axes.back().axis_extent())
    return std::nullopt;
  if (!waits_well(*row, *costly, last)) return std::nullopt;
  return Overlap{costly, &last, kRowsOfItem};
}

/// Whether a loop has one axis of whole vectors, those that it stores aligned. Narrow elements are
/// left out: what is computed of them takes longer than memory does.
bool NestPlan::is_whole_row(const Statement& loop) const {
  constexpr int64_t kMostVectorsOfTurn = 8;
  if (loop.kind != StatementKind::kLoop || loop.axes.size() != 1 || !is_vectorised(loop) ||
      has_inner_loops(loop))
    return false;
  const int64_t step = lanes_ * kMostVectorsOfTurn;
  if (!divisible_by(loop.axes[0].axis_extent(), step)) return false;
  return std::all_of(loop.body.begin(), loop.body.end(), [&](const Statement& statement) {
    if (statement.kind != StatementKind::kStore) return true;
    const kernel::Root& root = nest_.kernel.roots[statement.root];
    const graph::TensorType& type = arena_.tensor(root.tensor);
    const auto stride = stride_along(position_of(root.store, type.shape), loop.axes[0]);
    return stride && stride->stride.is_constant(1) && divisible_by(stride->rest, step) &&
           graph::bits(type.dtype) >= 32;
  });
}

/// Whether what the last loop needs is there one row later: sums of one value, and rows that the
/// costly loop keeps.
bool NestPlan::waits_well(const Statement& row, const Statement& costly,
                          const Statement& last) const {
  const auto bytes = last.axes[0].axis_extent().constant_value();
  if (!bytes || *bytes * 4 > kMostRowBytes || !is_independent(last.role)) return false;
  const auto keeps = [&](size_t buffer) {
    return std::any_of(costly.body.begin(), costly.body.end(), [&](const Statement& each) {
      return each.kind == StatementKind::kKeep && each.buffer == buffer;
    });
  };
  for (size_t k = 0; k < nest_.buffers.size(); ++k)
    if (!keeps(k) || nest_.buffers[k].written_axis != costly.axes[0] ||
        nest_.buffers[k].read_axis != last.axes[0])
      return false;
  const auto is_plain = [&](const Statement& each) {
    return each.kind != StatementKind::kLet || graph::is_float(arena_[each.value].dtype);
  };
  return std::all_of(row.body.begin(), row.body.end(), is_plain) &&
         std::all_of(nest_.accumulators.begin(), nest_.accumulators.end(), [](const auto& each) {
           return each.vector_axes.empty() && graph::is_float(each.dtype);
         });
}

/// Whether the loop that stores can be written into the costly one: lanes in the same order.
bool NestEmitter::overlaps_rows() const {
  const auto& overlap = plan_.overlap();
  return overlap && (!takes_pairs(*overlap->costly) || takes_pairs(*overlap->last));
}

/// Values of the row that later statements use.
std::vector<BodyId> NestEmitter::values_of_row(const Statement& row) const {
  std::vector<BodyId> result;
  for (const Statement& statement : row.body)
    if (statement.kind == StatementKind::kLet) result.push_back(statement.value);
  return result;
}

/// The rows of one item.
void NestEmitter::emit_overlapped(const Statement& row, const Range& range) {
  const auto place = [&](graph::DType dtype) {
    return builder_.stack(code_.register_type(dtype, 1), 8);
  };
  waiting_ = Waiting{};
  for (const kernel::Accumulator& each : nest_.accumulators)
    waiting_->sums.push_back(place(each.dtype));
  for (const BodyId id : values_of_row(row))
    waiting_->values.emplace_back(id, place(arena_[id].dtype));
  waiting_->scopes = known_.size();
  waiting_->row = row.axes.back();
  Value*& at = axes_[row.axes.back().axis_id()];
  builder_.loop(range.begin, range.end, builder_.index(1), [&](Value* number) {
    known_.emplace_back();
    at = number;
    waiting_->is_first = ir_.CreateICmpEQ(number, range.begin);
    emit_body(row);
    known_.pop_back();
  });
  at = ir_.CreateSub(range.end, builder_.index(1));
  known_.emplace_back();
  take_from_stack();
  emit_statement(row.body.back());
  known_.pop_back();
  waiting_.reset();
}

/// The statements of a row but the last, which waits.
void NestEmitter::emit_waiting_row(const Statement& row) {
  known_.emplace_back();
  for (size_t k = 0; k + 1 < row.body.size(); ++k) {
    if (&row.body[k] == plan_.overlap()->costly)
      emit_costly(row.body[k]);
    else
      emit_statement(row.body[k]);
  }
  for (size_t k = 0; k < sums_.size(); ++k) builder_.store(sums_[k].value, waiting_->sums[k]);
  for (const auto& [id, place] : waiting_->values) builder_.store(value_of(id), place);
  known_.pop_back();
}

/// The costly loop: in the first row alone, then with the results of the row before.
void NestEmitter::emit_costly(const Statement& loop) {
  const std::vector<size_t> carried = carried_sums(loop);
  const std::vector<Sum> before = sums_;
  const int loops = inner_loops_;
  const auto version = [&](bool stores) {
    sums_ = before;
    inner_loops_ = loops;
    known_.emplace_back();
    waiting_->stores = stores;
    emit_loop(loop, 0);
    waiting_->stores = false;
    known_.pop_back();
    Carried result;
    for (const size_t number : carried) result.push_back(sums_[number].value);
    return result;
  };
  const Carried result = builder_.if_else(
      waiting_->is_first, [&] { return version(false); }, [&] { return version(true); });
  for (size_t i = 0; i < carried.size(); ++i) sums_[carried[i]].value = result[i];
}

void NestEmitter::take_from_stack() {
  for (size_t k = 0; k < sums_.size(); ++k) {
    sums_[k] = {};
    llvm::Type* type = code_.register_type(nest_.accumulators[k].dtype, 1);
    sums_[k].value = builder_.load(type, waiting_->sums[k]);
  }
  for (const auto& [id, place] : waiting_->values)
    known_.back()[id] = builder_.load(code_.register_type(arena_[id].dtype, 1), place);
}

/// One vector of the results of the row before, where the costly loop is.
void NestEmitter::store_waiting(Value* lane) {
  const Statement& last = *plan_.overlap()->last;
  const std::vector<Sum> sums = sums_;
  auto known = std::exchange(known_, {});
  known_.assign(known.begin(), known.begin() + static_cast<std::ptrdiff_t>(waiting_->scopes));
  known_.emplace_back();
  const std::optional<Expr> axis = std::exchange(lane_axis_, last.axes[0]);
  const bool reduces = std::exchange(lanes_reduce_, false);
  Value*& row = axes_[waiting_->row.axis_id()];
  Value* now = std::exchange(row, ir_.CreateSub(row, builder_.index(1)));
  axes_[last.axes[0].axis_id()] = lane;
  const auto aligned = std::exchange(aligned_roots_, roots_in_line(last, last.axes[0]));
  take_from_stack();
  emit_block(last.body);
  aligned_roots_ = aligned;
  axes_[waiting_->row.axis_id()] = now;
  lanes_reduce_ = reduces;
  lane_axis_ = axis;
  known_ = std::move(known);
  sums_ = sums;
}

}  // namespace luminal::codegen
