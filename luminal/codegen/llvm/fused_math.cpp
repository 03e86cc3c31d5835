#include "luminal/codegen/llvm/fused_math.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using graph::Op;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;

bool is_op(const BodyNode& node, Op op) { return node.kind == BodyKind::kOp && node.op == op; }

/// The operand beside a constant of this value, if there is one.
std::optional<BodyId> beside(const Arena& arena, const BodyNode& node, double value) {
  for (size_t k = 0; k < 2; ++k) {
    const BodyNode& other = arena[node.children[k]];
    if (other.kind == BodyKind::kConstant && other.constant.as_double() == value)
      return node.children[1 - k];
  }
  return std::nullopt;
}

/// A product with a constant: the other factor and the constant.
std::pair<BodyId, double> scaled(const Arena& arena, BodyId id) {
  const BodyNode& node = arena[id];
  if (is_op(node, Op::kMul))
    for (size_t k = 0; k < 2; ++k) {
      const BodyNode& other = arena[node.children[k]];
      if (other.kind == BodyKind::kConstant)
        return {node.children[1 - k], other.constant.as_double()};
    }
  return {id, 1.0};
}

/// x - the maximum of a row.
bool subtracts_maximum(const Arena& arena, const BodyNode& node) {
  if (!is_op(node, Op::kAdd) || !graph::is_float(node.dtype)) return false;
  for (const BodyId child : node.children) {
    const BodyNode& negated = arena[child];
    if (!is_op(negated, Op::kMul)) continue;
    const auto max = beside(arena, negated, -1);
    if (max && arena[*max].kind == BodyKind::kReduce && arena[*max].op == Op::kReduceMax)
      return true;
  }
  return false;
}

/// exp(x - the maximum of a row).
bool is_relative_exp(const Arena& arena, const BodyNode& node) {
  return is_op(node, Op::kExp) && node.dtype != DType::kF64 &&
         subtracts_maximum(arena, arena[node.children[0]]);
}

}  // namespace

llvm::Value* fused_operation(const Arena& arena, const BodyNode& node, VectorMath& math,
                             llvm::function_ref<llvm::Value*(BodyId)> value_of) {
  if (is_relative_exp(arena, node)) return math.exp_of_difference(value_of(node.children[0]));
  if (subtracts_maximum(arena, node))
    return math.rounded_sum(value_of(node.children[0]), value_of(node.children[1]));
  if (!is_op(node, Op::kAdd) || !graph::is_float(node.dtype) || node.dtype == DType::kF64)
    return nullptr;
  const auto gate = beside(arena, node, 1);
  if (!gate) return nullptr;
  const BodyNode& function = arena[*gate];
  if (is_op(function, Op::kTanh)) {
    const auto [x, factor] = scaled(arena, function.children[0]);
    return math.one_plus_tanh(value_of(x), factor);
  }
  return is_op(function, Op::kErf) ? math.one_plus_erf(value_of(function.children[0])) : nullptr;
}

}  // namespace luminal::codegen
