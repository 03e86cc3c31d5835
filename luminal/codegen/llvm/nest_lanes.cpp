// Loops whose last axis is spread over the lanes: whole vectors, masked ends, sums in several
// vectors, stores past the caches.
#include "luminal/codegen/llvm/nest_emitter.h"

#include <algorithm>
#include <limits>

#include "luminal/support/check.h"

namespace luminal::codegen {

using graph::Op;
using kernel::LoopRole;
using kernel::Statement;
using kernel::StatementKind;
using llvm::Value;
using symbolic::Expr;

namespace {

/// Turns after which the vectors of a sum are put aside: so many additions lose no more than a few
/// bits of a float.
constexpr int64_t kTurnsOfBlock = 128;

}  // namespace

bool NestPlan::adds_in_blocks(int64_t extent, int64_t vectors) const {
  return extent > 2 * kTurnsOfBlock * vectors * lanes_;
}

NestEmitter::LaneLoop NestEmitter::lane_loop(const Statement& loop) const {
  LaneLoop result{.loop = loop, .axis = loop.axes.back()};
  const bool reduces = loop.role == LoopRole::kReduction;
  result.copies = static_cast<size_t>(
      has_inner_loops(loop) ? 1 : plan_.unroll() * (reduces ? NestPlan::kChains : 1));
  result.carried = carried_sums(loop);
  result.pairs = takes_pairs(loop);
  LUMINAL_CHECK(result.carried.empty() || reduces, "an independent loop carries sums");
  for (const size_t number : result.carried) result.before.push_back(sums_[number].value);
  result.bits = finds_maxima_of_bits(result);
  return result;
}

/// One vector of a loop, or `count` of them one after the other, from the position `first` on;
/// gives what is carried on.
Carried NestEmitter::lane_turn(const LaneLoop& lane, Value* first, llvm::ArrayRef<Value*> now,
                               size_t count, Value* mask) {
  const std::vector<size_t>& carried = lane.carried;
  Carried next(now.begin(), now.end());
  for (size_t copy = 0; copy < count; ++copy) {
    for (size_t i = 0; i < carried.size(); ++i)
      sums_[carried[i]].value = now[copy * carried.size() + i];
    Value* position =
        ir_.CreateAdd(first, builder_.index(static_cast<int64_t>(copy) * plan_.lanes()));
    axes_[lane.axis.axis_id()] = position;
    if (mask == nullptr) prefetch_next_row(position, copy, lane.axis.axis_extent());
    mask_ = mask;
    in_pairs_ = lane.pairs && mask == nullptr;
    in_bits_ = lane.bits;
    known_.emplace_back();
    if (mask == nullptr && plan_.staggers_chains()) compute_in_one_block(lane.loop);
    emit_body(lane.loop);
    known_.pop_back();
    in_pairs_ = false;
    in_bits_ = false;
    mask_ = nullptr;
    for (size_t i = 0; i < carried.size(); ++i)
      next[copy * carried.size() + i] = sums_[carried[i]].value;
  }
  return next;
}

/// What a vector stores, without branches for rare arguments of functions (a sine of a million):
/// chains of instructions are staggered within one block only. Where an argument was rare all of
/// it is computed again, from memory, so that nothing is held for that.
void NestEmitter::compute_in_one_block(const Statement& loop) {
  const auto computed = [&] {
    Carried result;
    known_.emplace_back();
    for (const Statement& statement : loop.body) result.push_back(value_of(statement.value));
    known_.pop_back();
    return result;
  };
  if (std::any_of(loop.body.begin(), loop.body.end(), [](const Statement& statement) {
        return statement.kind != StatementKind::kStore && statement.kind != StatementKind::kLet;
      }))
    return;
  Carried usual;
  if (Value* rare = builder_.without_rare([&] { usual = computed(); })) {
    for (size_t k = 0; k < usual.size(); ++k)
      if (loop.body[k].kind == StatementKind::kStore) usual[k] = builder_.pinned(usual[k]);
    usual = builder_.if_else(rare, computed, [&] { return usual; });
  }
  for (size_t k = 0; k < usual.size(); ++k) known_.back().emplace(loop.body[k].value, usual[k]);
}

/// The last axis of a loop, several lanes at a time: whole vectors first, then masked ones. Sums
/// over the axis have a vector per unrolled copy, brought together at the end.
void NestEmitter::emit_lanes(const Statement& loop, const Range& range) {
  LaneLoop lane = lane_loop(loop);
  lanes_reduce_ = loop.role == LoopRole::kReduction;
  Value* aligned = lanes_reduce_ ? nullptr : first_aligned(loop, range);
  const bool short_row = short_rows_ && !plan_.has_rows_in_lanes();
  // A few vectors are stored at once wherever they lie.
  if (short_row && aligned != nullptr) aligned_roots_.clear();
  lane_axis_ = lane.axis;
  ++inner_loops_;
  Carried sums;
  if (short_row || (aligned == nullptr && is_written_out(loop, range))) {
    sums = emit_written_out(lane);
  } else {
    begins_with_line_ = aligned != nullptr;
    sums = emit_lane_loops(lane, range, aligned);
    begins_with_line_ = false;
  }
  aligned_roots_.clear();
  lane_axis_.reset();
  lanes_reduce_ = false;
  close_sums(lane, sums);
}

/// All vectors one after the other, the last one masked; gives what is carried at their end.
Carried NestEmitter::emit_written_out(LaneLoop& lane) {
  const int lanes = plan_.lanes();
  const int64_t extent = *lane.axis.axis_extent().constant_value();
  const size_t count = lane.carried.size();
  lane.copies = std::min(lane.copies, static_cast<size_t>((extent + lanes - 1) / lanes));
  Carried sums;
  for (size_t copy = 0; copy < lane.copies; ++copy)
    for (const size_t number : lane.carried)
      sums.push_back(
          ops_.identity(nest_.accumulators[number].op, nest_.accumulators[number].dtype, lanes));
  size_t copy = 0;
  in_windows_ = has_inner_loops(lane.loop);
  for (int64_t first = 0; first < extent; first += lanes) {
    const int64_t left = extent - first;
    Value* mask = left < lanes ? builder_.lanes_below(builder_.index(left), lanes) : nullptr;
    const auto own = sums.begin() + static_cast<std::ptrdiff_t>(copy * count);
    const Carried next = lane_turn(lane, builder_.index(first),
                                   Carried(own, own + static_cast<std::ptrdiff_t>(count)), 1, mask);
    std::copy(next.begin(), next.end(), own);
    copy = (copy + 1) % lane.copies;
  }
  in_windows_ = false;
  return sums;
}

/// The loops of a range, whose whole vectors begin at `aligned` (null: at its begin); gives what is
/// carried at their end.
Carried NestEmitter::emit_lane_loops(const LaneLoop& lane, const Range& range, Value* aligned) {
  Carried initial;
  bool float_sums = false;
  for (size_t copy = 0; copy < lane.copies; ++copy)
    for (const size_t number : lane.carried) {
      const kernel::Accumulator& sum = nest_.accumulators[number];
      float_sums = float_sums || (sum.op == Op::kSum && graph::is_float(sum.dtype));
      initial.push_back(lane.bits ? lowest_bits()
                                  : ops_.identity(sum.op, sum.dtype, plan_.lanes()));
    }
  const auto step = static_cast<int64_t>(lane.copies) * plan_.lanes();
  const auto extent = lane.axis.axis_extent().constant_value();
  const Range main{aligned != nullptr ? aligned : range.begin, range.end};
  Value* turns = ir_.CreateSDiv(ir_.CreateSub(main.end, main.begin), builder_.index(step));
  Value* masked_from = ir_.CreateAdd(main.begin, ir_.CreateMul(turns, builder_.index(step)));
  const bool in_blocks =
      float_sums && !(extent && !plan_.adds_in_blocks(*extent, static_cast<int64_t>(lane.copies)));
  Carried state =
      whole_turns({main.begin, masked_from}, step, initial,
                  in_blocks ? llvm::ArrayRef<size_t>(lane.carried) : llvm::ArrayRef<size_t>(),
                  [&](Value* i, llvm::ArrayRef<Value*> now) {
                    return lane_turn(lane, i, now, lane.copies, nullptr);
                  });
  aligned_roots_.clear();
  if (extent && *extent % step == 0 && aligned == nullptr) return state;
  return masked_turns({range.begin, main.begin}, {masked_from, range.end}, state,
                      [&](Value* i, Value* mask, llvm::ArrayRef<Value*> now) {
                        return lane_turn(lane, i, now, 1, mask);
                      });
}

/// Brings the vectors of every sum together, and what was there before.
void NestEmitter::close_sums(const LaneLoop& lane, const Carried& state) {
  const std::vector<size_t>& carried = lane.carried;
  for (size_t i = 0; i < carried.size(); ++i) {
    const auto both = [&](Value* a, Value* b) { return combined(carried[i], a, b); };
    Value* total = state[i];
    for (size_t copy = 1; copy < lane.copies; ++copy) {
      Value* other = state[copy * carried.size() + i];
      total = lane.bits ? larger_bits(total, other) : both(total, other);
    }
    if (lane.bits) total = from_bits(total);
    sums_[carried[i]].value = both(lane.before[i], builder_.horizontal(total, both));
  }
}

/// Whether all vectors of a loop are written one after the other: where values depend on tests of
/// their position (padding, halves that are joined), most of these are then known.
bool NestEmitter::is_written_out(const Statement& loop, const Range& range) const {
  const Expr axis = loop.axes.back();
  const auto extent = axis.axis_extent().constant_value();
  const auto* begin = llvm::dyn_cast<llvm::ConstantInt>(range.begin);
  const auto* end = llvm::dyn_cast<llvm::ConstantInt>(range.end);
  if (loop.role == LoopRole::kReduction || !extent ||
      *extent > NestPlan::kMostVectors * plan_.lanes() || begin == nullptr || end == nullptr ||
      !begin->isZero() || end->getSExtValue() != *extent)
    return false;
  if (has_inner_loops(loop)) return plan_.writes_out_windows(loop);
  std::vector<kernel::BodyId> stored;
  for (const Statement& statement : loop.body)
    if (statement.kind == StatementKind::kStore)
      stored.push_back(nest_.kernel.roots[statement.root].value);
  const std::vector<kernel::BodyId> reached = arena_.reachable(stored);
  return std::any_of(reached.begin(), reached.end(), [&](kernel::BodyId id) {
    const kernel::BodyNode& node = arena_[id];
    return node.kind == kernel::BodyKind::kWhere &&
           std::any_of(node.exprs.begin(), node.exprs.end(),
                       [&](const Expr& test) { return test.depends_on(axis); });
  });
}

/// The turns with whole vectors. In blocks, carried values (of the accumulators `in_blocks`) start
/// anew in each block and are brought together after it.
Carried NestEmitter::whole_turns(const Range& range, int64_t step, const Carried& initial,
                                 llvm::ArrayRef<size_t> in_blocks,
                                 llvm::function_ref<Carried(Value*, llvm::ArrayRef<Value*>)> turn) {
  if (in_blocks.empty())
    return builder_.loop(range.begin, range.end, builder_.index(step), initial, turn);
  Value* block = builder_.index(step * kTurnsOfBlock);
  return builder_.loop(
      range.begin, range.end, block, initial, [&](Value* begin, llvm::ArrayRef<Value*> totals) {
        Value* end = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateAdd(begin, block),
                                               range.end);
        Carried sums = builder_.loop(begin, end, builder_.index(step), initial, turn);
        for (size_t i = 0; i < sums.size(); ++i) {
          const kernel::Accumulator& accumulator =
              nest_.accumulators[in_blocks[i % in_blocks.size()]];
          sums[i] = ops_.combine(accumulator.op, accumulator.dtype, totals[i], sums[i]);
        }
        return sums;
      });
}

