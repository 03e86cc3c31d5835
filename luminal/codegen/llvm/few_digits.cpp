#include "luminal/codegen/llvm/few_digits.h"

#include <algorithm>

#include "luminal/codegen/llvm/fused_math.h"
#include "luminal/kernel/compared_sums.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using graph::Op;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;

bool has_few_digits(DType dtype) {
  return dtype == DType::kBF16 || (graph::is_float(dtype) && graph::bits(dtype) == 8);
}

/// What a value is computed of: |x| of x alone, without the comparisons that it is written with.
std::vector<BodyId> operands_of(const Arena& arena, const BodyNode& node) {
  if (const auto x = absolute_of(arena, node)) return {*x};
  return node.children;
}

/// What the values of roots are computed of, each after all that uses it.
std::vector<BodyId> users_first(const Arena& arena, std::span<const kernel::Root> roots) {
  std::vector<BodyId> values;
  for (const kernel::Root& root : roots) values.push_back(root.value);
  std::vector<BodyId> order = arena.reachable(values);
  std::reverse(order.begin(), order.end());
  std::set<BodyId> used(values.begin(), values.end());
  for (const BodyId id : order) {
    if (!used.contains(id)) continue;
    const std::vector<BodyId> operands = operands_of(arena, arena[id]);
    used.insert(operands.begin(), operands.end());
    used.insert(arena[id].index_values.begin(), arena[id].index_values.end());
  }
  std::erase_if(order, [&](BodyId id) { return !used.contains(id); });
  return order;
}

/// Whether a value is never below 0; NaN does not count.
bool is_nonnegative(const Arena& arena, BodyId id) {
  const BodyNode& node = arena[id];
  if (absolute_of(arena, node)) return true;
  if (node.kind == BodyKind::kConstant) return node.constant.as_double() >= 0;
  if (node.kind != BodyKind::kOp && node.kind != BodyKind::kReduce) return false;
  switch (node.op) {
    case Op::kExp:
    case Op::kExp2:
    case Op::kSqrt:
      return true;
    case Op::kLog:
      return is_sum_of_relative_exps(arena, arena[node.children[0]]);
    case Op::kMul:
      if (node.children[0] == node.children[1]) return true;
      [[fallthrough]];
    case Op::kAdd:
    case Op::kDiv:
    case Op::kRecip:
    case Op::kCast:
    case Op::kSum:
    case Op::kReduceMax:
      return std::all_of(node.children.begin(), node.children.end(),
                         [&](BodyId child) { return is_nonnegative(arena, child); });
    default:
      return false;
  }
}

/// Whether a value is never above 0; NaN does not count.
bool is_nonpositive(const Arena& arena, BodyId id) {
  const BodyNode& node = arena[id];
  if (subtracts_own_maximum(arena, node)) return true;
  if (node.kind != BodyKind::kOp || node.op != Op::kMul) return false;
  for (size_t k = 0; k < 2; ++k) {
    const BodyNode& factor = arena[node.children[k]];
    if (factor.kind == BodyKind::kConstant && factor.constant.as_double() <= 0)
      return is_nonnegative(arena, node.children[1 - k]);
  }
  return false;
}

/// Whether terms have one sign.
bool have_one_sign(const Arena& arena, std::span<const BodyId> terms) {
  return std::all_of(terms.begin(), terms.end(),
                     [&](BodyId term) { return is_nonnegative(arena, term); }) ||
         std::all_of(terms.begin(), terms.end(),
                     [&](BodyId term) { return is_nonpositive(arena, term); });
}

/// Whether a relative error of an operand becomes one of the result that is no larger.
bool keeps_digits(const Arena& arena, const BodyNode& node) {
  if (node.kind == BodyKind::kWhere) return true;
  if (node.kind != BodyKind::kOp && node.kind != BodyKind::kReduce) return false;
  switch (node.op) {
    case Op::kMul:
    case Op::kDiv:
    case Op::kRecip:
    case Op::kSqrt:
    case Op::kCopy:
    case Op::kSelect:
    case Op::kReduceMax:
      return true;
    case Op::kCast:
      return !kernel::may_jump(node.op, node.dtype);
    case Op::kAdd:
    case Op::kSum:
      return have_one_sign(arena, node.children);
    case Op::kLog:
      // One of the terms is 1 without any error, so that log(1 + r) has no larger one than r.
      return is_sum_of_relative_exps(arena, arena[node.children[0]]);
    default:
      return false;
  }
}

}  // namespace

std::set<BodyId> values_compared(const Arena& arena, std::span<const kernel::Root> roots,
                                 std::span<const BodyId> maxima_of) {
  std::set<BodyId> result;
  for (const BodyId id : maxima_of)
    if (graph::is_float(arena[id].dtype)) result.insert(id);
  for (const BodyId id : users_first(arena, roots)) {
    const BodyNode& node = arena[id];
    const bool is_reduction = node.kind == BodyKind::kReduce;
    const bool compares =
        is_reduction ? node.op == Op::kReduceMax
                     : node.kind == BodyKind::kOp && (kernel::may_jump(node.op, node.dtype) ||
                                                      subtracts_extreme(arena, node));
    if (!compares && (is_reduction || !result.contains(id))) continue;
    for (const BodyId child : operands_of(arena, node))
      if (graph::is_float(arena[child].dtype)) result.insert(child);
  }
  return result;
}

std::set<BodyId> summed_products(const Arena& arena, std::span<const kernel::Root> roots) {
  std::vector<BodyId> values;
  for (const kernel::Root& root : roots) values.push_back(root.value);
  std::set<BodyId> result;
  for (const BodyId id : arena.reachable(values)) {
    const BodyNode& node = arena[id];
    if (node.kind != BodyKind::kReduce || node.op != Op::kSum) continue;
    BodyId term = node.children[0];
    while (arena[term].kind == BodyKind::kOp && arena[term].op == Op::kCast)
      term = arena[term].children[0];
    if (arena[term].kind == BodyKind::kOp && arena[term].op == Op::kMul) result.insert(term);
  }
  return result;
}

std::set<BodyId> values_of_few_digits(const Arena& arena, std::span<const kernel::Root> roots) {
  for (const kernel::Root& root : roots)
    // One kept row may serve two nodes that differ in their axes only, one of which is seen in
    // full.
    if (!has_few_digits(arena.tensor(root.tensor).dtype)) return {};
  std::set<BodyId> seen_in_full;  // by somebody
  std::set<BodyId> result;
  for (const BodyId id : users_first(arena, roots)) {
    const BodyNode& node = arena[id];
    const bool few = !seen_in_full.contains(id);
    if (few && graph::is_float(node.dtype)) result.insert(id);
    seen_in_full.insert(node.index_values.begin(), node.index_values.end());
    const bool passes =
        has_few_digits(node.dtype) ? node.op == Op::kCast : few && keeps_digits(arena, node);
    const std::vector<BodyId> operands = operands_of(arena, node);
    if (!passes) seen_in_full.insert(operands.begin(), operands.end());
  }
  return result;
}

}  // namespace luminal::codegen
