#include "luminal/codegen/llvm/index_code.h"

#include "luminal/symbolic/node.h"

namespace luminal::codegen {

using llvm::Value;
using symbolic::Expr;
using symbolic::Kind;

void IndexCode::match(Value*& a, Value*& b) {
  const int lanes = std::max(VectorBuilder::lanes_of(a), VectorBuilder::lanes_of(b));
  if (VectorBuilder::lanes_of(a) < lanes) a = builder_.splat(a, lanes);
  if (VectorBuilder::lanes_of(b) < lanes) b = builder_.splat(b, lanes);
}

Value* IndexCode::emit(const Expr& expr) {
  if (const auto number = expr.constant_value()) return builder_.index(*number);
  const symbolic::Node* node = expr.node();
  if (node->kind != Kind::kPolynomial) return emit_atom(expr);
  Value* sum = nullptr;
  const auto add = [&](Value* value) {
    if (sum == nullptr) {
      sum = value;
      return;
    }
    match(sum, value);
    sum = ir_.CreateAdd(sum, value);
  };
  for (const symbolic::Term& term : node->terms) {
    Value* product = nullptr;
    const auto multiply = [&](Value* value) {
      if (product != nullptr) {
        match(product, value);
        value = ir_.CreateMul(product, value);
      }
      product = value;
    };
    for (const symbolic::Factor& factor : term.monomial)
      for (int32_t i = 0; i < factor.power; ++i) multiply(emit(Expr(factor.atom)));
    if (term.coefficient != 1) multiply(builder_.index(term.coefficient));
    add(product);
  }
  if (node->value != 0) add(builder_.index(node->value));
  return sum;
}

Value* IndexCode::emit_atom(const Expr& atom) {
  const symbolic::Node* node = atom.node();
  const auto test = [&](bool zero) {
    Value* value = emit(node->operands[0]);
    Value* none = llvm::Constant::getNullValue(value->getType());
    return ir_.CreateZExt(zero ? ir_.CreateICmpEQ(value, none) : ir_.CreateICmpSGE(value, none),
                          value->getType());
  };
  switch (node->kind) {
    case Kind::kFloorDiv:
      return floor_div(node->operands[0], node->operands[1]);
    case Kind::kNonNegative:
      return test(false);
    case Kind::kZero:
      return test(true);
    case Kind::kMinimum: {
      Value* result = emit(node->operands[0]);
      for (size_t i = 1; i < node->operands.size(); ++i) {
        Value* other = emit(node->operands[i]);
        match(result, other);
        result = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, result, other);
      }
      return result;
    }
    default:
      return symbol_value(atom);
  }
}

Value* IndexCode::floor_div(const Expr& numerator, const Expr& divisor) {
  Value* a = emit(numerator);
  Value* b = emit(divisor);
  match(a, b);
  // Only an empty tensor divides by zero, and nobody looks at the result.
  if (divisor.bounds().lo <= 0) {
    Value* is_zero = ir_.CreateICmpEQ(b, llvm::Constant::getNullValue(b->getType()));
    b = ir_.CreateSelect(is_zero, VectorBuilder::integer(b->getType(), 1), b);
  }
  if (numerator.bounds().lo >= 0 && divisor.bounds().lo >= 0) return ir_.CreateUDiv(a, b);
  Value* zero = llvm::Constant::getNullValue(a->getType());
  Value* quotient = ir_.CreateSDiv(a, b);
  Value* rest = ir_.CreateSub(a, ir_.CreateMul(quotient, b));
  Value* apart =
      ir_.CreateAnd(ir_.CreateICmpNE(rest, zero),
                    ir_.CreateXor(ir_.CreateICmpSLT(rest, zero), ir_.CreateICmpSLT(b, zero)));
  return ir_.CreateSub(quotient, ir_.CreateZExt(apart, a->getType()));
}

}  // namespace luminal::codegen