/// What is left before and after whole vectors: one vector at most before them.
Carried NestEmitter::masked_turns(
    const Range& head, const Range& tail, const Carried& initial,
    llvm::function_ref<Carried(Value* first, Value* mask, llvm::ArrayRef<Value*>)> turn) {
  const int lanes = plan_.lanes();
  const auto masked = [&](Value* first, Value* count, llvm::ArrayRef<Value*> now) {
    return turn(first, builder_.lanes_below(count, lanes), now);
  };
  if (head.begin == head.end)
    return builder_.loop(tail.begin, tail.end, builder_.index(lanes), initial,
                         [&](Value* i, llvm::ArrayRef<Value*> now) {
                           return masked(i, ir_.CreateSub(tail.end, i), now);
                         });
  // One loop, so that the code is there once: position -lanes stands for the head.
  Value* before = ir_.CreateSub(tail.begin, builder_.index(lanes));
  Value* first = ir_.CreateSelect(ir_.CreateICmpSLT(head.begin, head.end), before, tail.begin);
  return builder_.loop(
      first, tail.end, builder_.index(lanes), initial, [&](Value* i, llvm::ArrayRef<Value*> now) {
        Value* is_head = ir_.CreateICmpEQ(i, before);
        Value* count = ir_.CreateSelect(is_head, ir_.CreateSub(head.end, head.begin),
                                        ir_.CreateSub(tail.end, i));
        return masked(ir_.CreateSelect(is_head, head.begin, i), count, now);
      });
}

