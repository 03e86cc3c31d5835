#include "bounds.h"

#include "luminal/graph/epsilon.h"

namespace luminal::test {
namespace {

using graph::DType;
using graph::epsilon;
using graph::Op;

Tolerance close(double relative, double absolute) {
  return {.kind = Tolerance::Kind::kClose, .relative = relative, .absolute = absolute};
}

/// The error that vector_math.h states for f32, and one more for the oracle's own.
int64_t function_ulps(Op op) {
  switch (op) {
    case Op::kExp:
    case Op::kExp2:
    case Op::kPow:
      return 2;
    case Op::kLog:
    case Op::kLog2:
    case Op::kSin:
    case Op::kCos:
    case Op::kTanh:
    case Op::kAtan:
      return 3;
    case Op::kErf:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

Tolerance primitive_bound(Op op, DType dtype) {
  if (!graph::is_float(dtype)) return {};
  const bool narrow = graph::bits(dtype) < 32;
  if (op == Op::kSum || op == Op::kProd) {
    const double step = epsilon(narrow ? DType::kF32 : dtype);
    return close(narrow ? epsilon(dtype) : 64 * step, 256 * step);
  }
  // Which of two zeros is the largest depends on the order.
  if (op == Op::kReduceMax) return {.kind = Tolerance::Kind::kEqual};
  const int64_t ulps = function_ulps(op);
  // f64 calls the library that the oracle calls.
  if (ulps == 0 || dtype == DType::kF64) return {};
  return {.kind = Tolerance::Kind::kUlps, .ulps = narrow ? 1 : ulps};
}

Tolerance function_bound(DType dtype) {
  if (!graph::is_float(dtype)) return {};
  const double units = graph::bits(dtype) >= 32 ? 128 : 2;
  return close(units * epsilon(dtype), units * epsilon(dtype));
}

Tolerance native_bound(Tolerance of_oracle) {
  if (of_oracle.kind == Tolerance::Kind::kUlps) of_oracle.ulps += 3;
  return of_oracle;
}

}  // namespace luminal::test
