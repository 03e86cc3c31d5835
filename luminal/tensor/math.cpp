#include "luminal/tensor/math.h"

#include <limits>

#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"

namespace luminal {
namespace {

using graph::Op;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor unary(Op op, const Tensor& x) { return build::apply(op, {build::to_float(x)}); }

/// f8e4m3 is the one float without infinities.
bool has_infinity(DType dtype) { return graph::is_float(dtype) && dtype != f8e4m3; }

/// A bool tensor of x's shape.
Tensor all_of(const Tensor& x, bool value) {
  return build::expand_to("fill", x.graph().constant(Scalar::of(boolean, value)), x.shape());
}

/// Kahan's form: the rounding error of exp(x) cancels against that of its logarithm. The ratio
/// comes first, because (u - 1) * x overflows before the result does.
Tensor expm1_wide(const Tensor& x) {
  Tensor u = exp(x);
  Tensor corrected = (u - 1) * (x / log(u));
  Tensor at_ends = where(isinf(u), u, where(equal(u - 1, -1), -1.0, corrected));
  return where(equal(u, 1), x, at_ends);
}

/// The same the other way round: the rounding error of 1 + x cancels.
Tensor log1p_wide(const Tensor& x) {
  Tensor u = x + 1;
  Tensor of_sum = log(u);
  return where(equal(u, 1), x, where(isinf(u), of_sum, of_sum * (x / (u - 1))));
}

Tensor sinh_wide(const Tensor& x) {
  Tensor size = abs(x);
  Tensor e = expm1(size);
  Tensor half = exp(size * 0.5);  // exp(size) overflows before sinh does
  Tensor magnitude = where(less(size, 20), (e + e / (e + 1)) * 0.5, half * 0.5 * half);
  return where(less(x, 0), -magnitude, where(equal(x, 0), x, magnitude));
}

Tensor cosh_wide(const Tensor& x) {
  Tensor half = exp(abs(x) * 0.5);
  return half * 0.5 * half + 0.5 / half / half;
}

Tensor asin_wide(const Tensor& x) { return atan(x / (sqrt((1 - x) * (x + 1)) + 1)) * 2.0; }

Tensor acos_wide(const Tensor& x) { return atan(sqrt((1 - x) / (x + 1))) * 2.0; }

/// Records a composed function, computed in f32 or wider.
Tensor composed(const char* name, const Tensor& x, Tensor (*function)(const Tensor&)) {
  Tensor input = build::to_float(x);
  return build::named(name, {input}, {}, cast(function(build::widen(input)), input.dtype()));
}

}  // namespace

Tensor neg(const Tensor& x) { return -x; }

Tensor abs(const Tensor& x) {
  if (graph::is_unsigned(x.dtype()) || graph::is_bool(x.dtype())) return x;
  if (graph::is_integer(x.dtype())) return where(less(x, 0), -x, x);
  return where(less_equal(x, 0), 0 - x, x);  // 0 - x, so that |-0| = 0
}

Tensor sign(const Tensor& x) {
  if (graph::is_bool(x.dtype())) return x;
  if (graph::is_unsigned(x.dtype())) return cast(not_equal(x, 0), x.dtype());
  return where(greater(x, 0), build::full_like(x, 1),
               where(less(x, 0), build::full_like(x, -1), x));
}

Tensor recip(const Tensor& x) { return unary(Op::kRecip, x); }
Tensor square(const Tensor& x) { return x * x; }
Tensor sqrt(const Tensor& x) { return unary(Op::kSqrt, x); }
Tensor rsqrt(const Tensor& x) {
  return composed("rsqrt", x, [](const Tensor& wide) { return recip(sqrt(wide)); });
}

Tensor exp(const Tensor& x) { return unary(Op::kExp, x); }
Tensor exp2(const Tensor& x) { return unary(Op::kExp2, x); }
Tensor expm1(const Tensor& x) { return composed("expm1", x, expm1_wide); }
Tensor log(const Tensor& x) { return unary(Op::kLog, x); }
Tensor log2(const Tensor& x) { return unary(Op::kLog2, x); }
Tensor log1p(const Tensor& x) { return composed("log1p", x, log1p_wide); }

Tensor sin(const Tensor& x) { return unary(Op::kSin, x); }
Tensor cos(const Tensor& x) { return unary(Op::kCos, x); }
Tensor tan(const Tensor& x) {
  return composed("tan", x, [](const Tensor& wide) { return sin(wide) / cos(wide); });
}
Tensor asin(const Tensor& x) { return composed("asin", x, asin_wide); }
Tensor acos(const Tensor& x) { return composed("acos", x, acos_wide); }
Tensor atan(const Tensor& x) { return unary(Op::kAtan, x); }
Tensor sinh(const Tensor& x) { return composed("sinh", x, sinh_wide); }
Tensor cosh(const Tensor& x) { return composed("cosh", x, cosh_wide); }
Tensor tanh(const Tensor& x) { return unary(Op::kTanh, x); }
Tensor erf(const Tensor& x) { return unary(Op::kErf, x); }

Tensor floor(const Tensor& x) { return graph::is_float(x.dtype()) ? unary(Op::kFloor, x) : x; }
Tensor ceil(const Tensor& x) { return graph::is_float(x.dtype()) ? -floor(-x) : x; }
Tensor round(const Tensor& x) { return graph::is_float(x.dtype()) ? unary(Op::kRound, x) : x; }
Tensor trunc(const Tensor& x) {
  return graph::is_float(x.dtype()) ? where(less(x, 0), ceil(x), floor(x)) : x;
}

Tensor isnan(const Tensor& x) {
  return graph::is_float(x.dtype()) ? not_equal(x, x) : all_of(x, false);
}

Tensor isinf(const Tensor& x) {
  return has_infinity(x.dtype()) ? equal(abs(x), kInfinity) : all_of(x, false);
}

Tensor isfinite(const Tensor& x) {
  if (!graph::is_float(x.dtype())) return all_of(x, true);
  return has_infinity(x.dtype()) ? less(abs(x), kInfinity) : equal(x, x);
}

}  // namespace luminal
