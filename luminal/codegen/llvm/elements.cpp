#include "luminal/codegen/llvm/elements.h"

#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "luminal/support/check.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using llvm::Value;

/// The layout of a narrow float, as graph/narrow_float.h has it.
struct Format {
  int exponent_bits;
  int mantissa_bits;
  bool has_infinity;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int64_t sign_bit() const { return int64_t{1} << (exponent_bits + mantissa_bits); }
  int64_t top_exponent() const { return ((int64_t{1} << exponent_bits) - 1) << mantissa_bits; }
  int64_t nan() const {
    return has_infinity ? top_exponent() | int64_t{1} << (mantissa_bits - 1) : sign_bit() - 1;
  }
  int64_t largest() const { return (has_infinity ? top_exponent() : nan()) - 1; }
  int64_t overflow() const { return has_infinity ? top_exponent() : largest(); }
};

Format format_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return {5, 10, true};
    case DType::kBF16:
      return {8, 7, true};
    case DType::kF8E4M3:
      return {4, 3, false};
    case DType::kF8E5M2:
      return {5, 2, true};
    default:
      throw InternalError(fmt::format("{} is no narrow float", dtype));
  }
}

bool is_narrow_float(DType dtype) { return graph::is_float(dtype) && graph::bits(dtype) < 32; }
bool is_packed(DType dtype) { return graph::bits(dtype) == 4; }

/// The vector type with the lanes of a value and another element.
llvm::Type* type_like(Value* value, llvm::Type* element) {
  return VectorBuilder::vector(element, VectorBuilder::lanes_of(value));
}

}  // namespace

Value* ElementCode::constant(Value* like, int64_t value) {
  return VectorBuilder::integer(like->getType(), value);
}

llvm::Type* ElementCode::memory_element(DType dtype) {
  if (dtype == DType::kF64) return builder_.f64();
  if (dtype == DType::kF32) return builder_.f32();
  return ir_.getIntNTy(static_cast<unsigned>(std::max(8, graph::bits(dtype))));
}

llvm::Type* ElementCode::register_type(DType dtype, int lanes) {
  if (graph::is_bool(dtype)) return VectorBuilder::vector(ir_.getInt1Ty(), lanes);
  if (is_narrow_float(dtype)) return VectorBuilder::vector(builder_.f32(), lanes);
  return VectorBuilder::vector(memory_element(dtype), lanes);
}

Value* ElementCode::byte_position(DType dtype, Value* position) {
  if (is_packed(dtype)) return ir_.CreateAShr(position, builder_.index(1));
  return ir_.CreateMul(position, builder_.index(graph::bits(dtype) / 8));
}

Value* ElementCode::from_memory(DType dtype, Value* raw) {
  if (graph::is_bool(dtype)) return ir_.CreateICmpNE(raw, constant(raw, 0));
  return is_narrow_float(dtype) ? widen(dtype, raw) : raw;
}

Value* ElementCode::from_bits(DType dtype, Value* bits) {
  return from_memory(dtype, ir_.CreateBitCast(bits, type_like(bits, memory_element(dtype))));
}

Value* ElementCode::to_bits(DType dtype, Value* value) {
  Value* raw = to_memory(dtype, value);
  const auto bits = static_cast<unsigned>(std::max(8, graph::bits(dtype)));
  return ir_.CreateBitCast(raw, type_like(raw, ir_.getIntNTy(bits)));
}

Value* ElementCode::to_memory(DType dtype, Value* value) {
  if (graph::is_bool(dtype)) return ir_.CreateZExt(value, type_like(value, builder_.i8()));
  return is_narrow_float(dtype) ? narrow(dtype, value) : value;
}

Value* ElementCode::load(DType dtype, Value* base, Value* position, int lanes,
                         const Access& access) {
  if (is_packed(dtype)) return load_packed(dtype, base, position, lanes, access);
  llvm::Type* type = VectorBuilder::vector(memory_element(dtype), lanes);
  Value* pointer = builder_.offset(base, byte_position(dtype, position));
  return from_memory(dtype, builder_.load(type, pointer, access));
}