/// Where the first vector of a range lies that can be stored past the caches, and notes which roots
/// can; null if that is the begin of the range or there is none.
Value* NestEmitter::first_aligned(const Statement& loop, const Range& range) {
  aligned_roots_.clear();
  if (!streaming_ || has_inner_loops(loop)) return nullptr;
  const int lanes = plan_.lanes();
  std::optional<Expr> first;
  int64_t unit = 0;
  for (const Statement& statement : loop.body) {
    if (statement.kind != StatementKind::kStore) continue;
    const kernel::Root& root = nest_.kernel.roots[statement.root];
    const graph::TensorType& type = arena_.tensor(root.tensor);
    const Expr position = position_of(root.store, type.shape);
    const auto stride = stride_along(position, loop.axes.back());
    const int bytes = graph::bits(type.dtype) / 8;
    if (!stride || !stride->stride.is_constant(1) || bytes == 0 || lanes * bytes < 16) continue;
    const int64_t this_unit = std::min(64, lanes * bytes) / bytes;
    if (first && (*first != position || this_unit != unit)) continue;
    first = position;
    unit = this_unit;
    aligned_roots_.push_back(statement.root);
  }
  if (!first) return nullptr;
  if (divisible_by(stride_along(*first, loop.axes.back())->rest, unit)) return nullptr;
  axes_[loop.axes.back().axis_id()] = range.begin;
  lane_axis_ = loop.axes.back();
  Value* at = index_at_first_lane(*first);
  lane_axis_.reset();
  Value* missing = ir_.CreateAnd(ir_.CreateNeg(at), builder_.index(unit - 1));
  return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateAdd(range.begin, missing),
                                   range.end);
}

