#include "luminal/codegen/llvm/vector_math.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <limits>
#include <string>

#include "luminal/support/check.h"

namespace luminal::codegen {

using llvm::Value;

Value* VectorMath::number(Value* like, double value) {
  return VectorBuilder::number(like->getType(), value);
}

Value* VectorMath::polynomial(Value* x, std::span<const double> coefficients) {
  Value* result = number(x, coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;)
    result = builder_.mul_add(result, x, number(x, coefficients[i]));
  return result;
}

Value* VectorMath::bits(Value* x) {
  llvm::Type* type = x->getType();
  llvm::Type* integer = ir_.getIntNTy(type->getScalarSizeInBits());
  return ir_.CreateBitCast(x, VectorBuilder::vector(integer, VectorBuilder::lanes_of(x)));
}

Value* VectorMath::from_bits(Value* x) {
  llvm::Type* element = x->getType()->getScalarSizeInBits() == 32 ? builder_.f32() : builder_.f64();
  return ir_.CreateBitCast(x, VectorBuilder::vector(element, VectorBuilder::lanes_of(x)));
}

Value* VectorMath::absolute(Value* x) { return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }

Value* VectorMath::with_sign_of(Value* magnitude, Value* sign) {
  return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

/// NaN stays NaN: both comparisons are false then.
Value* VectorMath::clamp(Value* x, double low, double high) {
  Value* upper = ir_.CreateSelect(ir_.CreateFCmpOGT(x, number(x, high)), number(x, high), x);
  return ir_.CreateSelect(ir_.CreateFCmpOLT(upper, number(x, low)), number(x, low), upper);
}

/// The nearest integer of |x| < 2^22, as a float and as an integer, by adding a number whose unit
/// is 1. Unlike a conversion it has some value for NaN too.
Value* VectorMath::nearest(Value* x, Value** as_integer) {
  const bool wide = x->getType()->getScalarSizeInBits() == 64;
  Value* magic = number(x, wide ? 6755399441055744.0 : 12582912.0);
  Value* shifted = ir_.CreateFAdd(x, magic);
  if (as_integer != nullptr) *as_integer = ir_.CreateSub(bits(shifted), bits(magic));
  return ir_.CreateFSub(shifted, magic);
}

/// x * 2^n for x near 1 and |n| below 300, n an integral float, in one rounding.
Value* VectorMath::scale_by_power(Value* x, Value* exponent) {
  if (has_wide_floats(x)) {
    constexpr int kLanes = 16;
    // Lanes that are left out are 0 at once.
    constexpr double kLeastPower = -150;
    Carried parts;
    for (int first = 0; first < VectorBuilder::lanes_of(x); first += kLanes) {
      Value* part = builder_.part(x, first, kLanes);
      Value* power = builder_.part(exponent, first, kLanes);
      Value* lanes = ir_.getInt16(0xffff);
      if (builder_.target().slow_underflow())
        lanes = ir_.CreateBitCast(ir_.CreateFCmpUGE(power, number(power, kLeastPower)),
                                  ir_.getInt16Ty());
      parts.push_back(
          builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {},
                                  {part, power, number(part, 0), lanes, ir_.getInt32(4)}));
    }
    return builder_.join(parts);
  }
  // In two steps, because 2^n itself may be no f32: the first is exact.
  Value* n = nullptr;
  nearest(exponent, &n);
  Value* half = ir_.CreateAShr(n, VectorBuilder::integer(n->getType(), 1));
  Value* rest = ir_.CreateSub(n, half);
  const auto power_of_two = [&](Value* e) {
    Value* biased = ir_.CreateAdd(e, VectorBuilder::integer(e->getType(), 127));
    return from_bits(ir_.CreateShl(biased, VectorBuilder::integer(e->getType(), 23)));
  };
  return ir_.CreateFMul(ir_.CreateFMul(x, power_of_two(half)), power_of_two(rest));
}

bool VectorMath::has_wide_floats(Value* x) const {
  return VectorBuilder::lanes_of(x) % 16 == 0 &&
         builder_.target().has(runtime::CpuFeature::kAvx512f);
}

/// A function of vectors of 16 floats, on longer ones.
Value* VectorMath::in_parts(Value* x, llvm::function_ref<Value*(Value* part)> code) {
  constexpr int kLanes = 16;
  Carried parts;
  for (int first = 0; first < VectorBuilder::lanes_of(x); first += kLanes)
    parts.push_back(code(builder_.part(x, first, kLanes)));
  return builder_.join(parts);
}

/// 1/x inside of functions; few digits come from an instruction that is three times as fast as
/// dividing: 2^-14.
Value* VectorMath::reciprocal(Value* x) {
  if (accuracy_ == MathAccuracy::kFull || !has_wide_floats(x))
    return ir_.CreateFDiv(number(x, 1), x);
  return in_parts(x, [&](Value* part) {
    return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_rcp14_ps_512, {},
                                   {part, number(part, 0), ir_.getInt16(0xffff)});
  });
}

Value* VectorMath::rounded_sum(Value* a, Value* b) {
  const int lanes = std::max(VectorBuilder::lanes_of(a), VectorBuilder::lanes_of(b));
  if (VectorBuilder::lanes_of(a) < lanes) a = builder_.splat(a, lanes);
  if (VectorBuilder::lanes_of(b) < lanes) b = builder_.splat(b, lanes);
  return ir_.CreateFAdd(a, b);
}

