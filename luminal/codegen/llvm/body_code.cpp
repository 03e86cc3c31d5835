#include "luminal/codegen/llvm/body_code.h"

#include <algorithm>
#include <utility>

#include "luminal/codegen/llvm/few_digits.h"
#include "luminal/codegen/llvm/nest_plan.h"

namespace luminal::codegen {

using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using llvm::Value;
using symbolic::Expr;

BodyCode::BodyCode(VectorBuilder& builder, const kernel::Arena& arena,
                   const OpCode::Options& options, std::span<const kernel::Root> roots)
    : BodyValues(builder, arena, options) {
  if (!options.round_each) few_digits_ = values_of_few_digits(arena, roots);
}

MathAccuracy BodyCode::accuracy_of(BodyId id) const {
  return few_digits_.contains(id) ? MathAccuracy::kBf16 : BodyValues::accuracy_of(id);
}

void BodyCode::set_axis(const Expr& axis, Value* position) {
  if (axis.is_axis()) axes_[axis.axis_id()] = position;
}

void BodyCode::set_axes(std::span<const Expr> axes, Value* position) {
  for (size_t k = axes.size(); k-- > 0;) {
    if (k == 0) {
      set_axis(axes[k], position);
      return;
    }
    Value* extent = index_.emit(axes[k].axis_extent());
    set_axis(axes[k], ir_.CreateURem(position, extent));
    position = ir_.CreateUDiv(position, extent);
  }
}

void BodyCode::gather_up() {
  lanes_ = 1;
  step_ = 1;
  lane_axes_.clear();
  lane_positions_.clear();
  runs_.clear();
  mask_ = nullptr;
}

void BodyCode::spread(const Expr& axis, Value* first, int lanes, Value* mask, int step) {
  gather_up();
  lanes_ = lanes;
  step_ = step;
  mask_ = mask;
  if (!axis.is_axis()) return;
  lane_axes_ = {axis};
  Run run;
  run.first[axis.axis_id()] = first;
  runs_ = {run};
}

void BodyCode::spread(std::span<const Expr> axes, Value* first, int lanes, Value* mask,
                      bool one_run) {
  if (axes.empty()) return spread(Expr(0), first, lanes, mask);
  if (axes.size() == 1) return spread(axes[0], first, lanes, mask);
  gather_up();
  lanes_ = lanes;
  mask_ = mask;
  lane_axes_.assign(axes.begin(), axes.end());
  const Expr& inner = axes.back();
  Value* extent = index_.emit(inner.axis_extent());
  Value* inner_first = ir_.CreateURem(first, extent);
  Value* outer_first = ir_.CreateUDiv(first, extent);
  const auto count = inner.axis_extent().constant_value();
  // Short runs are not worth a load each.
  if (!one_run && (!count || *count * 4 < lanes)) {
    Value* positions =
        ir_.CreateAdd(builder_.splat(first, lanes), builder_.iota(builder_.i64(), lanes));
    for (size_t k = axes.size(); k-- > 0;) {
      Value* size = builder_.splat(index_.emit(axes[k].axis_extent()), lanes);
      lane_positions_[axes[k].axis_id()] = k == 0 ? positions : ir_.CreateURem(positions, size);
      positions = ir_.CreateUDiv(positions, size);
    }
    return;
  }
  const int64_t runs = one_run ? 1 : (lanes - 2) / *count + 2;
  Value* lane = builder_.iota(builder_.i64(), lanes);
  for (int64_t r = 0; r < runs; ++r) {
    Run run;
    Value* rest = ir_.CreateAdd(outer_first, builder_.index(r));
    for (size_t k = axes.size() - 1; k-- > 0;) {
      if (k == 0) {
        run.first[axes[k].axis_id()] = rest;
        continue;
      }
      Value* size = index_.emit(axes[k].axis_extent());
      run.first[axes[k].axis_id()] = ir_.CreateURem(rest, size);
      rest = ir_.CreateUDiv(rest, size);
    }
    Value* start = inner_first;
    if (r > 0) start = ir_.CreateSub(inner_first, builder_.index(r * *count));
    run.first[inner.axis_id()] = start;
    if (!one_run) {
      // One comparison does for both ends.
      Value* position = ir_.CreateAdd(builder_.splat(start, lanes), lane);
      run.mask = ir_.CreateICmpULT(position, builder_.splat(extent, lanes));
    }
    runs_.push_back(std::move(run));
  }
}

bool BodyCode::is_spread(const Expr& axis) const {
  return std::find(lane_axes_.begin(), lane_axes_.end(), axis) != lane_axes_.end();
}

bool BodyCode::depends_on_lanes(const Expr& expr) const {
  return std::any_of(expr.axes().begin(), expr.axes().end(), [&](const Expr& axis) {
    if (!kernel::is_value_axis(axis)) return is_spread(axis);
    const kernel::AxisSet& free = arena_[kernel::body_of_value(axis)].free;
    return std::any_of(free.begin(), free.end(), [&](const Expr& each) { return is_spread(each); });
  });
}

/// Whether an index is data that differs from lane to lane.
bool BodyCode::gathers(const Expr& expr) const {
  return std::any_of(expr.axes().begin(), expr.axes().end(), [&](const Expr& axis) {
    return kernel::is_value_axis(axis) && depends_on_lanes(axis);
  });
}

Value* BodyCode::wide_value(BodyId id) { return widened(value(id), lanes_); }

/// Padding with zeros is what a masked load does by itself.
bool BodyCode::pads_with_zeros(const BodyNode& where) const {
  const BodyNode& outside = arena_[where.children[1]];
  return arena_[where.children[0]].kind == BodyKind::kLoad && outside.kind == BodyKind::kConstant &&
         outside.constant == graph::Scalar::of(outside.dtype, 0);
}

Value* BodyCode::where(const BodyNode& node) {
  if (!pads_with_zeros(node)) return BodyValues::where(node);
  if (prepared_.contains(node.children[0])) return load(node.children[0]);
  // A load may stand for a product that was computed here: nothing is in memory then.
  if (known_value(node.children[0]) != nullptr) return BodyValues::where(node);
  return guarded_load(node.children[0], conditions(node.exprs), node.exprs);
}

/// The positions of an axis that runs along the lanes, one per lane.
Value* BodyCode::lane_positions(const Expr& axis) {
  const auto found = lane_positions_.find(axis.axis_id());
  if (found != lane_positions_.end()) return found->second;
  Value* result = nullptr;
  for (const Run& run : runs_) {
    Value* positions = builder_.splat(run.first.at(axis.axis_id()), lanes_);
    if (axis == lane_axes_.back())
      positions = ir_.CreateAdd(positions,
                                ir_.CreateMul(builder_.iota(builder_.i64(), lanes_),
                                              VectorBuilder::integer(positions->getType(), step_)));
    result = result == nullptr ? positions : ir_.CreateSelect(run.mask, positions, result);
  }
  return result;
}

Value* BodyCode::symbol(const Expr& expr) {
  if (expr.is_variable()) return dims_.at(expr.name());
  if (!kernel::is_value_axis(expr)) {
    if (!is_spread(expr)) return axes_.at(expr.axis_id());
    return run_ != nullptr ? run_->first.at(expr.axis_id()) : lane_positions(expr);
  }
  const Run* outer = std::exchange(run_, nullptr);
  Value* index = index_from_data(expr);
  run_ = outer;
  return index;
}

void BodyCode::store(const kernel::Root& root, Value* value, bool streaming) {
  const graph::TensorType& type = arena_.tensor(root.tensor);
  Value* base = buffers_.at(root.tensor);
  const Expr position = position_of(root.store, type.shape);
  if (lanes_ == 1) return code_.store(type.dtype, value, base, index_.emit(position));
  value = widened(value, lanes_);
  const auto stride = runs_.size() == 1 ? stride_along(position, lane_axes_.back()) : std::nullopt;
  if (stride && stride->stride.is_constant(1) && step_ == 1 && graph::bits(type.dtype) > 4)
    return code_.store(type.dtype, value, base, index_of_run(runs_[0], position),
                       {.align = streaming ? lanes_ * graph::bits(type.dtype) / 8 : 0,
                        .mask = mask_,
                        .streaming = streaming});
  Value* positions = widened(index_.emit(position), lanes_);
  code_.scatter(type.dtype, value, base, positions, mask_ != nullptr ? mask_ : all_of(lanes_));
}

}  // namespace luminal::codegen
