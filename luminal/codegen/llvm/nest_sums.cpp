// Accumulators: scalars and vectors in registers, arrays in scratch, sums relative to a maximum.
#include "luminal/codegen/llvm/nest_emitter.h"

#include <algorithm>
#include <limits>

#include "luminal/support/check.h"

namespace luminal::codegen {

using graph::DType;
using kernel::LoopRole;
using kernel::Statement;
using kernel::StatementKind;
using llvm::Value;
using symbolic::Expr;

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
  if (in_bits_) return accumulate_bits(statement);
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
    if (adds_by_products(statement)) {
      if (one_ == nullptr) one_ = builder_.hidden(VectorBuilder::number(builder_.f32(), 1));
      return builder_.mul_add(right, builder_.splat(one_, lanes), left);
    }
    return combined(statement.accumulator, left, right);
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

/// One step of a reduction.
Value* NestEmitter::combined(size_t number, Value* left, Value* right) {
  const kernel::Accumulator& accumulator = nest_.accumulators[number];
  // An unordered comparison gives the right one.
  if (plain_maxima_.contains(accumulator.reduction))
    return ir_.CreateSelect(ir_.CreateFCmpOGT(left, right), left, right);
  return ops_.combine(accumulator.op, accumulator.dtype, left, right);
}

/// Whether a sum is a product with 1 that is added, which has the same bits. An exponential that
/// ends in bf16 adds, rounds and scales more than it multiplies; there are processors that have
/// units of their own for both.
bool NestEmitter::adds_by_products(const Statement& statement) const {
  const kernel::Accumulator& accumulator = nest_.accumulators[statement.accumulator];
  return in_pairs_ && accumulator.op == graph::Op::kSum && builder_.target().has_fma() &&
         stored_dtype(accumulator.dtype) == DType::kF32 && !options_.round_each &&
         plan_.is_costly(statement.value);
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

/// One way or the other to the same sums, which are scalars.
void NestEmitter::unless(const Statement& statement) {
  const std::vector<Sum> before = sums_;
  const auto shortcut = [&] {
    known_.emplace_back();
    Carried taken;
    for (const auto& [number, value] : statement.shortcuts) taken.push_back(value_of(value));
    known_.pop_back();
    return taken;
  };
  const auto otherwise = [&] {
    // The passes inside do not ask for the next row: the one before has done it.
    const auto loads = std::exchange(row_loads_, {});
    const int loops = inner_loops_;
    emit_block(statement.body);
    row_loads_ = loads;
    inner_loops_ = loops;
    Carried found;
    for (const auto& [number, value] : statement.shortcuts) found.push_back(sums_[number].value);
    sums_ = before;
    return found;
  };
  const Carried result = builder_.if_else(value_of(statement.value), shortcut, otherwise);
  for (size_t k = 0; k < result.size(); ++k) {
    const size_t number = statement.shortcuts[k].first;
    sums_[number] = {};
    sums_[number].value = result[k];
    for (auto& block : known_) block.erase(nest_.accumulators[number].reduction);
  }
}

}  // namespace luminal::codegen
