#include "luminal/codegen/llvm/few_digits.h"

#include <algorithm>

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

/// Whether a value is never below 0; NaN does not count.
bool is_nonnegative(const Arena& arena, BodyId id) {
  const BodyNode& node = arena[id];
  if (node.kind == BodyKind::kConstant) return node.constant.as_double() >= 0;
  if (node.kind != BodyKind::kOp && node.kind != BodyKind::kReduce) return false;
  switch (node.op) {
    case Op::kExp:
    case Op::kExp2:
    case Op::kSqrt:
      return true;
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
    case Op::kCast:
    case Op::kSelect:
    case Op::kReduceMax:
      return true;
    case Op::kAdd:
    case Op::kSum:
      return std::all_of(node.children.begin(), node.children.end(),
                         [&](BodyId child) { return is_nonnegative(arena, child); });
    default:
      return false;
  }
}

}  // namespace

std::set<BodyId> values_of_few_digits(const Arena& arena, std::span<const kernel::Root> roots) {
  std::vector<BodyId> values;
  std::set<BodyId> seen_in_full;  // by somebody
  for (const kernel::Root& root : roots) {
    values.push_back(root.value);
    if (!has_few_digits(arena.tensor(root.tensor).dtype)) seen_in_full.insert(root.value);
  }
  const std::vector<BodyId> order = arena.reachable(values);
  std::set<BodyId> result;
  for (size_t k = order.size(); k-- > 0;) {
    const BodyNode& node = arena[order[k]];
    const bool few = !seen_in_full.contains(order[k]);
    if (few && graph::is_float(node.dtype)) result.insert(order[k]);
    seen_in_full.insert(node.index_values.begin(), node.index_values.end());
    const bool passes =
        has_few_digits(node.dtype) ? node.op == Op::kCast : few && keeps_digits(arena, node);
    if (!passes) seen_in_full.insert(node.children.begin(), node.children.end());
  }
  return result;
}

}  // namespace luminal::codegen