bool ElementCode::is_short_stride(DType dtype, int64_t stride) const {
  constexpr int64_t kLongest = 4;
  if (graph::bits(dtype) < 8) return false;
  if (stride == -1) return true;
  const CpuTarget& target = builder_.target();
  return std::abs(stride) > 1 && std::abs(stride) <= kLongest &&
         target.has(runtime::CpuFeature::kAvx512bw) && target.has(runtime::CpuFeature::kAvx512vl);
}

/// A mask as that of a longer vector, lane i of which is lane spread[i], or none past its end. What
/// is the same in all lanes stays out of shuffles, so that these are mostly known.
Value* ElementCode::spread_mask(Value* mask, llvm::ArrayRef<int> spread) {
  llvm::Constant* none = llvm::Constant::getNullValue(mask->getType());
  if (auto* both = llvm::dyn_cast<llvm::BinaryOperator>(mask);
      both != nullptr && both->getOpcode() == llvm::Instruction::And)
    return ir_.CreateAnd(spread_mask(both->getOperand(0), spread),
                         spread_mask(both->getOperand(1), spread));
  if (Value* same = llvm::getSplatValue(mask);
      same != nullptr && !llvm::isa<llvm::Constant>(same)) {
    Value* all =
        ir_.CreateShuffleVector(llvm::Constant::getAllOnesValue(mask->getType()), none, spread);
    return ir_.CreateSelect(same, all, llvm::Constant::getNullValue(all->getType()));
  }
  return ir_.CreateShuffleVector(mask, none, spread);
}

Value* ElementCode::load_strided(DType dtype, Value* base, Value* position, int lanes, int stride,
                                 Value* mask) {
  const int step = std::abs(stride);
  const auto lane_at = [&](int place) { return stride < 0 ? lanes - 1 - place : place; };
  llvm::SmallVector<int, 64> spread;
  llvm::SmallVector<int, 64> chosen;
  for (int place = 0; place < lanes * step; ++place)
    spread.push_back(place % step == 0 ? lane_at(place / step) : lanes);
  for (int lane = 0; lane < lanes; ++lane) chosen.push_back(lane_at(lane) * step);
  if (step > 1 && mask == nullptr)
    mask = llvm::Constant::getAllOnesValue(VectorBuilder::vector(ir_.getInt1Ty(), lanes));
  if (mask != nullptr) mask = spread_mask(mask, spread);
  if (stride < 0) position = ir_.CreateAdd(position, builder_.index(int64_t{stride} * (lanes - 1)));
  llvm::Type* type = VectorBuilder::vector(memory_element(dtype), lanes * step);
  Value* pointer = builder_.offset(base, byte_position(dtype, position));
  Value* loaded = builder_.load(type, pointer, {.mask = mask});
  return from_memory(dtype, ir_.CreateShuffleVector(loaded, chosen));
}

Value* ElementCode::gather(DType dtype, Value* base, Value* positions, Value* mask) {
  if (!is_packed(dtype))
    return from_memory(dtype, builder_.gather(memory_element(dtype), base, positions, mask));
  Value* bytes =
      builder_.gather(builder_.i8(), base, ir_.CreateAShr(positions, constant(positions, 1)), mask);
  Value* odd =
      ir_.CreateICmpNE(ir_.CreateAnd(positions, constant(positions, 1)), constant(positions, 0));
  Value* high = ir_.CreateLShr(bytes, constant(bytes, 4));
  return sign_packed(dtype, ir_.CreateSelect(odd, high, bytes));
}

void ElementCode::store(DType dtype, Value* value, Value* base, Value* position,
                        const Access& access) {
  if (is_packed(dtype)) return store_packed(value, base, position, access);
  builder_.store(to_memory(dtype, value), builder_.offset(base, byte_position(dtype, position)),
                 access);
}

