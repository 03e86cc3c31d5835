#include <algorithm>
#include <map>
#include <utility>

#include "luminal/codegen/llvm/body_code.h"
#include "luminal/codegen/llvm/nest_flatten.h"
#include "luminal/codegen/llvm/nest_plan.h"

namespace luminal::codegen {

using graph::DType;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using llvm::Value;
using symbolic::Expr;

/// The tests that an index needs beyond what is proved or tested already; null if none.
Value* BodyCode::in_range(std::span<const Expr> index, const graph::Shape& shape,
                          std::span<const Expr> tests) {
  const auto is_tested = [&](const Expr& test) {
    return std::find(tests.begin(), tests.end(), test) != tests.end();
  };
  Value* all = nullptr;
  for (size_t d = 0; d < index.size(); ++d) {
    const bool sound = bounds_hold(index[d]);
    const bool above = (sound && provably_ge(index[d], 0)) || is_tested(greater_equal(index[d], 0));
    const bool below = (sound && provably_less(index[d], shape[d])) ||
                       is_tested(greater_equal(shape[d] - 1, index[d])) ||
                       is_tested(logical_not(greater_equal(index[d], shape[d])));
    if (above && below) continue;
    Value* value = index_.emit(index[d]);
    // One unsigned comparison does for both ends.
    Value* extent = widened(index_.emit(shape[d]), VectorBuilder::lanes_of(value));
    all = both(all, ir_.CreateICmpULT(value, extent));
  }
  return all;
}

bool BodyCode::is_contiguous(DType dtype, const Expr& position, bool masked) const {
  if (runs_.empty() || step_ != 1 || gathers(position)) return false;
  const auto stride = stride_along(position, lane_axes_.back());
  if (!stride || !stride->stride.is_constant(1)) return false;
  if (graph::bits(dtype) > 4) return true;
  // Vectors of half bytes begin at a byte, and only their ends may be masked.
  return runs_.size() == 1 && lane_axes_.size() == 1 && !masked && divisible_by(stride->rest, 2);
}

/// How far apart the elements of neighbouring lanes are, if that is a little, or one backwards.
std::optional<int> BodyCode::short_stride(DType dtype, const Expr& position) const {
  if (runs_.size() != 1 || gathers(position)) return std::nullopt;
  const auto stride = stride_along(position, lane_axes_.back());
  const auto step = stride ? stride->stride.constant_value() : std::nullopt;
  if (!step || !code_.is_short_stride(dtype, *step * step_)) return std::nullopt;
  return static_cast<int>(*step * step_);
}

void BodyCode::prepare_loop(BodyId root, const Expr& axis) {
  prepared_.clear();
  // A load under a test has no lanes but those of the test, so it must have no other user.
  std::map<BodyId, int> users;
  std::map<BodyId, const BodyNode*> tests;
  const std::vector<BodyId> reached = arena_.reachable(std::span(&root, 1));
  ++users[root];
  for (const BodyId id : reached) {
    const BodyNode& node = arena_[id];
    for (const BodyId child : node.children) ++users[child];
    for (const BodyId child : node.index_values) ++users[child];
    if (node.kind == BodyKind::kWhere && pads_with_zeros(node)) tests[node.children[0]] = &node;
  }
  for (const BodyId id : reached) {
    if (arena_[id].kind != BodyKind::kLoad) continue;
    const auto test = tests.find(id);
    if (test == tests.end())
      prepare_load(id, {}, axis);
    else if (users[id] == 1)
      prepare_load(id, test->second->exprs, axis);
  }
}

void BodyCode::prepare_load(BodyId id, std::span<const Expr> tests, const Expr& axis) {
  const BodyNode& node = arena_[id];
  const graph::TensorType& type = arena_.tensor(node.tensor);
  const Expr position = position_of(node.exprs, type.shape);
  const auto stride = stride_along(position, axis);
  if (!depends_on_lanes(position) || !node.index_values.empty() || !stride ||
      !stride->stride.axes().empty() || graph::bits(type.dtype) == 4 ||
      !is_contiguous(type.dtype, position, true))
    return;
  const auto depends = [&](const Expr& expr) { return expr.depends_on(axis); };
  if (std::any_of(tests.begin(), tests.end(), depends)) return;
  for (size_t d = 0; d < node.exprs.size(); ++d)
    if (depends(node.exprs[d]) && !stays_in_range(node.exprs[d], type.shape[d])) return;
  Value* mask = both(mask_, both(in_range(node.exprs, type.shape, tests), conditions(tests)));
  if (mask != nullptr) mask = widened(mask, lanes_);
  PreparedLoad prepared{axis, index_.emit(stride->stride), {}, {}};
  for (const Run& run : runs_) {
    prepared.first.push_back(index_of_run(run, stride->rest));
    prepared.masks.push_back(both(run.mask, mask));
  }
  prepared_.insert_or_assign(id, std::move(prepared));
}

Value* BodyCode::load_prepared(const BodyNode& node, const PreparedLoad& prepared) {
  Value* moved = ir_.CreateMul(axes_.at(prepared.axis.axis_id()), prepared.stride);
  Value* result = nullptr;
  for (size_t r = 0; r < runs_.size(); ++r) {
    Value* part =
        code_.load(arena_.tensor(node.tensor).dtype, buffers_.at(node.tensor),
                   ir_.CreateAdd(prepared.first[r], moved), lanes_, {.mask = prepared.masks[r]});
    result = result == nullptr ? part : ir_.CreateSelect(runs_[r].mask, part, result);
  }
  return result;
}

Value* BodyCode::guarded_load(BodyId id, Value* guard, std::span<const Expr> tests) {
  const BodyNode& node = arena_[id];
  if (const auto found = prepared_.find(id); found != prepared_.end())
    return load_prepared(node, found->second);
  const graph::TensorType& type = arena_.tensor(node.tensor);
  Value* base = buffers_.at(node.tensor);
  const Expr position = position_of(node.exprs, type.shape);
  Value* inside = guard;
  if (!is_alias(node.tensor)) inside = both(in_range(node.exprs, type.shape, tests), guard);
  if (!depends_on_lanes(position) && (inside == nullptr || !inside->getType()->isVectorTy()))
    return code_.load(type.dtype, base, index_.emit(position), 1, {.mask = inside});
  Value* mask = both(mask_, inside);
  if (mask != nullptr) mask = widened(mask, lanes_);
  if (is_contiguous(type.dtype, position, inside != nullptr))
    return load_runs(type.dtype, base, position, mask);
  if (const auto stride = short_stride(type.dtype, position))
    return code_.load_strided(type.dtype, base, index_of_run(runs_[0], position), lanes_, *stride,
                              both(runs_[0].mask, mask));
  Value* positions = widened(index_.emit(position), lanes_);
  return code_.gather(type.dtype, base, positions, mask != nullptr ? mask : all_of(lanes_));
}

Value* BodyCode::load_runs(DType dtype, Value* base, const Expr& position, Value* mask) {
  Value* result = nullptr;
  for (const Run& run : runs_) {
    Value* part = code_.load(dtype, base, index_of_run(run, position), lanes_,
                             {.mask = both(run.mask, mask)});
    result = result == nullptr ? part : ir_.CreateSelect(run.mask, part, result);
  }
  return result;
}

Value* BodyCode::index_of_run(const Run& run, const Expr& expr) {
  const Run* outer = std::exchange(run_, &run);
  Value* result = index_.emit(expr);
  run_ = outer;
  return result;
}

}  // namespace luminal::codegen
