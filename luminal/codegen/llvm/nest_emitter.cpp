#include "luminal/codegen/llvm/nest_emitter.h"

#include <algorithm>
#include <limits>

#include "luminal/codegen/llvm/instruction_order.h"
#include "luminal/support/check.h"

namespace luminal::codegen {

using graph::DType;
using graph::Op;
using kernel::LoopRole;
using kernel::Statement;
using kernel::StatementKind;
using llvm::Value;
using symbolic::Expr;

namespace {

/// What a nest compares. Loops that several reductions share have the axes of one of them, so that
/// what the others take in is not below the roots in these names.
std::set<kernel::BodyId> compared_in(const kernel::Arena& arena, const kernel::Nest& nest) {
  std::vector<kernel::Root> values = nest.kernel.roots;
  std::vector<kernel::BodyId> maxima_of;
  const auto visit = [&](const auto& self, const std::vector<Statement>& block) -> void {
    for (const Statement& each : block) {
      self(self, each.body);
      if (each.kind != StatementKind::kAccumulate && each.kind != StatementKind::kOnlineStep)
        continue;
      values.push_back({{}, each.value, {}});
      if (nest.accumulators[each.accumulator].op == Op::kReduceMax) maxima_of.push_back(each.value);
    }
  };
  visit(visit, nest.body);
  return values_compared(arena, values, maxima_of);
}

}  // namespace

NestEmitter::NestEmitter(VectorBuilder& builder, const kernel::Arena& arena,
                         const kernel::Nest& nest, const NestKernelOptions& options)
    : BodyValues(builder, arena, {options.round_each, options.accuracy}),
      nest_(nest),
      options_(options),
      plan_(arena, nest, builder.target(), options),
      few_digits_(values_of_few_digits(arena, nest.kernel.roots)),
      plain_maxima_(plain_maxima(arena, nest.kernel.roots)),
      compared_(compared_in(arena, nest)),
      summed_products_(summed_products(arena, nest.kernel.roots)),
      sums_(nest.accumulators.size()) {}

void NestEmitter::emit() {
  entry_ = builder_.begin_entry("nest");
  if (plan_.staggers_chains()) ask_for_staggered_chains(*ir_.GetInsertBlock()->getParent());
  int number = 0;
  for (const kernel::NodeId input : plan_.inputs())
    buffers_[input] = builder_.buffer(entry_, number++);
  for (const kernel::NodeId output : plan_.outputs())
    buffers_[output] = builder_.buffer(entry_, number++);
  for (size_t i = 0; i < plan_.dims().size(); ++i)
    dims_[plan_.dims()[i]] = builder_.scalar(entry_, static_cast<int>(i));
  if (plan_.streaming() == Streaming::kBySize) {
    Value* large = ir_.CreateICmpSGE(index_.emit(plan_.result_bytes()),
                                     builder_.index(options_.streaming_bytes));
    const auto version = [&](bool streaming) {
      emit_version(streaming);
      return Carried{};
    };
    builder_.if_else(
        large, [&] { return version(true); }, [&] { return version(false); });
  } else {
    emit_version(plan_.streaming() == Streaming::kAlways);
  }
  ir_.CreateRetVoid();
}

/// Everything, with stores of one kind.
void NestEmitter::emit_version(bool streaming) {
  streaming_ = streaming;
  known_.assign(1, {});
  std::fill(sums_.begin(), sums_.end(), Sum{});
  if (plan_.parallel_loop() == nullptr) {
    emit_block(nest_.body);
  } else {
    // What comes before the loop is small and done by every thread.
    for (size_t i = 0; i + 1 < nest_.body.size(); ++i) emit_statement(nest_.body[i]);
    emit_items();
  }
  if (streaming) builder_.fence();
}

/// The outermost loop: an item is a block of positions of its axes.
void NestEmitter::emit_items() {
  const Statement& loop = *plan_.parallel_loop();
  std::vector<Value*> counts;
  std::vector<Value*> blocks;
  std::vector<Value*> extents;
  for (size_t k = 0; k < loop.axes.size(); ++k) {
    const Expr extent = loop.axes[k].axis_extent();
    extents.push_back(index_.emit(extent));
    blocks.push_back(index_.emit(plan_.blocks()[k]));
    counts.push_back(index_.emit(ceil_div(extent, plan_.blocks()[k])));
  }
  if (plan_.pipeline() && loop.axes.size() == 1) {
    // Items follow each other: all that are asked for are one run of rows.
    Value* end = ir_.CreateMul(entry_.end, blocks[0]);
    end = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, extents[0]);
    return emit_pipeline(loop, {ir_.CreateMul(entry_.begin, blocks[0]), end});
  }
  builder_.loop(entry_.begin, entry_.end, builder_.index(1), [&](Value* item) {
    known_.emplace_back();
    const auto ranges_of = [&](Value* number) {
      Value* rest = number;
      std::vector<Range> ranges(loop.axes.size());
      for (size_t k = loop.axes.size(); k-- > 0;) {
        // What is not cut needs no arithmetic.
        if (ceil_div(loop.axes[k].axis_extent(), plan_.blocks()[k]).is_constant(1)) {
          ranges[k] = {builder_.index(0), extents[k]};
          continue;
        }
        // The outermost needs no remainder.
        Value* block = k == 0 ? rest : ir_.CreateSRem(rest, counts[k]);
        if (k > 0) rest = ir_.CreateSDiv(rest, counts[k]);
        Value* begin = ir_.CreateMul(block, blocks[k]);
        ranges[k] = {begin, ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                                      ir_.CreateAdd(begin, blocks[k]), extents[k])};
      }
      return ranges;
    };
    const std::vector<Range> ranges = ranges_of(item);
    const bool asks = plan_.is_interchanged(loop) || plan_.waiting_rows().most > 0;
    next_ranges_ = asks ? ranges_of(ir_.CreateAdd(item, builder_.index(1))) : std::vector<Range>{};
    emit_item(loop, ranges, 0);
    known_.pop_back();
  });
}

