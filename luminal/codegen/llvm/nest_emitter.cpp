#include "luminal/codegen/llvm/nest_emitter.h"

#include <algorithm>
#include <limits>

#include "luminal/support/check.h"

namespace luminal::codegen {

using graph::DType;
using graph::Op;
using kernel::LoopRole;
using kernel::Statement;
using kernel::StatementKind;
using llvm::Value;
using symbolic::Expr;

NestEmitter::NestEmitter(VectorBuilder& builder, const kernel::Arena& arena,
                         const kernel::Nest& nest, const NestKernelOptions& options)
    : builder_(builder),
      ir_(builder.ir()),
      arena_(arena),
      nest_(nest),
      options_(options),
      plan_(arena, nest, builder.target(), options),
      code_(builder),
      ops_(builder, {options.round_each, options.accuracy}),
      index_(builder),
      sums_(nest.accumulators.size()) {
  index_.symbol_value = [this](const Expr& expr) { return symbol(expr); };
}

void NestEmitter::emit() {
  entry_ = builder_.begin_entry("nest");
  int number = 0;
  for (const kernel::NodeId input : plan_.inputs())
    buffers_[input] = builder_.buffer(entry_, number++);
  for (const kernel::NodeId output : plan_.outputs())
    buffers_[output] = builder_.buffer(entry_, number++);
  for (size_t i = 0; i < plan_.dims().size(); ++i)
    dims_[plan_.dims()[i]] = builder_.scalar(entry_, static_cast<int>(i));
  known_.emplace_back();
  if (plan_.parallel_loop() == nullptr) {
    emit_block(nest_.body);
  } else {
    // What comes before the loop is small and done by every thread.
    for (size_t i = 0; i + 1 < nest_.body.size(); ++i) emit_statement(nest_.body[i]);
    emit_items();
  }
  if (options_.streaming) builder_.fence();
  ir_.CreateRetVoid();
}

/// The outermost loop: an item is one position of its axes, or a block of the last one.
void NestEmitter::emit_items() {
  const Statement& loop = *plan_.parallel_loop();
  const std::optional<int64_t> block = plan_.block();
  std::vector<Value*> extents;
  for (const Expr& axis : loop.axes) extents.push_back(index_.emit(axis.axis_extent()));
  Value* last = extents.back();
  if (block)
    extents.back() =
        ir_.CreateSDiv(ir_.CreateAdd(last, builder_.index(*block - 1)), builder_.index(*block));
  if (plan_.transposition()) {
    Value*& rows = extents[plan_.transposition()->axis];
    rows = ir_.CreateSDiv(ir_.CreateAdd(rows, builder_.index(kTransposedRows - 1)),
                          builder_.index(kTransposedRows));
  }
  builder_.loop(entry_.begin, entry_.end, builder_.index(1), [&](Value* item) {
    known_.emplace_back();
    Value* rest = item;
    for (size_t k = loop.axes.size(); k-- > 0;) {
      // The outermost needs no remainder.
      axes_[loop.axes[k].axis_id()] = k == 0 ? rest : ir_.CreateSRem(rest, extents[k]);
      if (k > 0) rest = ir_.CreateSDiv(rest, extents[k]);
    }
    if (block) {
      Value* begin = ir_.CreateMul(axes_[loop.axes.back().axis_id()], builder_.index(*block));
      Value* end = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                             ir_.CreateAdd(begin, builder_.index(*block)), last);
      if (plan_.transposition())
        emit_transposed(loop, begin, end);
      else if (plan_.is_interchanged(loop))
        emit_interchanged(loop, begin, end);
      else
        emit_lanes(loop, begin, end);
    } else {
      emit_body(loop);
    }
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
  if (loop.role == LoopRole::kRow) {
    row_axis_ = loop.axes.back();
    inner_loops_ = 0;
  }
  emit_block(loop.body);
  row_axis_ = outer_row;
}

void NestEmitter::emit_statement(const Statement& statement) {
  switch (statement.kind) {
    case StatementKind::kLoop:
      return emit_loop(statement, 0);
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
  const bool last = depth + 1 == loop.axes.size();
  if (last && !lane_axis_ && plan_.is_vectorised(loop))
    return emit_lanes(loop, builder_.index(0), extent);
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

/// The last axis of a loop, several lanes at a time: whole vectors first, then masked ones. Sums
/// over the axis have a vector per unrolled copy, brought together at the end.
void NestEmitter::emit_lanes(const Statement& loop, Value* begin, Value* end) {
  const Expr axis = loop.axes.back();
  const int lanes = plan_.lanes();
  const bool inner = has_inner_loops(loop);
  // A sum waits for itself; twice the copies keep the units busy.
  const int chains = loop.role == LoopRole::kReduction ? 2 : 1;
  const auto copies = static_cast<size_t>(inner ? 1 : plan_.unroll() * chains);
  const std::vector<size_t> carried = carried_sums(loop);
  LUMINAL_CHECK(carried.empty() || loop.role == LoopRole::kReduction,
                "an independent loop carries sums");
  Carried initial;
  std::vector<Value*> before;
  for (const size_t number : carried) before.push_back(sums_[number].value);
  for (size_t copy = 0; copy < copies; ++copy)
    for (const size_t number : carried) {
      const kernel::Accumulator& accumulator = nest_.accumulators[number];
      initial.push_back(ops_.identity(accumulator.op, accumulator.dtype, lanes));
    }
  lane_axis_ = axis;
  lanes_reduce_ = loop.role == LoopRole::kReduction;
  ++inner_loops_;
  const auto turn = [&](Value* first, llvm::ArrayRef<Value*> now, size_t count, Value* mask) {
    Carried next(now.begin(), now.end());
    for (size_t copy = 0; copy < count; ++copy) {
      for (size_t i = 0; i < carried.size(); ++i)
        sums_[carried[i]].value = now[copy * carried.size() + i];
      axes_[axis.axis_id()] =
          ir_.CreateAdd(first, builder_.index(static_cast<int64_t>(copy) * lanes));
      mask_ = mask;
      known_.emplace_back();
      emit_body(loop);
      known_.pop_back();
      mask_ = nullptr;
      for (size_t i = 0; i < carried.size(); ++i)
        next[copy * carried.size() + i] = sums_[carried[i]].value;
    }
    return next;
  };
  const auto step = static_cast<int64_t>(copies) * lanes;
  Value* whole = ir_.CreateMul(ir_.CreateSDiv(ir_.CreateSub(end, begin), builder_.index(step)),
                               builder_.index(step));
  Value* masked_from = ir_.CreateAdd(begin, whole);
  Carried state = builder_.loop(
      begin, masked_from, builder_.index(step), initial,
      [&](Value* i, llvm::ArrayRef<Value*> now) { return turn(i, now, copies, nullptr); });
  const auto extent = axis.axis_extent().constant_value();
  if (!extent || *extent % step != 0)
    state = builder_.loop(masked_from, end, builder_.index(lanes), state,
                          [&](Value* i, llvm::ArrayRef<Value*> now) {
                            Value* mask = builder_.lanes_below(ir_.CreateSub(end, i), lanes);
                            return turn(i, now, 1, mask);
                          });
  lane_axis_.reset();
  lanes_reduce_ = false;
  for (size_t i = 0; i < carried.size(); ++i) {
    const kernel::Accumulator& accumulator = nest_.accumulators[carried[i]];
    Value* total = state[i];
    for (size_t copy = 1; copy < copies; ++copy)
      total =
          ops_.combine(accumulator.op, accumulator.dtype, total, state[copy * carried.size() + i]);
    total = ops_.horizontal(accumulator.op, accumulator.dtype, total);
    sums_[carried[i]].value = ops_.combine(accumulator.op, accumulator.dtype, before[i], total);
  }
}

/// A block of columns of the result, walked along the rows of what is read: whole squares are
/// transposed in registers, the borders are gathered.
void NestEmitter::emit_transposed(const Statement& loop, Value* begin, Value* end) {
  const Expr row_axis = loop.axes[plan_.transposition()->axis];
  const Expr axis = loop.axes.back();
  const int lanes = plan_.lanes();
  const auto whole = [&](Value* from, Value* to) {
    Value* squares = ir_.CreateSDiv(ir_.CreateSub(to, from), builder_.index(lanes));
    return ir_.CreateAdd(from, ir_.CreateMul(squares, builder_.index(lanes)));
  };
  Value* first = ir_.CreateMul(axes_.at(row_axis.axis_id()), builder_.index(kTransposedRows));
  Value* last = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin,
                                          ir_.CreateAdd(first, builder_.index(kTransposedRows)),
                                          index_.emit(row_axis.axis_extent()));
  Value* whole_rows = whole(first, last);
  Value* whole_columns = whole(begin, end);
  builder_.loop(begin, whole_columns, builder_.index(lanes), [&](Value* column) {
    builder_.loop(first, whole_rows, builder_.index(lanes),
                  [&](Value* row) { emit_square(loop, row, column); });
  });
  builder_.loop(first, last, builder_.index(1), [&](Value* row) {
    axes_[row_axis.axis_id()] = row;
    Value* from = ir_.CreateSelect(ir_.CreateICmpSLT(row, whole_rows), whole_columns, begin);
    for_each_vector(axis, from, end, [&] { emit_body(loop); });
  });
}

void NestEmitter::emit_square(const Statement& loop, Value* row, Value* column) {
  const Expr row_axis = loop.axes[plan_.transposition()->axis];
  const Expr axis = loop.axes.back();
  const int lanes = plan_.lanes();
  const std::vector<kernel::BodyId>& loads = plan_.transposition()->loads;
  std::vector<llvm::SmallVector<Value*, 16>> squares;
  lane_axis_ = row_axis;
  axes_[row_axis.axis_id()] = row;
  for (const kernel::BodyId id : loads) {
    squares.emplace_back();
    for (int i = 0; i < lanes; ++i) {
      axes_[axis.axis_id()] = ir_.CreateAdd(column, builder_.index(i));
      known_.emplace_back();
      squares.back().push_back(value_of(id));
      known_.pop_back();
    }
    builder_.transpose(squares.back());
  }
  lane_axis_ = axis;
  axes_[axis.axis_id()] = column;
  for (int i = 0; i < lanes; ++i) {
    axes_[row_axis.axis_id()] = ir_.CreateAdd(row, builder_.index(i));
    known_.emplace_back();
    for (size_t k = 0; k < loads.size(); ++k)
      known_.back()[loads[k]] = squares[k][static_cast<size_t>(i)];
    emit_body(loop);
    known_.pop_back();
  }
  lane_axis_.reset();
}

/// The lanes of an axis from begin to end, masked at the end.
void NestEmitter::for_each_vector(const Expr& axis, Value* begin, Value* end,
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
  Value* whole = ir_.CreateMul(ir_.CreateSDiv(ir_.CreateSub(end, begin), builder_.index(lanes)),
                               builder_.index(lanes));
  Value* masked_from = ir_.CreateAdd(begin, whole);
  builder_.loop(begin, masked_from, builder_.index(lanes),
                [&](Value* position) { turn(position, nullptr); });
  builder_.if_then(ir_.CreateICmpSLT(masked_from, end), [&] {
    turn(masked_from, builder_.lanes_below(ir_.CreateSub(end, masked_from), lanes));
  });
  lane_axis_.reset();
}

/// Where the current lanes of an interchanged sum lie.
Value* NestEmitter::interchanged_sum(size_t number, Value* begin) {
  Expr offset = plan_.interchanged_offset();
  for (size_t i = 0; i < number; ++i)
    offset = offset +
             ceil_div(Expr(kInterchangedBlock *
                           graph::bits(stored_dtype(nest_.accumulators[i].dtype)) / 8),
                      64) *
                 64 +
             64;
  Value* lane = ir_.CreateSub(axes_.at(lane_axis_->axis_id()), begin);
  const int bytes = graph::bits(stored_dtype(nest_.accumulators[number].dtype)) / 8;
  return builder_.offset(builder_.offset(entry_.scratch, index_.emit(offset)),
                         ir_.CreateMul(lane, builder_.index(bytes)));
}

/// One reduction for a block of lanes, row by row: several rows at a time are added to sums that
/// stay in the nearest cache.
void NestEmitter::emit_interchanged(const Statement& loop, Value* begin, Value* end) {
  constexpr int kRowsAtOnce = 4;
  const Expr axis = loop.axes.back();
  const auto inner = std::find_if(loop.body.begin(), loop.body.end(), [](const Statement& each) {
    return each.kind == StatementKind::kLoop;
  });
  const int lanes = plan_.lanes();
  const auto stored = [&](size_t number) { return stored_dtype(nest_.accumulators[number].dtype); };
  std::vector<size_t> numbers;
  for (const Statement& each : loop.body)
    if (each.kind == StatementKind::kReset) numbers.push_back(each.accumulator);
  for_each_vector(axis, begin, end, [&] {
    for (const size_t number : numbers)
      code_.store(
          stored(number),
          ops_.identity(nest_.accumulators[number].op, nest_.accumulators[number].dtype, lanes),
          interchanged_sum(number, begin), builder_.index(0), {.mask = mask_});
  });
  const auto rows = [&](Value* first, int count) {
    for_each_vector(axis, begin, end, [&] {
      for (const size_t number : numbers)
        sums_[number].value = code_.load(stored(number), interchanged_sum(number, begin),
                                         builder_.index(0), lanes, {.mask = mask_});
      for (int row = 0; row < count; ++row) {
        axes_[inner->axes.back().axis_id()] = ir_.CreateAdd(first, builder_.index(row));
        emit_block(inner->body);
      }
      for (const size_t number : numbers)
        code_.store(stored(number), sums_[number].value, interchanged_sum(number, begin),
                    builder_.index(0), {.mask = mask_});
    });
  };
  const auto reduce = [&](const auto& self, size_t depth) -> void {
    Value* extent = index_.emit(inner->axes[depth].axis_extent());
    if (depth + 1 < inner->axes.size())
      return builder_.loop(builder_.index(0), extent, builder_.index(1), [&](Value* position) {
        axes_[inner->axes[depth].axis_id()] = position;
        self(self, depth + 1);
      });
    Value* rest = ir_.CreateSRem(extent, builder_.index(kRowsAtOnce));
    Value* whole = ir_.CreateSub(extent, rest);
    builder_.loop(builder_.index(0), whole, builder_.index(kRowsAtOnce),
                  [&](Value* first) { rows(first, kRowsAtOnce); });
    builder_.loop(whole, extent, builder_.index(1), [&](Value* first) { rows(first, 1); });
  };
  reduce(reduce, 0);
  for_each_vector(axis, begin, end, [&] {
    for (const size_t number : numbers)
      sums_[number].value = code_.load(stored(number), interchanged_sum(number, begin),
                                       builder_.index(0), lanes, {.mask = mask_});
    for (auto after = inner + 1; after != loop.body.end(); ++after) emit_statement(*after);
  });
}

void NestEmitter::reset(size_t number) {
  const kernel::Accumulator& accumulator = nest_.accumulators[number];
  Sum sum;
  if (accumulator.vector_axes.empty()) {
    const int lanes = depends_on_lanes(accumulator.reduction) ? plan_.lanes() : 1;
    sum.value = ops_.identity(accumulator.op, accumulator.dtype, lanes);
    sums_[number] = sum;
    return;
  }
  sums_[number] = sum;
  for_each_element(number, [&](Value* value) {
    return ops_.identity(accumulator.op, accumulator.dtype, VectorBuilder::lanes_of(value));
  });
}

/// Changes every element of an accumulator in scratch.
void NestEmitter::for_each_element(size_t number, llvm::function_ref<Value*(Value* value)> change) {
  const kernel::Accumulator& accumulator = nest_.accumulators[number];
  const DType dtype = stored_dtype(accumulator.dtype);
  Expr count = 1;
  for (const Expr& axis : accumulator.vector_axes) count = count * axis.axis_extent();
  Value* base = builder_.offset(entry_.scratch, index_.emit(plan_.accumulator_offset(number)));
  Value* end = index_.emit(count);
  const int lanes = plan_.lanes();
  builder_.loop(builder_.index(0), end, builder_.index(lanes), [&](Value* i) {
    Value* mask = lanes == 1 ? nullptr : builder_.lanes_below(ir_.CreateSub(end, i), lanes);
    Value* value = code_.load(dtype, base, i, lanes, {.mask = mask});
    code_.store(dtype, change(value), base, i, {.mask = mask});
  });
}

void NestEmitter::accumulate(const Statement& statement) {
  const kernel::Accumulator& accumulator = nest_.accumulators[statement.accumulator];
  Sum& sum = sums_[statement.accumulator];
  Value* value = value_of(statement.value);
  const auto added = [&](Value* total) {
    const int lanes = std::max(VectorBuilder::lanes_of(total), VectorBuilder::lanes_of(value));
    Value* left = widened(total, lanes);
    Value* right = widened(value, lanes);
    if (statement.rescale_by)
      left = ir_.CreateFMul(left, widened(sums_[*statement.rescale_by].factor, lanes));
    if (lanes_reduce_ && mask_ != nullptr)
      right =
          ir_.CreateSelect(mask_, right, ops_.identity(accumulator.op, accumulator.dtype, lanes));
    return ops_.combine(accumulator.op, accumulator.dtype, left, right);
  };
  if (sum.value != nullptr) {
    sum.value = added(sum.value);
    return;
  }
  const DType dtype = stored_dtype(accumulator.dtype);
  Value* base =
      builder_.offset(entry_.scratch, index_.emit(plan_.accumulator_offset(statement.accumulator)));
  Value* position = sum_position(accumulator);
  const int lanes = lane_axis_ ? plan_.lanes() : 1;
  Value* total = code_.load(dtype, base, position, lanes, {.mask = mask_});
  code_.store(dtype, added(total), base, position, {.mask = mask_});
}

/// Where the current element of an accumulator lies; the lane axis, if any, is its last.
Value* NestEmitter::sum_position(const kernel::Accumulator& accumulator) {
  Expr position = 0;
  for (const Expr& axis : accumulator.vector_axes) position = position * axis.axis_extent() + axis;
  return index_at_first_lane(position);
}

void NestEmitter::online_step(const Statement& statement) {
  const kernel::Accumulator& accumulator = nest_.accumulators[statement.accumulator];
  Sum& sum = sums_[statement.accumulator];
  LUMINAL_CHECK(sum.value != nullptr && !lanes_reduce_, "an online maximum is one value");
  Value* before = sum.value;
  const int lanes = VectorBuilder::lanes_of(before);
  sum.value = ops_.combine(accumulator.op, accumulator.dtype, before,
                           widened(value_of(statement.value), lanes));
  sum.running = true;
  Value* change = ir_.CreateFSub(before, read_sum(statement.accumulator));
  sum.factor = VectorMath(builder_, options_.accuracy).unary(accumulator.exponential, change);
  // The maximum has a new value from here on.
  for (auto& block : known_) block.erase(accumulator.reduction);
}

void NestEmitter::finish(const Statement& statement) {
  const kernel::Accumulator& accumulator = nest_.accumulators[statement.accumulator];
  Sum& sum = sums_[statement.accumulator];
  const auto finished = [&](Value* value) {
    if (statement.rescale_by) {
      const Sum& max = sums_[*statement.rescale_by];
      const int lanes = VectorBuilder::lanes_of(value);
      Value* lowest =
          VectorBuilder::number(max.value->getType(), -std::numeric_limits<double>::infinity());
      Value* empty = ir_.CreateFCmpOEQ(max.value, lowest);
      empty = ir_.CreateAnd(empty, widened(max.stepped, VectorBuilder::lanes_of(empty)));
      value = ir_.CreateSelect(
          widened(empty, lanes),
          VectorBuilder::number(value->getType(), std::numeric_limits<double>::quiet_NaN()), value);
    }
    if (accumulator.dtype == DType::kI4 || accumulator.dtype == DType::kU4)
      return code_.cast(stored_dtype(accumulator.dtype), accumulator.dtype, value);
    return code_.round_to(accumulator.dtype, value);
  };
  if (sum.value != nullptr) {
    sum.value = finished(sum.value);
  } else if (statement.rescale_by || accumulator.dtype != stored_dtype(accumulator.dtype)) {
    for_each_element(statement.accumulator, finished);
  }
  sum.running = false;
  for (auto& block : known_) block.erase(accumulator.reduction);
}

void NestEmitter::keep(const Statement& statement) {
  const kernel::RowBuffer& buffer = nest_.buffers[statement.buffer];
  const int lanes = lane_axis_ ? plan_.lanes() : 1;
  Value* value = widened(value_of(statement.value), lanes);
  Value* base = builder_.offset(entry_.scratch, index_.emit(plan_.row_offset(statement.buffer)));
  code_.store(stored_dtype(arena_[buffer.written].dtype), value, base,
              index_at_first_lane(buffer.written_axis), {.mask = mask_});
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
  const auto stride = stride_along(position, *lane_axis_);
  if (!stride || !stride->stride.is_constant(1) || depends_on_lanes(stride->rest))
    return code_.scatter(type.dtype, value, base, index_.emit(position),
                         mask_ != nullptr ? mask_ : all_lanes());
  Access access{.mask = mask_};
  const int bytes = lanes * graph::bits(type.dtype) / 8;
  if (options_.streaming && mask_ == nullptr && bytes >= 16 && bytes <= 64 &&
      divisible_by(stride->rest, lanes)) {
    access.streaming = true;
    access.align = bytes;
  }
  code_.store(type.dtype, value, base, index_at_first_lane(position), access);
}

}  // namespace luminal::codegen