/// A pair of bf16 is a float with what stands beside it in the lower half.
Value* ElementCode::load_pairs(Value* base, Value* position, int lanes) {
  constexpr int kPairs = 16;
  LUMINAL_CHECK(lanes % (2 * kPairs) == 0, "{} lanes are no lines of pairs", lanes);
  Value* pointer = builder_.offset(base, byte_position(DType::kBF16, position));
  Value* pairs = builder_.load(VectorBuilder::vector(builder_.i32(), lanes / 2), pointer,
                               {.align = graph::bits(DType::kBF16) / 8});
  Carried parts;
  for (int first = 0; first < lanes / 2; first += kPairs) {
    Value* line = builder_.part(pairs, first, kPairs);
    parts.push_back(ir_.CreateShl(line, constant(line, 16)));
    parts.push_back(ir_.CreateAnd(line, constant(line, ~int64_t{0xffff})));
  }
  Value* joined = builder_.join(parts);
  return ir_.CreateBitCast(joined, type_like(joined, builder_.f32()));
}

void ElementCode::store_pairs(Value* value, Value* base, Value* position, const Access& access) {
  constexpr int kPairs = 16;
  const int lanes = VectorBuilder::lanes_of(value);
  llvm::SmallVector<int, 64> together;
  for (int lane = 0; lane < lanes; ++lane)
    together.push_back(lane / (2 * kPairs) * 2 * kPairs + lane % 2 * kPairs +
                       lane % (2 * kPairs) / 2);
  Value* halves = ir_.CreateShuffleVector(to_memory(DType::kBF16, value), together);
  builder_.store(halves, builder_.offset(base, byte_position(DType::kBF16, position)), access);
}

void ElementCode::scatter(DType dtype, Value* value, Value* base, Value* positions, Value* mask) {
  LUMINAL_CHECK(!is_packed(dtype), "elements of {} cannot be scattered", dtype);
  builder_.scatter(to_memory(dtype, value), base, positions, mask);
}

/// The value of the low four bits.
Value* ElementCode::sign_packed(DType dtype, Value* value) {
  if (graph::is_unsigned(dtype)) return ir_.CreateAnd(value, constant(value, 15));
  return ir_.CreateAShr(ir_.CreateShl(value, constant(value, 4)), constant(value, 4));
}

Value* ElementCode::load_packed(DType dtype, Value* base, Value* position, int lanes,
                                const Access& access) {
  Value* pointer = builder_.offset(base, byte_position(dtype, position));
  if (lanes == 1) {
    Value* byte = builder_.load(builder_.i8(), pointer, access);
    Value* odd = ir_.CreateAnd(ir_.CreateTrunc(position, builder_.i8()), ir_.getInt8(1));
    return sign_packed(dtype, ir_.CreateLShr(byte, ir_.CreateShl(odd, ir_.getInt8(2))));
  }
  LUMINAL_CHECK(lanes % 2 == 0, "{} lanes of a packed dtype", lanes);
  llvm::SmallVector<int, 32> even;
  llvm::SmallVector<int, 32> interleaved;
  for (int i = 0; i < lanes / 2; ++i) {
    even.push_back(2 * i);
    interleaved.push_back(i);
    interleaved.push_back(lanes / 2 + i);
  }
  Access bytes_access = access;
  bytes_access.other = nullptr;
  // A byte is needed if its lower element is: tails end after a lane, they do not begin late.
  if (access.mask != nullptr) bytes_access.mask = ir_.CreateShuffleVector(access.mask, even);
  Value* bytes =
      builder_.load(llvm::FixedVectorType::get(builder_.i8(), static_cast<unsigned>(lanes / 2)),
                    pointer, bytes_access);
  Value* high = ir_.CreateLShr(bytes, constant(bytes, 4));
  Value* result = sign_packed(dtype, ir_.CreateShuffleVector(bytes, high, interleaved));
  if (access.mask == nullptr) return result;
  return ir_.CreateSelect(access.mask, result, constant(result, 0));
}