/// One item from an axis of its loop on.
void NestEmitter::emit_item(const Statement& loop, llvm::ArrayRef<Range> ranges, size_t depth) {
  const Range& range = ranges[depth];
  const bool last = depth + 1 == loop.axes.size();
  if (last && plan_.transposition())
    return emit_transposed(loop, ranges[plan_.transposition()->axis], range);
  if (last && plan_.zipped()) return emit_zipped(loop, ranges[*plan_.zipped()]);
  if (last && plan_.is_vectorised(loop)) {
    if (plan_.is_interchanged(loop)) return emit_interchanged(loop, range);
    return emit_lanes(loop, range);
  }
  const auto position = [&](Value* at) {
    axes_[loop.axes[depth].axis_id()] = at;
    if (last)
      emit_body(loop);
    else
      emit_item(loop, ranges, depth + 1);
  };
  if (last && plan_.pipeline()) return emit_pipeline(loop, range);
  const bool across =
      (plan_.transposition() && plan_.transposition()->axis == depth) || plan_.zipped() == depth;
  if (plan_.blocks()[depth].is_constant(1) || across) return position(range.begin);
  builder_.loop(range.begin, range.end, builder_.index(1), [&](Value* at) {
    known_.emplace_back();
    position(at);
    known_.pop_back();
  });
}

void NestEmitter::emit_block(const Block& block) {
  known_.emplace_back();
  for (const Statement& statement : block) emit_statement(statement);
  known_.pop_back();
}

/// The inside of a loop whose axes are set.
void NestEmitter::emit_body(const Statement& loop) {
  const std::optional<Expr> outer_row = row_axis_;
  const size_t outer_axes = open_axes_.size();
  open_axes_.insert(open_axes_.end(), loop.axes.begin(), loop.axes.end());
  if (loop.role == LoopRole::kRow) {
    row_axis_ = loop.axes.back();
    axes_of_row_ = open_axes_.size();
    inner_loops_ = 0;
    row_loads_.clear();
    loops_of_row_ = 0;
    asking_loop_ = 0;
    for (const Statement& each : loop.body) {
      if (each.kind != StatementKind::kLoop || !plan_.is_vectorised(each)) continue;
      ++loops_of_row_;
      // Memory has most time while much is computed.
      if (loops_of_row_ > 1 && asking_loop_ == 0 && has_new_costly_work(each))
        asking_loop_ = loops_of_row_;
    }
  }
  const bool is_short =
      &loop == plan_.parallel_loop() && (plan_.has_rows_in_lanes() || plan_.has_rows_written_out());
  if (is_short) short_rows_.emplace();
  emit_block(loop.body);
  if (is_short) short_rows_.reset();
  if (loop.role == LoopRole::kRow) row_loads_.clear();  // positions that no loop after it knows
  row_axis_ = outer_row;
  open_axes_.erase(open_axes_.begin() + static_cast<std::ptrdiff_t>(outer_axes), open_axes_.end());
}

/// Whether a loop computes something costly that no row buffer holds.
bool NestEmitter::has_new_costly_work(const Statement& loop) const {
  return loop.role == LoopRole::kReduction && plan_.is_costly(loop);
}

void NestEmitter::emit_statement(const Statement& statement) {
  switch (statement.kind) {
    case StatementKind::kLoop:
      return emit_loop(statement, 0);
    case StatementKind::kUnless:
      return unless(statement);
    case StatementKind::kReset:
      return reset(statement.accumulator);
    case StatementKind::kAccumulate:
      return accumulate(statement);
    case StatementKind::kOnlineStep:
      return online_step(statement);
    case StatementKind::kFinish:
      return finish(statement);
    case StatementKind::kKeep:
      return keep(statement);
    case StatementKind::kLet:
      value_of(statement.value);
      return;
    case StatementKind::kStore:
      return store(statement);
  }
}

