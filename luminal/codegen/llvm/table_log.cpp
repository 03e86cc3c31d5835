// Logarithms by tables in registers, for processors with vectors of 16 floats.
#include <llvm/IR/IntrinsicsX86.h>

#include <cmath>
#include <numbers>

#include "luminal/codegen/llvm/function_pieces.h"
#include "luminal/codegen/llvm/vector_math.h"

namespace luminal::codegen {
namespace {

using llvm::Value;

/// Pieces of [3/4, 3/2) as the leading bits of a float number them: 16 from 1 on, then those from
/// 3/4 to 1.
struct LogPieces {
  std::vector<double> inverse;   // of a number in the piece; 1 next to 1
  std::vector<double> log;       // of 1/inverse
  double unit;                   // log(2)
  std::vector<double> exponent;  // what a mantissa below 1 adds: one unit
  Pieces quotient;               // log(m)/(m-1) as a line in m
};

/// The float near 1/x whose logarithm is nearest to a float: nothing is lost when that is added.
double good_inverse(double x, double (*logarithm)(double)) {
  auto candidate = static_cast<float>(1 / x);
  double best = candidate;
  double least = 1;
  for (int i = 0; i < 200; ++i) {
    const double exact = logarithm(candidate);
    const double lost = std::fabs(exact - static_cast<float>(exact));
    if (lost < least) {
      least = lost;
      best = candidate;
    }
    candidate = std::nextafter(candidate, 0.0F);
  }
  return best;
}

LogPieces make_log_pieces(double (*logarithm)(double)) {
  LogPieces result;
  result.unit = logarithm(2);
  result.quotient.resize(2);
  const auto quotient = [&](double m) { return logarithm(m) / (m - 1); };
  for (int j = 0; j < 32; ++j) {
    const double scale = j < 16 ? 1.0 : 0.5;
    const double width = scale / 32;
    const double middle = scale + (j + 0.5) * width;
    const bool next_to_one = j == 0 || j == 31;
    const double inverse = next_to_one ? 1.0 : good_inverse(middle, logarithm);
    result.inverse.push_back(inverse);
    result.log.push_back(-logarithm(inverse));
    result.exponent.push_back(j < 16 ? 0 : result.unit);
    const double reach = width / 2 * std::numbers::sqrt2 / 2;
    const double slope = (quotient(middle + reach) - quotient(middle - reach)) / (2 * reach);
    result.quotient[0].push_back(quotient(middle + reach) - slope * (middle + reach));
    result.quotient[1].push_back(slope);
  }
  return result;
}

const LogPieces& log_pieces(bool base_two) {
  static const LogPieces natural = make_log_pieces(std::log);
  static const LogPieces two = make_log_pieces(std::log2);
  return base_two ? two : natural;
}

/// (log(1+r) - r) / r^2 for r from -1/64 to 1/32.
double log_rest(double r) {
  if (std::fabs(r) < 1e-4) return -0.5 + r / 3 - r * r / 4;
  return (std::log1p(r) - r) / (r * r);
}

}  // namespace

/// log(2^e * m), relative error 2^-13.
Value* VectorMath::short_log(const Mantissa& x, bool base_two) {
  const LogPieces& pieces = log_pieces(base_two);
  Value* quotient = piece(x.piece, x.m, pieces.quotient);
  // Just below 1, where e is -1, the exponents cancel exactly.
  Value* exponent =
      builder_.mul_add(x.exponent, number(x.m, pieces.unit), look_up(x.piece, pieces.exponent));
  return builder_.mul_add(ir_.CreateFSub(x.m, number(x.m, 1)), quotient, exponent);
}

/// log(2^e * m), 1.5 ulp. m/c - 1 is small for the c of its piece, and exactly m - 1 next to 1.
Value* VectorMath::full_log(const Mantissa& x, bool base_two) {
  static const Pieces rest = fit_pieces(log_rest, {1, 1.0 / 32, 3, true, 1.0 / 32});
  const LogPieces& pieces = log_pieces(base_two);
  Value* r = builder_.mul_add(x.m, look_up(x.piece, pieces.inverse), number(x.m, -1));
  Value* p = number(x.m, rest[3][0]);
  for (size_t power = 3; power-- > 0;) p = builder_.mul_add(p, r, number(x.m, rest[power][0]));
  Value* log = builder_.mul_add(ir_.CreateFMul(r, r), p, r);
  Value* exponent = ir_.CreateFAdd(x.exponent, look_up(x.piece, log_pieces(true).exponent));
  Value* of_piece = look_up(x.piece, pieces.log);
  if (base_two)
    return builder_.mul_add(log, number(x.m, std::numbers::log2e),
                            ir_.CreateFAdd(exponent, of_piece));
  return ir_.CreateFAdd(builder_.mul_add(exponent, number(x.m, pieces.unit), of_piece), log);
}

/// x = 2^e * m with m in [3/4, 3/2); the first five bits after m's leading one are its piece.
VectorMath::Mantissa VectorMath::mantissa_of(Value* x) {
  constexpr uint32_t kThreeQuarters = 3;  // the interval of the instruction
  Value* all = ir_.getInt16(0xffff);
  Value* rounding = ir_.getInt32(4);  // as the processor is set
  Value* m = in_parts(x, [&](Value* part) {
    return builder_.call_intrinsic(
        llvm::Intrinsic::x86_avx512_mask_getmant_ps_512, {},
        {part, ir_.getInt32(kThreeQuarters), number(part, 0), all, rounding});
  });
  Value* e = in_parts(x, [&](Value* part) {
    return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_mask_getexp_ps_512, {},
                                   {part, number(part, 0), all, rounding});
  });
  return {m, e, ir_.CreateLShr(bits(m), VectorBuilder::integer(bits(m)->getType(), 18))};
}

Value* VectorMath::logarithm_by_table(Value* x, bool base_two) {
  const Mantissa mantissa = mantissa_of(x);
  Value* result = accuracy_ == MathAccuracy::kFull ? full_log(mantissa, base_two)
                                                   : short_log(mantissa, base_two);
  // NaN stays, 0 gives -inf, 1 gives 0, inf itself, and what is negative NaN.
  constexpr int64_t kSpecial = 0x03538422;
  constexpr int kLanes = 16;
  Carried parts;
  for (int first = 0; first < VectorBuilder::lanes_of(x); first += kLanes) {
    Value* part = builder_.part(x, first, kLanes);
    parts.push_back(
        builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_mask_fixupimm_ps_512, {},
                                {builder_.part(result, first, kLanes), part,
                                 VectorBuilder::integer(bits(part)->getType(), kSpecial),
                                 ir_.getInt32(0), ir_.getInt16(0xffff), ir_.getInt32(4)}));
  }
  return builder_.join(parts);
}

}  // namespace luminal::codegen
