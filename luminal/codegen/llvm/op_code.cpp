#include "luminal/codegen/llvm/op_code.h"

#include "luminal/support/check.h"

namespace luminal::codegen {

using graph::DType;
using graph::Op;
using llvm::Value;

namespace {

llvm::Constant* constant(Value* like, int64_t value) {
  return VectorBuilder::integer(like->getType(), value);
}

/// A product that is only added may go into a fused instruction.
void allow_contraction(llvm::IRBuilder<>& ir) {
  llvm::FastMathFlags flags = ir.getFastMathFlags();
  flags.setAllowContract(true);
  ir.setFastMathFlags(flags);
}

bool lacks_sign(DType dtype) { return graph::is_unsigned(dtype) || graph::is_bool(dtype); }

}  // namespace

MathAccuracy OpCode::accuracy_for(DType dtype, MathAccuracy wanted) {
  const bool coarse = dtype == DType::kBF16 || graph::bits(dtype) == 8;
  return coarse ? MathAccuracy::kBf16 : wanted;
}

Value* OpCode::elementwise(Op op, DType operand_dtype, DType dtype, llvm::ArrayRef<Value*> operands,
                           std::optional<MathAccuracy> accuracy, bool apart) {
  switch (op) {
    case Op::kCopy:
      return operands[0];
    case Op::kCast:
      return code_.cast(operand_dtype, dtype, operands[0]);
    case Op::kBitcast:
      return code_.bitcast(operand_dtype, dtype, operands[0]);
    case Op::kSelect:
      return ir_.CreateSelect(operands[0], operands[1], operands[2]);
    case Op::kLessThan:
    case Op::kEqual:
      return compare(op, operand_dtype, operands[0], operands[1]);
    default:
      break;
  }
  if (!graph::is_float(dtype))
    return wrapped(dtype, integer_op(op, dtype, operands[0], operands[1]));
  const llvm::IRBuilderBase::FastMathFlagGuard guard(ir_);
  if (!options_.round_each && !apart && (op == Op::kAdd || op == Op::kMul)) allow_contraction(ir_);
  const MathAccuracy needed =
      options_.round_each ? options_.accuracy : accuracy_for(dtype, options_.accuracy);
  VectorMath math(builder_, accuracy.value_or(needed));
  Value* result = operands.size() == 1 ? math.unary(op, operands[0])
                                       : math.binary(op, operands[0], operands[1]);
  return options_.round_each ? code_.round_to(dtype, result) : result;
}

/// Packed integers live in 8 bits and keep four of them.
Value* OpCode::wrapped(DType dtype, Value* value) {
  if (dtype == DType::kI4) return code_.cast(DType::kI8, dtype, value);
  if (dtype == DType::kU4) return code_.cast(DType::kU8, dtype, value);
  return value;
}

Value* OpCode::larger(DType dtype, Value* a, Value* b) {
  if (graph::is_float(dtype)) return builder_.maximum(a, b);
  return ir_.CreateBinaryIntrinsic(
      lacks_sign(dtype) ? llvm::Intrinsic::umax : llvm::Intrinsic::smax, a, b);
}

Value* OpCode::compare(Op op, DType dtype, Value* a, Value* b) {
  if (graph::is_float(dtype))
    return op == Op::kLessThan ? ir_.CreateFCmpOLT(a, b) : ir_.CreateFCmpOEQ(a, b);
  if (op == Op::kEqual) return ir_.CreateICmpEQ(a, b);
  return lacks_sign(dtype) ? ir_.CreateICmpULT(a, b) : ir_.CreateICmpSLT(a, b);
}

Value* OpCode::integer_op(Op op, DType dtype, Value* a, Value* b) {
  switch (op) {
    case Op::kAdd:
      return ir_.CreateAdd(a, b);
    case Op::kMul:
      return ir_.CreateMul(a, b);
    case Op::kDiv:
      return divide(lacks_sign(dtype), a, b, false);
    case Op::kMod:
      return divide(lacks_sign(dtype), a, b, true);
    case Op::kPow:
      return power(lacks_sign(dtype), a, b);
    case Op::kMax:
      return larger(dtype, a, b);
    case Op::kBitAnd:
      return ir_.CreateAnd(a, b);
    case Op::kBitOr:
      return ir_.CreateOr(a, b);
    case Op::kBitXor:
      return ir_.CreateXor(a, b);
    case Op::kShiftLeft:
    case Op::kShiftRight:
      return shift(op, dtype, a, b);
    default:
      throw InternalError(fmt::format("no code for {} of {}", name(op), dtype));
  }
}

/// x/0 is 0 and MIN/-1 is MIN; the processor would trap at both.
Value* OpCode::divide(bool is_unsigned, Value* a, Value* b, bool remainder) {
  Value* zero = constant(b, 0);
  Value* by_zero = ir_.CreateICmpEQ(b, zero);
  if (is_unsigned) {
    Value* safe = ir_.CreateSelect(by_zero, constant(b, 1), b);
    Value* result = remainder ? ir_.CreateURem(a, safe) : ir_.CreateUDiv(a, safe);
    return ir_.CreateSelect(by_zero, zero, result);
  }
  Value* by_minus_one = ir_.CreateICmpEQ(b, constant(b, -1));
  Value* safe = ir_.CreateSelect(ir_.CreateOr(by_zero, by_minus_one), constant(b, 1), b);
  Value* result = remainder ? ir_.CreateSRem(a, safe) : ir_.CreateSDiv(a, safe);
  if (!remainder) result = ir_.CreateSelect(by_minus_one, ir_.CreateNeg(a), result);
  return ir_.CreateSelect(by_zero, zero, result);
}

/// By squaring, all lanes in step: one turn per bit of the exponent.
Value* OpCode::power(bool is_unsigned, Value* base, Value* exponent) {
  const auto bits = static_cast<int64_t>(base->getType()->getScalarSizeInBits());
  const Carried result = builder_.loop(
      builder_.index(0), builder_.index(bits), builder_.index(1),
      {constant(base, 1), base, exponent}, [&](Value*, llvm::ArrayRef<Value*> now) {
        Value* set = ir_.CreateICmpNE(ir_.CreateAnd(now[2], constant(base, 1)), constant(base, 0));
        return Carried{ir_.CreateSelect(set, ir_.CreateMul(now[0], now[1]), now[0]),
                       ir_.CreateMul(now[1], now[1]), ir_.CreateLShr(now[2], constant(base, 1))};
      });
  if (is_unsigned) return result[0];
  // b^-n is 0 but for 1 and -1.
  Value* odd = ir_.CreateICmpNE(ir_.CreateAnd(exponent, constant(base, 1)), constant(base, 0));
  Value* sign = ir_.CreateSelect(odd, constant(base, -1), constant(base, 1));
  Value* inverse =
      ir_.CreateSelect(ir_.CreateICmpEQ(base, constant(base, -1)), sign, constant(base, 0));
  inverse = ir_.CreateSelect(ir_.CreateICmpEQ(base, constant(base, 1)), constant(base, 1), inverse);
  return ir_.CreateSelect(ir_.CreateICmpSLT(exponent, constant(base, 0)), inverse, result[0]);
}

Value* OpCode::shift(Op op, DType dtype, Value* value, Value* amount) {
  // Negative amounts are large unsigned ones.
  Value* inside = ir_.CreateICmpULT(amount, constant(amount, graph::bits(dtype)));
  Value* safe = ir_.CreateSelect(inside, amount, constant(amount, 0));
  if (op == Op::kShiftLeft)
    return ir_.CreateSelect(inside, ir_.CreateShl(value, safe), constant(value, 0));
  if (lacks_sign(dtype))
    return ir_.CreateSelect(inside, ir_.CreateLShr(value, safe), constant(value, 0));
  Value* sign = ir_.CreateSelect(ir_.CreateICmpSLT(value, constant(value, 0)), constant(value, -1),
                                 constant(value, 0));
  return ir_.CreateSelect(inside, ir_.CreateAShr(value, safe), sign);
}

Value* OpCode::combine(Op op, DType dtype, Value* a, Value* b) {
  if (op == Op::kReduceMax && graph::is_float(dtype)) {
    // NaN stays, but which zero it is does not matter: half the instructions of a true maximum. An
    // unordered comparison gives b.
    Value* most = ir_.CreateSelect(ir_.CreateFCmpOGT(a, b), a, b);
    return ir_.CreateSelect(ir_.CreateFCmpUNO(a, a), a, most);
  }
  if (op == Op::kReduceMax) return larger(dtype, a, b);
  const bool sum = op == Op::kSum;
  const llvm::IRBuilderBase::FastMathFlagGuard guard(ir_);
  if (!options_.round_each) allow_contraction(ir_);
  if (graph::is_float(dtype)) return sum ? ir_.CreateFAdd(a, b) : ir_.CreateFMul(a, b);
  return sum ? ir_.CreateAdd(a, b) : ir_.CreateMul(a, b);
}

llvm::Constant* OpCode::identity(Op op, DType dtype, int lanes) {
  if (op == Op::kReduceMax) return code_.number(dtype, graph::Scalar::lowest(dtype), lanes);
  return code_.number(dtype, graph::Scalar::of(dtype, op == Op::kSum ? 0 : 1), lanes);
}

Value* OpCode::horizontal(Op op, DType dtype, Value* value) {
  return builder_.horizontal(value, [&](Value* a, Value* b) { return combine(op, dtype, a, b); });
}

}  // namespace luminal::codegen
