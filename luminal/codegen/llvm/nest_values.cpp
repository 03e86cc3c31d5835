#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "luminal/codegen/llvm/nest_emitter.h"

namespace luminal::codegen {

using graph::DType;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using llvm::Value;
using symbolic::Expr;

bool NestEmitter::depends_on_lanes(BodyId id) const {
  return lane_axis_ && kernel::contains(arena_[id].free, *lane_axis_);
}

bool NestEmitter::depends_on_lanes(const Expr& expr) const {
  if (!lane_axis_) return false;
  return std::any_of(expr.axes().begin(), expr.axes().end(), [&](const Expr& axis) {
    return kernel::is_value_axis(axis) ? depends_on_lanes(kernel::body_of_value(axis))
                                       : axis == *lane_axis_;
  });
}

/// Rows and accumulators; one that is not begun has none.
Value* NestEmitter::held(BodyId id) {
  for (size_t i = 0; i < nest_.buffers.size(); ++i)
    if (nest_.buffers[i].read == id) return read_row(i);
  if (arena_[id].kind != BodyKind::kReduce) return nullptr;
  for (size_t i = 0; i < sums_.size(); ++i)
    if (nest_.accumulators[i].reduction == id) return read_sum(i);
  return nullptr;
}

MathAccuracy NestEmitter::accuracy_of(BodyId id) const {
  if (compared_.contains(id)) return options_.accuracy;
  const bool few = !options_.round_each && few_digits_.contains(id);
  return few ? MathAccuracy::kBf16 : BodyValues::accuracy_of(id);
}

bool NestEmitter::is_assumed(const Expr& test) const {
  return std::find(assumed_.begin(), assumed_.end(), test) != assumed_.end();
}

/// The tests that an index needs beyond what is proved or assumed; null if none.
Value* NestEmitter::in_range(std::span<const Expr> index, const graph::Shape& shape) {
  Value* all = nullptr;
  for (size_t d = 0; d < index.size(); ++d) {
    const Expr& expr = index[d];
    const bool sound = bounds_hold(expr);
    const bool above = (sound && provably_ge(expr, 0)) || is_assumed(greater_equal(expr, 0));
    const bool below = (sound && provably_less(expr, shape[d])) ||
                       is_assumed(greater_equal(shape[d] - 1, expr)) ||
                       is_assumed(logical_not(greater_equal(expr, shape[d])));
    if (above && below) continue;
    Value* value = index_.emit(expr);
    // One unsigned comparison does for both ends.
    Value* extent = widened(index_.emit(shape[d]), VectorBuilder::lanes_of(value));
    all = both(all, ir_.CreateICmpULT(value, extent));
  }
  return all;
}

Value* NestEmitter::where(const BodyNode& node) {
  std::vector<Expr> tests;
  std::copy_if(node.exprs.begin(), node.exprs.end(), std::back_inserter(tests),
               [&](const Expr& test) { return !is_assumed(test); });
  if (tests.empty() && !node.exprs.empty()) return value_of(node.children[0]);
  return chosen(conditions(tests), node);
}

Value* NestEmitter::load(BodyId id) {
  const BodyNode& node = arena_[id];
  const graph::TensorType& type = arena_.tensor(node.tensor);
  Value* base = buffers_.at(node.tensor);
  const Expr position = position_of(node.exprs, type.shape);
  Value* inside = is_alias(node.tensor) ? nullptr : in_range(node.exprs, type.shape);
  if (!depends_on_lanes(position) && (inside == nullptr || !inside->getType()->isVectorTy()))
    return code_.load(type.dtype, base, index_.emit(position), 1, {.mask = inside});
  if (plan_.has_rows_in_lanes())
    if (Value* along = load_along_row(type.dtype, base, node.tensor, position)) return along;
  const int lanes = plan_.lanes();
  Value* mask = both(mask_, inside);
  if (mask != nullptr) mask = widened(mask, lanes);
  const auto stride = stride_along(position, *lane_axis_);
  const bool even = graph::bits(type.dtype) > 4 ||
                    (stride && divisible_by(stride->rest, 2) && !begins_with_line_);
  // Masks of packed elements must end after a lane, which only the loop's own do.
  const bool whole_bytes = graph::bits(type.dtype) > 4 || inside == nullptr;
  if (stride && stride->stride.is_constant(1) && even && whole_bytes &&
      !depends_on_lanes(stride->rest)) {
    Value* first = index_at_first_lane(position);
    if (mask == nullptr) note_row_load(node.tensor, position);
    if (in_pairs_) return code_.load_pairs(base, first, lanes);
    return code_.load(type.dtype, base, first, lanes, {.mask = mask});
  }
  if (const auto step = stride ? stride->stride.constant_value() : std::nullopt;
      step && code_.is_short_stride(type.dtype, *step) && !depends_on_lanes(stride->rest))
    return code_.load_strided(type.dtype, base, index_at_first_lane(position), lanes,
                              static_cast<int>(*step), mask);
  Value* positions = widened(index_.emit(position), lanes);
  return code_.gather(type.dtype, base, positions, mask != nullptr ? mask : all_of(plan_.lanes()));
}

/// A load of the first loop over a row: the next row will be asked for by the loops after it.
void NestEmitter::note_row_load(kernel::NodeId tensor, const Expr& position) {
  // Short rows follow each other, which memory notices by itself.
  if (!options_.prefetch_rows || !row_axis_ || inner_loops_ != 1 || loops_of_row_ < 2 ||
      short_rows_)
    return;
  const auto stride = stride_along(position, *row_axis_);
  if (!stride || stride->stride.is_constant(0) || depends_on_lanes(stride->stride)) return;
  const RowLoad load{tensor, position + stride->stride, *lane_axis_};
  if (!is_known_throughout_row(load.next)) return;
  const auto same = [&](const RowLoad& other) {
    return other.tensor == tensor && other.next == load.next;
  };
  if (std::none_of(row_loads_.begin(), row_loads_.end(), same)) row_loads_.push_back(load);
}

/// Whether later loops of the row can compute a position too: other axes of the loop that is being
/// written (a sum over several) and what it read as an index are gone by then.
bool NestEmitter::is_known_throughout_row(const Expr& position) const {
  const auto of_row = open_axes_.begin() + static_cast<std::ptrdiff_t>(axes_of_row_);
  return std::all_of(position.axes().begin(), position.axes().end(), [&](const Expr& axis) {
    return axis == *lane_axis_ || std::find(open_axes_.begin(), of_row, axis) != of_row;
  });
}

/// While this row is in the cache memory would be idle: each later loop asks for its share of the
/// next row, so that reading goes on while results are written.
void NestEmitter::prefetch_next_row(Value* lane, size_t copy, const Expr& extent) {
  constexpr int64_t kLine = 64;
  if (!row_axis_ || inner_loops_ < 2 || inner_loops_ > loops_of_row_) return;
  if (asking_loop_ != 0 && inner_loops_ != asking_loop_) return;
  const int64_t shares = asking_loop_ != 0 ? 1 : loops_of_row_ - 1;
  const int64_t number = asking_loop_ != 0 ? 0 : inner_loops_ - 2;
  for (const RowLoad& load : row_loads_) {
    if (load.axis.axis_extent() != extent) continue;
    const int bytes = std::max(1, graph::bits(arena_.tensor(load.tensor).dtype) / 8);
    // What a vector stands for may be a part of a line, which neighbours share, or several.
    const int64_t part = std::max<int64_t>(1, int64_t{plan_.lanes()} * bytes / shares);
    if (part < kLine && static_cast<int64_t>(copy) % (kLine / part) != 0) continue;
    Value* share = ir_.CreateMul(index_.emit(extent), builder_.index(number));
    Value*& axis = axes_[load.axis.axis_id()];
    Value* kept =
        std::exchange(axis, ir_.CreateSDiv(ir_.CreateAdd(lane, share), builder_.index(shares)));
    Value* at = ir_.CreateMul(index_at_first_lane(load.next), builder_.index(bytes));
    Value* line = builder_.offset(buffers_.at(load.tensor), at);
    for (int64_t from = 0; from == 0 || from + kLine <= part; from += kLine)
      builder_.prefetch(builder_.offset(line, from), 2);
    axis = kept;
  }
}

Value* NestEmitter::read_sum(size_t number) {
  const kernel::Accumulator& accumulator = nest_.accumulators[number];
  const Sum& sum = sums_[number];
  if (sum.value == nullptr) {
    Value* base = builder_.offset(entry_.scratch, index_.emit(plan_.accumulator_offset(number)));
    const int lanes =
        lane_axis_ && std::find(accumulator.vector_axes.begin(), accumulator.vector_axes.end(),
                                *lane_axis_) != accumulator.vector_axes.end()
            ? plan_.lanes()
            : 1;
    return code_.load(stored_dtype(accumulator.dtype), base, sum_position(accumulator), lanes,
                      {.mask = lanes == 1 ? nullptr : mask_});
  }
  if (!sum.running) return sum.value;
  // exp(-inf - m) shall be 0 as long as m is -inf too.
  llvm::Type* type = sum.value->getType();
  Value* lowest = VectorBuilder::number(type, -std::numeric_limits<double>::infinity());
  return ir_.CreateSelect(ir_.CreateFCmpOEQ(sum.value, lowest), VectorBuilder::number(type, 0),
                          sum.value);
}

Value* NestEmitter::read_row(size_t buffer) {
  const kernel::RowBuffer& row = nest_.buffers[buffer];
  if (short_rows_) return short_rows_->kept.at({buffer, *place_in_row(row.read_axis)});
  Value* base = kept_row(buffer);
  const bool vector = columns_ || (lane_axis_ && *lane_axis_ == row.read_axis);
  return code_.load(stored_dtype(arena_[row.read].dtype), base, position_in_row(row.read_axis),
                    vector ? plan_.lanes() : 1, {.mask = vector ? mask_ : nullptr});
}

Value* NestEmitter::index_at_first_lane(const Expr& expr) {
  const bool outer = at_first_lane_;
  at_first_lane_ = true;
  Value* result = index_.emit(expr);
  at_first_lane_ = outer;
  return result;
}

Value* NestEmitter::symbol(const Expr& expr) {
  if (expr.is_variable()) return dims_.at(expr.name());
  if (!kernel::is_value_axis(expr)) {
    Value* position = axes_.at(expr.axis_id());
    if (!lane_axis_ || expr != *lane_axis_ || at_first_lane_) return position;
    const int lanes = plan_.lanes();
    return ir_.CreateAdd(builder_.splat(position, lanes), builder_.iota(builder_.i64(), lanes));
  }
  const bool outer = std::exchange(at_first_lane_, false);
  Value* index = index_from_data(expr);
  at_first_lane_ = outer;
  return index;
}

}  // namespace luminal::codegen