void ElementCode::store_packed(Value* value, Value* base, Value* position, const Access& access) {
  const int lanes = VectorBuilder::lanes_of(value);
  Value* pointer = builder_.offset(base, byte_position(DType::kI4, position));
  if (lanes == 1) {
    const auto put = [&] {
      Value* shift = ir_.CreateShl(
          ir_.CreateAnd(ir_.CreateTrunc(position, builder_.i8()), ir_.getInt8(1)), ir_.getInt8(2));
      Value* kept = ir_.CreateAnd(builder_.load(builder_.i8(), pointer),
                                  ir_.CreateNot(ir_.CreateShl(ir_.getInt8(15), shift)));
      Value* low = ir_.CreateAnd(value, ir_.getInt8(15));
      builder_.store(ir_.CreateOr(kept, ir_.CreateShl(low, shift)), pointer);
    };
    if (access.mask == nullptr) return put();
    return builder_.if_then(access.mask, put);
  }
  llvm::SmallVector<int, 32> even;
  llvm::SmallVector<int, 32> odd;
  for (int i = 0; i < lanes / 2; ++i) {
    even.push_back(2 * i);
    odd.push_back(2 * i + 1);
  }
  Value* low = ir_.CreateShuffleVector(value, even);
  Value* high = ir_.CreateShuffleVector(value, odd);
  low = ir_.CreateAnd(low, constant(low, 15));
  high = ir_.CreateShl(high, constant(high, 4));
  if (access.mask == nullptr) return builder_.store(ir_.CreateOr(low, high), pointer, access);
  // The neighbour of the last element of an odd tail keeps its value.
  Value* low_mask = ir_.CreateShuffleVector(access.mask, even);
  Value* high_mask = ir_.CreateShuffleVector(access.mask, odd);
  Value* old = builder_.load(low->getType(), pointer, {.mask = low_mask});
  Value* kept = ir_.CreateAnd(old, constant(old, 0xf0));
  Value* bytes = ir_.CreateOr(low, ir_.CreateSelect(high_mask, high, kept));
  builder_.store(bytes, pointer, {.mask = low_mask});
}

Value* ElementCode::widen(DType dtype, Value* bits) {
  Value* result = widened_value(dtype, bits);
  widened_.insert({result, {dtype, bits}});
  return result;
}

Value* ElementCode::widened_value(DType dtype, Value* bits) {
  const Format format = format_of(dtype);
  llvm::Type* floats = type_like(bits, builder_.f32());
  if (dtype == DType::kF16 && builder_.target().has(runtime::CpuFeature::kF16c))
    return ir_.CreateFPExt(ir_.CreateBitCast(bits, type_like(bits, ir_.getHalfTy())), floats);
  Value* wide = ir_.CreateZExt(bits, type_like(bits, builder_.i32()));
  if (dtype == DType::kBF16)
    return ir_.CreateBitCast(ir_.CreateShl(wide, constant(wide, 16)), floats);
  // Exponent and mantissa at their places in a float, 2^(127 - bias) too small; multiplying sets
  // denormals right too.
  Value* magnitude = ir_.CreateAnd(wide, constant(wide, format.sign_bit() - 1));
  Value* sign = ir_.CreateShl(ir_.CreateAnd(wide, constant(wide, format.sign_bit())),
                              constant(wide, 31 - format.exponent_bits - format.mantissa_bits));
  Value* placed = ir_.CreateShl(magnitude, constant(wide, 23 - format.mantissa_bits));
  const double scale = std::ldexp(1.0, 127 - format.bias());
  Value* value =
      ir_.CreateFMul(ir_.CreateBitCast(placed, floats), VectorBuilder::number(floats, scale));
  Value* result = ir_.CreateBitCast(value, wide->getType());
  const auto choose = [&](int64_t from, int64_t pattern) {
    Value* above = ir_.CreateICmpSGE(magnitude, constant(wide, from));
    result = ir_.CreateSelect(above, constant(wide, pattern), result);
  };
  if (format.has_infinity) choose(format.top_exponent(), 0x7f800000);
  choose(format.has_infinity ? format.top_exponent() + 1 : format.nan(), 0x7fc00000);
  return ir_.CreateBitCast(ir_.CreateOr(result, sign), floats);
}

