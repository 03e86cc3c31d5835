#include "luminal/codegen/llvm/plain_maxima.h"

#include <algorithm>

#include "luminal/codegen/llvm/fused_math.h"

namespace luminal::codegen {
namespace {

using graph::Op;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;

/// Whether a node is NaN if any operand is.
bool passes_nan(const BodyNode& node) {
  if (!graph::is_float(node.dtype)) return false;
  if (node.kind == BodyKind::kReduce) return node.op == Op::kSum;
  if (node.kind != BodyKind::kOp) return false;
  switch (node.op) {
    case Op::kAdd:
    case Op::kMul:
    case Op::kDiv:
    case Op::kRecip:
    case Op::kLog:
    case Op::kLog2:
    case Op::kExp:
    case Op::kExp2:
    case Op::kSqrt:
    case Op::kCopy:
    case Op::kCast:
      return true;
    default:
      return false;
  }
}

/// What a value flows into: in any way, and such that it is NaN if the value is.
std::set<BodyId> flows_into(const Arena& arena, std::span<const BodyId> order, BodyId from,
                            bool as_nan) {
  std::set<BodyId> result{from};
  const auto reached = [&](BodyId id) { return result.contains(id); };
  for (const BodyId id : order) {
    const BodyNode& node = arena[id];
    if (std::any_of(node.children.begin(), node.children.end(), reached) &&
        (!as_nan || passes_nan(node)))
      result.insert(id);
    if (!as_nan && std::any_of(node.index_values.begin(), node.index_values.end(), reached))
      result.insert(id);
  }
  return result;
}

}  // namespace

std::set<BodyId> plain_maxima(const Arena& arena, std::span<const kernel::Root> roots) {
  std::vector<BodyId> values;
  for (const kernel::Root& root : roots) values.push_back(root.value);
  const std::vector<BodyId> order = arena.reachable(values);
  std::set<BodyId> result;
  for (const BodyId sum : order) {
    const auto maximum = maximum_of_relative_exps(arena, arena[sum]);
    if (!maximum) continue;
    const std::set<BodyId> all = flows_into(arena, order, *maximum, false);
    const std::set<BodyId> as_nan = flows_into(arena, order, sum, true);
    if (std::all_of(values.begin(), values.end(),
                    [&](BodyId value) { return !all.contains(value) || as_nan.contains(value); }))
      result.insert(*maximum);
  }
  return result;
}

}  // namespace luminal::codegen