/// For few digits the two estimates of the processor, 2^-13 together, take a fifth of the time of
/// the root. 0 and infinity become each other twice.
Value* VectorMath::root(Value* x) {
  if (accuracy_ == MathAccuracy::kFull || !has_wide_floats(x) || calls_library(x))
    return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
  return reciprocal(in_parts(x, [&](Value* part) {
    return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_rsqrt14_ps_512, {},
                                   {part, number(part, 0), ir_.getInt16(0xffff)});
  }));
}

Value* VectorMath::odd_cubic(Value* x, double linear, double cubic) {
  Value* square = ir_.CreateFMul(x, x);
  return ir_.CreateFMul(x, builder_.mul_add(square, number(x, cubic), number(x, linear)));
}

/// One division for all lanes; where more digits count the error of the product is taken off.
Value* VectorMath::over_row_sum(Value* x, Value* sum) {
  const int lanes = VectorBuilder::lanes_of(x);
  const auto spread = [&](Value* value) {
    return VectorBuilder::lanes_of(value) == lanes ? value : builder_.splat(value, lanes);
  };
  Value* inverse = spread(ir_.CreateFDiv(number(sum, 1), sum));
  Value* quotient = ir_.CreateFMul(x, inverse);
  if (accuracy_ == MathAccuracy::kBf16) return quotient;
  Value* rest = builder_.mul_add(ir_.CreateFNeg(quotient), spread(sum), x);
  return builder_.mul_add(rest, inverse, quotient);
}

bool VectorMath::calls_library(Value* x) const {
  return x->getType()->getScalarType()->isDoubleTy() || !builder_.target().has_fma();
}

/// A call of the double function of that name for every lane, in a function of its own so that the
/// loop does not disturb the code around it.
Value* VectorMath::library(const char* function, llvm::ArrayRef<Value*> arguments) {
  llvm::Type* type = arguments[0]->getType();
  llvm::Type* element = type->getScalarType();
  const int lanes = VectorBuilder::lanes_of(arguments[0]);
  const std::string name = std::string("each_") + function +
                           (element->isDoubleTy() ? ".f64." : ".f32.") + std::to_string(lanes);
  llvm::Function* each = builder_.module().getFunction(name);
  if (each == nullptr) {
    const llvm::IRBuilderBase::InsertPointGuard guard(ir_);
    const llvm::SmallVector<llvm::Type*, 2> types(arguments.size(), type);
    each = builder_.begin_function(name, type, types);
    each->addFnAttr(llvm::Attribute::NoInline);
    each->addFnAttr(llvm::Attribute::Cold);
    llvm::SmallVector<Value*, 2> slots;
    for (llvm::Argument& argument : each->args()) {
      slots.push_back(builder_.stack(type, 64));
      builder_.store(&argument, slots.back());
    }
    const llvm::SmallVector<llvm::Type*, 2> doubles(arguments.size(), builder_.f64());
    auto* signature = llvm::FunctionType::get(builder_.f64(), doubles, false);
    const llvm::FunctionCallee callee = builder_.module().getOrInsertFunction(function, signature);
    const int64_t bytes = element->isDoubleTy() ? 8 : 4;
    builder_.loop(builder_.index(0), builder_.index(lanes * bytes), builder_.index(bytes),
                  [&](Value* at) {
                    llvm::SmallVector<Value*, 2> values;
                    for (Value* slot : slots)
                      values.push_back(ir_.CreateFPCast(
                          builder_.load(element, builder_.offset(slot, at)), builder_.f64()));
                    Value* result = ir_.CreateFPCast(ir_.CreateCall(callee, values), element);
                    builder_.store(result, builder_.offset(slots[0], at));
                  });
    ir_.CreateRet(builder_.load(type, slots[0]));
  }
  return ir_.CreateCall(each, arguments);
}

Value* VectorMath::unary(graph::Op op, Value* x) {
  switch (op) {
    case graph::Op::kRecip:
      return ir_.CreateFDiv(number(x, 1), x);
    case graph::Op::kSqrt:
      return root(x);
    case graph::Op::kExp:
      return exp(x);
    case graph::Op::kExp2:
      return exp2(x);
    case graph::Op::kLog:
      return log(x);
    case graph::Op::kLog2:
      return log2(x);
    case graph::Op::kSin:
      return sin(x);
    case graph::Op::kCos:
      return cos(x);
    case graph::Op::kTanh:
      return tanh(x);
    case graph::Op::kErf:
      return erf(x);
    case graph::Op::kAtan:
      return atan(x);
    case graph::Op::kFloor:
      return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, x);
    case graph::Op::kRound:
      return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::nearbyint, x);
    default:
      throw InternalError(fmt::format("no vector code for the unary op {}", name(op)));
  }
}

Value* VectorMath::binary(graph::Op op, Value* x, Value* y) {
  switch (op) {
    case graph::Op::kAdd:
      return ir_.CreateFAdd(x, y);
    case graph::Op::kMul:
      return ir_.CreateFMul(x, y);
    case graph::Op::kDiv:
      return ir_.CreateFDiv(x, y);
    case graph::Op::kMod:
      return library("fmod", {x, y});
    case graph::Op::kPow:
      return pow(x, y);
    case graph::Op::kMax:
      return builder_.maximum(x, y);
    default:
      throw InternalError(fmt::format("no vector code for the binary op {}", name(op)));
  }
}

}  // namespace luminal::codegen