/// Upper halves of floats, rounded; infinity comes out of a carry by itself.
Value* ElementCode::rounded_halves(Value* value) {
  Value* bits = ir_.CreateBitCast(value, type_like(value, builder_.i32()));
  Value* odd = ir_.CreateAnd(ir_.CreateLShr(bits, constant(bits, 16)), constant(bits, 1));
  Value* rounded = ir_.CreateAdd(ir_.CreateAdd(bits, constant(bits, 0x7fff)), odd);
  Value* quiet = ir_.CreateOr(bits, constant(bits, 0x400000));
  rounded = ir_.CreateSelect(ir_.CreateFCmpUNO(value, value), quiet, rounded);
  return ir_.CreateTrunc(ir_.CreateLShr(rounded, constant(bits, 16)),
                         type_like(value, builder_.i16()));
}

/// The instruction for it takes denormals for zero, which the interpreter does not: where a line
/// has zeros it is looked closer, and where it has denormals, which is rare, integers round it.
Value* ElementCode::narrow_to_bf16(Value* value) {
  constexpr int kLanes = 16;
  const int lanes = VectorBuilder::lanes_of(value);
  const CpuTarget& target = builder_.target();
  if (lanes % (2 * kLanes) != 0 || !target.has(runtime::CpuFeature::kAvx512bf16) ||
      !target.has(runtime::CpuFeature::kAvx512dq))
    return rounded_halves(value);
  Value* halves = narrow_normals(value);
  Value* magnitude = ir_.CreateAnd(halves, constant(halves, 0x7fff));
  return builder_.if_else(
      builder_.any(ir_.CreateICmpEQ(magnitude, constant(halves, 0))),
      [&] {
        return builder_.if_else(
            has_denormals(value), [&] { return Carried{rounded_halves(value)}; },
            [&] { return Carried{halves}; });
      },
      [&] { return Carried{halves}; })[0];
}

Value* ElementCode::has_denormals(Value* value) {
  constexpr int kLanes = 16;
  constexpr int kDenormal = 0x20;
  Value* denormal = nullptr;
  for (int first = 0; first < VectorBuilder::lanes_of(value); first += kLanes) {
    Value* here =
        builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_fpclass_ps_512, {},
                                {builder_.part(value, first, kLanes), ir_.getInt32(kDenormal)});
    denormal = denormal == nullptr ? here : ir_.CreateOr(denormal, here);
  }
  return builder_.any(denormal);
}

Value* ElementCode::narrow_normals(Value* value) {
  constexpr int kLanes = 16;
  Carried halves;
  for (int first = 0; first < VectorBuilder::lanes_of(value); first += 2 * kLanes)
    halves.push_back(builder_.call_intrinsic(
        llvm::Intrinsic::x86_avx512bf16_cvtne2ps2bf16_512, {},
        {builder_.part(value, first + kLanes, kLanes), builder_.part(value, first, kLanes)}));
  return ir_.CreateBitCast(builder_.join(halves), type_like(value, builder_.i16()));
}

