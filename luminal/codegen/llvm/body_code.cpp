#include "luminal/codegen/llvm/body_code.h"

#include <algorithm>

#include "luminal/codegen/llvm/fused_math.h"
#include "luminal/codegen/llvm/nest_plan.h"
#include "luminal/support/check.h"
#include "luminal/symbolic/node.h"

namespace luminal::codegen {

using graph::DType;
using graph::Op;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using llvm::Value;
using symbolic::Expr;

BodyCode::BodyCode(VectorBuilder& builder, const kernel::Arena& arena,
                   const OpCode::Options& options)
    : builder_(builder),
      ir_(builder.ir()),
      arena_(arena),
      options_(options),
      code_(builder),
      ops_(builder, code_, options),
      index_(builder),
      known_(1) {
  index_.symbol_value = [this](const Expr& expr) { return symbol(expr); };
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
  lane_axes_.clear();
  lane_positions_.clear();
  runs_.clear();
  mask_ = nullptr;
}

void BodyCode::spread(const Expr& axis, Value* first, int lanes, Value* mask) {
  gather_up();
  lanes_ = lanes;
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

Value* BodyCode::widened(Value* value, int lanes) {
  return VectorBuilder::lanes_of(value) == lanes ? value : builder_.splat(value, lanes);
}

Value* BodyCode::all_lanes() {
  return llvm::Constant::getAllOnesValue(VectorBuilder::vector(ir_.getInt1Ty(), lanes_));
}

/// Two masks, either of which may be missing or one bit for all lanes.
Value* BodyCode::both(Value* a, Value* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  const int lanes = std::max(VectorBuilder::lanes_of(a), VectorBuilder::lanes_of(b));
  return ir_.CreateAnd(widened(a, lanes), widened(b, lanes));
}

Value* BodyCode::value(BodyId id) {
  for (size_t i = known_.size(); i-- > 0;) {
    const auto found = known_[i].find(id);
    if (found != known_[i].end()) return found->second;
  }
  Value* result = compute(id);
  known_.back().emplace(id, result);
  return result;
}

Value* BodyCode::wide_value(BodyId id) { return widened(value(id), lanes_); }

Value* BodyCode::compute(BodyId id) {
  const BodyNode& node = arena_[id];
  switch (node.kind) {
    case BodyKind::kLoad:
      return load(id, nullptr);
    case BodyKind::kConstant:
      return code_.number(node.dtype, node.constant, 1);
    case BodyKind::kIota:
      return code_.cast(DType::kI64, node.dtype, index_.emit(node.exprs[0]));
    case BodyKind::kOp:
      return operation(node);
    case BodyKind::kWhere:
      return where(node);
    case BodyKind::kReduce:
      break;
  }
  throw InternalError("a reduction was not given");
}

Value* BodyCode::operation(const BodyNode& node) {
  if (!options_.round_each) {
    VectorMath math(builder_, OpCode::accuracy_for(node.dtype, options_.accuracy));
    if (Value* fused = fused_operation(arena_, node, math, [&](BodyId id) { return value(id); }))
      return fused;
  }
  llvm::SmallVector<Value*, 3> operands;
  int lanes = 1;
  for (const BodyId child : node.children) {
    operands.push_back(value(child));
    lanes = std::max(lanes, VectorBuilder::lanes_of(operands.back()));
  }
  for (Value*& operand : operands) operand = widened(operand, lanes);
  // Comparisons take the dtype of what they compare, selects that of what they choose.
  const BodyId typed = node.op == Op::kSelect ? node.children[1] : node.children[0];
  return ops_.elementwise(node.op, arena_[typed].dtype, node.dtype, operands);
}

/// One bit per lane. Plain comparisons are one instruction, where a number made of them and
/// compared again would be several.
Value* BodyCode::condition(const Expr& test) {
  const bool negated = !symbolic::is_test(test.node());
  const Expr atom = negated ? symbolic::logical_not(test) : test;
  const bool plain = symbolic::is_test(atom.node());
  Value* value = index_.emit(plain ? atom.node()->operands[0] : test);
  Value* zero = llvm::Constant::getNullValue(value->getType());
  if (!plain) return ir_.CreateICmpNE(value, zero);
  if (atom.node()->kind == symbolic::Kind::kZero)
    return negated ? ir_.CreateICmpNE(value, zero) : ir_.CreateICmpEQ(value, zero);
  return negated ? ir_.CreateICmpSLT(value, zero) : ir_.CreateICmpSGE(value, zero);
}

Value* BodyCode::conditions(std::span<const Expr> tests) {
  Value* all = nullptr;
  for (const Expr& test : tests) all = both(all, condition(test));
  return all;
}

/// Padding with zeros is what a masked load does by itself.
bool BodyCode::pads_with_zeros(const BodyNode& where) const {
  const BodyNode& outside = arena_[where.children[1]];
  return arena_[where.children[0]].kind == BodyKind::kLoad && outside.kind == BodyKind::kConstant &&
         outside.constant == graph::Scalar::of(outside.dtype, 0);
}

/// Both sides are computed: loads are safe wherever they point.
Value* BodyCode::where(const BodyNode& node) {
  if (prepared_.contains(node.children[0])) return load(node.children[0], nullptr);
  Value* holds = conditions(node.exprs);
  if (pads_with_zeros(node)) return load(node.children[0], holds, node.exprs);
  Value* then = value(node.children[0]);
  Value* otherwise = value(node.children[1]);
  const int lanes = std::max({VectorBuilder::lanes_of(holds), VectorBuilder::lanes_of(then),
                              VectorBuilder::lanes_of(otherwise)});
  return ir_.CreateSelect(widened(holds, lanes), widened(then, lanes), widened(otherwise, lanes));
}

/// The positions of an axis that runs along the lanes, one per lane.
Value* BodyCode::lane_positions(const Expr& axis) {
  const auto found = lane_positions_.find(axis.axis_id());
  if (found != lane_positions_.end()) return found->second;
  Value* result = nullptr;
  for (const Run& run : runs_) {
    Value* positions = builder_.splat(run.first.at(axis.axis_id()), lanes_);
    if (axis == lane_axes_.back())
      positions = ir_.CreateAdd(positions, builder_.iota(builder_.i64(), lanes_));
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
  const BodyId body = kernel::body_of_value(expr);
  const Run* outer = std::exchange(run_, nullptr);
  Value* index = code_.cast(arena_[body].dtype, DType::kI64, value(body));
  run_ = outer;
  // Indices are data: whatever they are, no load may leave its tensor.
  Value* last = ir_.CreateSub(index_.emit(expr.axis_extent()), builder_.index(1));
  last = widened(last, VectorBuilder::lanes_of(index));
  index = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, index, last);
  return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, index,
                                   llvm::Constant::getNullValue(index->getType()));
}

void BodyCode::store(const kernel::Root& root, Value* value, bool streaming) {
  const graph::TensorType& type = arena_.tensor(root.tensor);
  Value* base = buffers_.at(root.tensor);
  const Expr position = position_of(root.store, type.shape);
  if (lanes_ == 1) return code_.store(type.dtype, value, base, index_.emit(position));
  value = widened(value, lanes_);
  const auto stride = runs_.size() == 1 ? stride_along(position, lane_axes_.back()) : std::nullopt;
  if (stride && stride->stride.is_constant(1) && graph::bits(type.dtype) > 4)
    return code_.store(type.dtype, value, base, index_of_run(runs_[0], position),
                       {.align = streaming ? lanes_ * graph::bits(type.dtype) / 8 : 0,
                        .mask = mask_,
                        .streaming = streaming});
  Value* positions = widened(index_.emit(position), lanes_);
  code_.scatter(type.dtype, value, base, positions, mask_ != nullptr ? mask_ : all_lanes());
}

}  // namespace luminal::codegen