/// Accumulators in registers that a loop adds to without starting them.
std::vector<size_t> NestEmitter::carried_sums(const Statement& loop) const {
  std::vector<size_t> added;
  std::vector<size_t> started;
  const auto visit = [&](const auto& self, const Block& block) -> void {
    for (const Statement& statement : block) {
      if (statement.kind == StatementKind::kLoop) self(self, statement.body);
      if (statement.kind == StatementKind::kReset) started.push_back(statement.accumulator);
      if (statement.kind == StatementKind::kAccumulate ||
          statement.kind == StatementKind::kOnlineStep)
        added.push_back(statement.accumulator);
    }
  };
  visit(visit, loop.body);
  std::sort(added.begin(), added.end());
  added.erase(std::unique(added.begin(), added.end()), added.end());
  std::erase_if(added, [&](size_t number) {
    return sums_[number].value == nullptr ||
           std::find(started.begin(), started.end(), number) != started.end();
  });
  return added;
}

void NestEmitter::emit_loop(const Statement& loop, size_t depth) {
  const Expr& axis = loop.axes[depth];
  Value* extent = index_.emit(axis.axis_extent());
  if (depth == 0 && loop.online) {
    // Whether there is any element decides about sums whose maximum stays at -inf.
    Value* any = ir_.getTrue();
    for (const Expr& each : loop.axes)
      any =
          ir_.CreateAnd(any, ir_.CreateICmpSGT(index_.emit(each.axis_extent()), builder_.index(0)));
    for (Sum& sum : sums_) sum.stepped = any;
  }
  if (in_windows_) return emit_window(loop, depth);
  const bool last = depth + 1 == loop.axes.size();
  if (last && !lane_axis_ && plan_.is_vectorised(loop))
    return emit_lanes(loop, {builder_.index(0), extent});
  if (short_rows_) return emit_written_out_row(loop);
  const std::vector<size_t> carried = carried_sums(loop);
  Carried initial;
  for (const size_t number : carried) initial.push_back(sums_[number].value);
  const Carried result = builder_.loop(builder_.index(0), extent, builder_.index(1), initial,
                                       [&](Value* position, llvm::ArrayRef<Value*> now) {
                                         for (size_t i = 0; i < carried.size(); ++i)
                                           sums_[carried[i]].value = now[i];
                                         axes_[axis.axis_id()] = position;
                                         known_.emplace_back();
                                         if (last)
                                           emit_body(loop);
                                         else
                                           emit_loop(loop, depth + 1);
                                         known_.pop_back();
                                         Carried next;
                                         for (const size_t number : carried)
                                           next.push_back(sums_[number].value);
                                         return next;
                                       });
  for (size_t i = 0; i < carried.size(); ++i) sums_[carried[i]].value = result[i];
}

void NestEmitter::keep(const Statement& statement) {
  const kernel::RowBuffer& buffer = nest_.buffers[statement.buffer];
  const int lanes = lane_axis_ ? plan_.lanes() : 1;
  Value* value = widened(value_of(statement.value), lanes);
  if (short_rows_) {
    short_rows_->kept[{statement.buffer, *place_in_row(buffer.written_axis)}] = value;
    return;
  }
  code_.store(stored_dtype(arena_[buffer.written].dtype), value, kept_row(statement.buffer),
              position_in_row(buffer.written_axis), {.mask = mask_});
}

void NestEmitter::store(const Statement& statement) {
  const kernel::Root& root = nest_.kernel.roots[statement.root];
  const graph::TensorType& type = arena_.tensor(root.tensor);
  Value* base = buffers_.at(root.tensor);
  const Expr position = position_of(root.store, type.shape);
  Value* value = value_of(statement.value);
  if (!lane_axis_) return code_.store(type.dtype, value, base, index_.emit(position));
  const int lanes = plan_.lanes();
  value = widened(value, lanes);
  if (plan_.has_rows_in_lanes() && store_along_row(statement, value)) return;
  if (zipped_) {
    (*zipped_)[statement.root].push_back(code_.to_bits(type.dtype, value));
    return;
  }
  const auto stride = stride_along(position, *lane_axis_);
  if (!stride || !stride->stride.is_constant(1) || depends_on_lanes(stride->rest))
    return code_.scatter(type.dtype, value, base, index_.emit(position),
                         mask_ != nullptr ? mask_ : all_of(plan_.lanes()));
  Access access{.mask = mask_};
  if (streaming_ && mask_ == nullptr && is_aligned(statement)) {
    access.streaming = true;
    access.align = std::min(64, lanes * graph::bits(type.dtype) / 8);
  }
  if (in_pairs_) return code_.store_pairs(value, base, index_at_first_lane(position), access);
  code_.store(type.dtype, value, base, index_at_first_lane(position), access);
}

}  // namespace luminal::codegen