Value* ElementCode::narrow(DType dtype, Value* value) {
  // What was only moved keeps its bits.
  const auto known = widened_.find(value);
  if (known != widened_.end() && known->second.first == dtype) return known->second.second;
  if (dtype == DType::kBF16) return narrow_to_bf16(value);
  const Format format = format_of(dtype);
  llvm::Type* target = type_like(value, memory_element(dtype));
  if (dtype == DType::kF16 && builder_.target().has(runtime::CpuFeature::kF16c))
    return ir_.CreateBitCast(ir_.CreateFPTrunc(value, type_like(value, ir_.getHalfTy())), target);
  llvm::Type* integers = type_like(value, builder_.i32());
  const int dropped = 23 - format.mantissa_bits;
  Value* bits = ir_.CreateBitCast(value, integers);
  Value* magnitude = ir_.CreateAnd(bits, constant(bits, 0x7fffffff));
  // Ties to even: just under a half more, and one if the kept part is odd.
  Value* odd = ir_.CreateAnd(ir_.CreateLShr(magnitude, constant(bits, dropped)), constant(bits, 1));
  Value* rounded = ir_.CreateAdd(ir_.CreateAdd(magnitude, odd),
                                 constant(bits, (int64_t{1} << (dropped - 1)) - 1));
  const int64_t rebias = int64_t{127 - format.bias()} << 23;
  Value* result =
      ir_.CreateLShr(ir_.CreateSub(rounded, constant(bits, rebias)), constant(bits, dropped));
  if (format.exponent_bits < 8) {
    // Denormal results: adding a number whose unit is theirs rounds them in the adder.
    const int unit = 1 - format.bias() - format.mantissa_bits;
    llvm::Constant* magic = VectorBuilder::number(value->getType(), std::ldexp(1.0, unit + 23));
    Value* sum = ir_.CreateFAdd(ir_.CreateBitCast(magnitude, value->getType()), magic);
    Value* small =
        ir_.CreateSub(ir_.CreateBitCast(sum, integers), ir_.CreateBitCast(magic, integers));
    const int64_t first_normal = int64_t{127 + 1 - format.bias()} << 23;
    result =
        ir_.CreateSelect(ir_.CreateICmpSLT(magnitude, constant(bits, first_normal)), small, result);
  }
  Value* too_large = ir_.CreateICmpSGT(result, constant(bits, format.largest()));
  // Above the largest float exponent the subtraction may have wrapped; infinity is far above.
  Value* infinite = ir_.CreateICmpSGE(magnitude, constant(bits, 0x7f800000));
  result = ir_.CreateSelect(ir_.CreateOr(too_large, infinite), constant(bits, format.overflow()),
                            result);
  result = ir_.CreateSelect(ir_.CreateICmpSGT(magnitude, constant(bits, 0x7f800000)),
                            constant(bits, format.nan()), result);
  Value* sign = ir_.CreateLShr(ir_.CreateXor(bits, magnitude),
                               constant(bits, 31 - format.exponent_bits - format.mantissa_bits));
  return ir_.CreateTrunc(ir_.CreateOr(result, sign), target);
}

Value* ElementCode::round_to(DType dtype, Value* value) {
  return is_narrow_float(dtype) ? widen(dtype, narrow(dtype, value)) : value;
}

Value* ElementCode::bounded(DType dtype, Value* value) {
  if (!is_narrow_float(dtype) || format_of(dtype).has_infinity) return value;
  const double end = graph::Scalar::of(dtype, std::numeric_limits<double>::max()).as_double();
  // NaN is neither above nor below.
  for (const double limit : {end, -end}) {
    llvm::Constant* last = VectorBuilder::number(value->getType(), limit);
    Value* beyond = limit > 0 ? ir_.CreateFCmpOGT(value, last) : ir_.CreateFCmpOLT(value, last);
    value = ir_.CreateSelect(beyond, last, value);
  }
  return value;
}

/// Double to float so that a second rounding, to any narrower format, gives what one would have
/// given: inexact results get an odd last bit.
Value* ElementCode::round_to_odd(Value* wide) {
  Value* near = ir_.CreateFPTrunc(wide, type_like(wide, builder_.f32()));
  Value* back = ir_.CreateFPExt(near, wide->getType());
  Value* bits = ir_.CreateBitCast(near, type_like(wide, builder_.i32()));
  const auto magnitude = [&](Value* x) {
    return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  };
  Value* inexact = ir_.CreateFCmpONE(back, wide);
  Value* even = ir_.CreateICmpEQ(ir_.CreateAnd(bits, constant(bits, 1)), constant(bits, 0));
  Value* below = ir_.CreateFCmpOLT(magnitude(back), magnitude(wide));
  Value* step = ir_.CreateSelect(below, constant(bits, 1), constant(bits, -1));
  Value* odd = ir_.CreateSelect(ir_.CreateAnd(inexact, even), ir_.CreateAdd(bits, step), bits);
  return ir_.CreateBitCast(odd, near->getType());
}