/// Whether whole vectors of a store are aligned where we are.
bool NestEmitter::is_aligned(const Statement& store) const {
  return std::find(aligned_roots_.begin(), aligned_roots_.end(), store.root) !=
         aligned_roots_.end();
}

/// The lanes of an axis from begin to end, masked at the end.
void NestEmitter::for_each_vector(const Expr& axis, const Range& range,
                                  llvm::function_ref<void()> body) {
  const int lanes = plan_.lanes();
  lane_axis_ = axis;
  const auto turn = [&](Value* position, Value* mask) {
    axes_[axis.axis_id()] = position;
    mask_ = mask;
    known_.emplace_back();
    body();
    known_.pop_back();
    mask_ = nullptr;
  };
  Value* whole =
      ir_.CreateMul(ir_.CreateSDiv(ir_.CreateSub(range.end, range.begin), builder_.index(lanes)),
                    builder_.index(lanes));
  Value* masked_from = ir_.CreateAdd(range.begin, whole);
  builder_.loop(range.begin, masked_from, builder_.index(lanes),
                [&](Value* position) { turn(position, nullptr); });
  builder_.if_then(ir_.CreateICmpSLT(masked_from, range.end), [&] {
    turn(masked_from, builder_.lanes_below(ir_.CreateSub(range.end, masked_from), lanes));
  });
  lane_axis_.reset();
}

}  // namespace luminal::codegen
