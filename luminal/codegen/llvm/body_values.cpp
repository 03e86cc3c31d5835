#include "luminal/codegen/llvm/body_values.h"

#include <algorithm>

#include "luminal/codegen/llvm/fused_math.h"
#include "luminal/kernel/compared_sums.h"
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

namespace {

/// Whether a float may be larger than its operands.
bool may_leave_range(Op op) {
  switch (op) {
    case Op::kRecip:
    case Op::kExp:
    case Op::kExp2:
    case Op::kLog:
    case Op::kLog2:
    case Op::kAdd:
    case Op::kMul:
    case Op::kDiv:
    case Op::kPow:
      return true;
    default:
      return false;
  }
}

}  // namespace

BodyValues::BodyValues(VectorBuilder& builder, const kernel::Arena& arena,
                       const OpCode::Options& options)
    : builder_(builder),
      ir_(builder.ir()),
      arena_(arena),
      code_(builder),
      ops_(builder, code_, options),
      index_(builder),
      known_(1),
      op_options_(options) {
  index_.symbol_value = [this](const Expr& expr) { return symbol(expr); };
}

Value* BodyValues::widened(Value* value, int lanes) {
  return VectorBuilder::lanes_of(value) == lanes ? value : builder_.splat(value, lanes);
}

Value* BodyValues::all_of(int lanes) {
  return llvm::Constant::getAllOnesValue(VectorBuilder::vector(ir_.getInt1Ty(), lanes));
}

Value* BodyValues::both(Value* a, Value* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  const int lanes = std::max(VectorBuilder::lanes_of(a), VectorBuilder::lanes_of(b));
  return ir_.CreateAnd(widened(a, lanes), widened(b, lanes));
}

Value* BodyValues::known_value(BodyId id) const {
  for (size_t i = known_.size(); i-- > 0;) {
    const auto found = known_[i].find(id);
    if (found != known_[i].end()) return found->second;
  }
  return nullptr;
}

Value* BodyValues::value_of(BodyId id) {
  if (Value* value = known_value(id)) return value;
  Value* value = compute(id);
  known_.back().emplace(id, value);
  return value;
}

Value* BodyValues::compute(BodyId id) {
  if (Value* value = held(id)) return value;
  const BodyNode& node = arena_[id];
  switch (node.kind) {
    case BodyKind::kLoad:
      return load(id);
    case BodyKind::kConstant:
      return code_.number(node.dtype, node.constant, 1);
    case BodyKind::kIota:
      return code_.cast(DType::kI64, node.dtype, index_.emit(node.exprs[0]));
    case BodyKind::kOp:
      return operation(id);
    case BodyKind::kWhere:
      return where(node);
    case BodyKind::kReduce:
      break;
  }
  throw InternalError("a reduction is neither accumulated nor given");
}

MathAccuracy BodyValues::accuracy_of(BodyId id) const {
  if (op_options_.round_each) return op_options_.accuracy;
  return OpCode::accuracy_for(arena_[id].dtype, op_options_.accuracy);
}

/// A value as the graph has it. Maxima, which are rounded where they end, and the elements that
/// they were found among are then equal whichever was rounded first, since rounding keeps the
/// order.
Value* BodyValues::rounded(BodyId id, Value* value) {
  const BodyNode& node = arena_[id];
  const bool is_exact = node.kind == BodyKind::kLoad || node.kind == BodyKind::kConstant ||
                        node.kind == BodyKind::kIota ||
                        (node.kind == BodyKind::kOp && node.op == Op::kCast);
  return is_exact || !graph::is_float(node.dtype) ? value : code_.round_to(node.dtype, value);
}

Value* BodyValues::operation(BodyId id) {
  const BodyNode& node = arena_[id];
  // What is compared is rounded as often as the graph says: of two values that differ in digits
  // which the graph has lost, the other one might be the larger, and a value less the largest one,
  // which is rounded, would not be 0.
  const bool as_written = !op_options_.round_each && is_compared(id);
  if (!op_options_.round_each && !(as_written && graph::bits(node.dtype) < 32)) {
    VectorMath math(builder_, accuracy_of(id));
    if (Value* fused =
            fused_operation(arena_, node, math, [&](BodyId child) { return value_of(child); }))
      return bounded(id, fused);
  }
  llvm::SmallVector<Value*, 3> operands;
  int lanes = 1;
  for (const BodyId child : node.children) {
    operands.push_back(value_of(child));
    lanes = std::max(lanes, VectorBuilder::lanes_of(operands.back()));
  }
  if (!op_options_.round_each && kernel::may_jump(node.op, node.dtype))
    for (size_t k = 0; k < operands.size(); ++k)
      operands[k] = rounded(node.children[k], operands[k]);
  for (Value*& operand : operands) operand = widened(operand, lanes);
  // Comparisons take the dtype of what they compare, selects that of what they choose.
  const BodyId typed = node.op == Op::kSelect ? node.children[1] : node.children[0];
  Value* result = ops_.elementwise(node.op, arena_[typed].dtype, node.dtype, operands,
                                   accuracy_of(id), is_compared(id));
  return as_written ? rounded(id, result) : bounded(id, result);
}

Value* BodyValues::bounded(BodyId id, Value* value) {
  const BodyNode& node = arena_[id];
  const bool may_leave = !op_options_.round_each && may_leave_range(node.op) && is_bounded(id);
  return may_leave ? code_.bounded(node.dtype, value) : value;
}

/// Plain comparisons are one instruction, where a number made of them and compared again would be
/// several.
Value* BodyValues::condition(const Expr& test) {
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

Value* BodyValues::conditions(std::span<const Expr> tests) {
  Value* all = nullptr;
  for (const Expr& test : tests) all = both(all, condition(test));
  return all;
}

Value* BodyValues::where(const BodyNode& node) { return chosen(conditions(node.exprs), node); }

/// Both sides are computed: loads are safe wherever they point.
Value* BodyValues::chosen(Value* holds, const BodyNode& node) {
  Value* then = value_of(node.children[0]);
  Value* otherwise = value_of(node.children[1]);
  const int lanes = std::max({VectorBuilder::lanes_of(holds), VectorBuilder::lanes_of(then),
                              VectorBuilder::lanes_of(otherwise)});
  return ir_.CreateSelect(widened(holds, lanes), widened(then, lanes), widened(otherwise, lanes));
}

Value* BodyValues::index_from_data(const Expr& axis) {
  const BodyId body = kernel::body_of_value(axis);
  Value* index = code_.cast(arena_[body].dtype, DType::kI64, value_of(body));
  Value* last = ir_.CreateSub(index_.emit(axis.axis_extent()), builder_.index(1));
  last = widened(last, VectorBuilder::lanes_of(index));
  index = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, index, last);
  return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, index,
                                   llvm::Constant::getNullValue(index->getType()));
}

}  // namespace luminal::codegen