Value* ElementCode::float_to_integer(DType to, Value* value) {
  const bool is_unsigned = graph::is_unsigned(to);
  const auto convert = [&](llvm::Type* element, bool as_unsigned) {
    return builder_.call_intrinsic(
        as_unsigned ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat,
        {type_like(value, element), value->getType()}, {value});
  };
  const int width = graph::bits(to);
  if (width >= 32) return convert(memory_element(to), is_unsigned);
  Value* wide = convert(builder_.i32(), false);
  const int64_t low = is_unsigned ? 0 : -(int64_t{1} << (width - 1));
  const int64_t high = is_unsigned ? (int64_t{1} << width) - 1 : -low - 1;
  wide = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, wide, constant(wide, low));
  wide = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, wide, constant(wide, high));
  return ir_.CreateTrunc(wide, type_like(value, memory_element(to)));
}

Value* ElementCode::integer_to_float(DType from, DType to, Value* value) {
  const auto convert = [&](llvm::Type* element, Value* integer) {
    llvm::Type* type = type_like(integer, element);
    return graph::is_unsigned(from) || graph::is_bool(from) ? ir_.CreateUIToFP(integer, type)
                                                            : ir_.CreateSIToFP(integer, type);
  };
  if (to == DType::kF64) return convert(builder_.f64(), value);
  if (to == DType::kF32) return convert(builder_.f32(), value);
  if (graph::bits(from) <= 16) return round_to(to, convert(builder_.f32(), value));
  if (graph::bits(from) == 64) {
    // What does not fit a double is folded into the last bit that does.
    Value* rest = ir_.CreateAnd(value, constant(value, 0x7ff));
    Value* sticky = ir_.CreateSelect(ir_.CreateICmpNE(rest, constant(value, 0)),
                                     constant(value, 0x800), constant(value, 0));
    Value* folded = ir_.CreateOr(ir_.CreateAnd(value, constant(value, ~int64_t{0x7ff})), sticky);
    const int64_t exact = int64_t{1} << 53;
    Value* fits = ir_.CreateAnd(ir_.CreateICmpSGE(value, constant(value, -exact)),
                                ir_.CreateICmpSLE(value, constant(value, exact)));
    value = ir_.CreateSelect(fits, value, folded);
  }
  return round_to(to, round_to_odd(convert(builder_.f64(), value)));
}

Value* ElementCode::integer_to_integer(DType from, DType to, Value* value) {
  llvm::Type* type = type_like(value, memory_element(to));
  Value* result = graph::is_unsigned(from) || graph::is_bool(from)
                      ? ir_.CreateZExtOrTrunc(value, type)
                      : ir_.CreateSExtOrTrunc(value, type);
  return is_packed(to) ? sign_packed(to, result) : result;
}

Value* ElementCode::bitcast(DType from, DType to, Value* value) {
  if (is_packed(from)) return integer_to_integer(from, to, value);
  Value* raw = to_memory(from, value);
  return from_memory(to, ir_.CreateBitCast(raw, type_like(value, memory_element(to))));
}

llvm::Constant* ElementCode::number(DType dtype, const graph::Scalar& value, int lanes) {
  llvm::Type* type = register_type(dtype, lanes);
  if (graph::is_float(dtype)) return VectorBuilder::number(type, value.as_double());
  return VectorBuilder::integer(type, value.as_int64());
}

Value* ElementCode::cast(DType from, DType to, Value* value) {
  if (from == to) return value;
  if (graph::is_float(from)) {
    if (graph::is_bool(to))
      return ir_.CreateFCmpUNE(value, VectorBuilder::number(value->getType(), 0));
    if (!graph::is_float(to)) return float_to_integer(to, value);
    if (to == DType::kF64) return ir_.CreateFPExt(value, type_like(value, builder_.f64()));
    if (from == DType::kF64)
      return to == DType::kF32 ? ir_.CreateFPTrunc(value, type_like(value, builder_.f32()))
                               : round_to(to, round_to_odd(value));
    return round_to(to, value);
  }
  if (graph::is_bool(to)) return ir_.CreateICmpNE(value, constant(value, 0));
  return graph::is_float(to) ? integer_to_float(from, to, value)
                             : integer_to_integer(from, to, value);
}

}  // namespace luminal::codegen
