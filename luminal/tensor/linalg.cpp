#include "luminal/tensor/linalg.h"

#include <algorithm>
#include <array>

#include "luminal/support/error.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/movement.h"
#include "luminal/tensor/promotion.h"
#include "luminal/tensor/reduction.h"

namespace luminal {
namespace {

/// What products of this dtype accumulate in.
DType accumulator(DType dtype) {
  return graph::is_float(dtype) && graph::bits(dtype) < 32 ? f32 : dtype;
}

/// The sum over the last axis of a * b, which have one shape; kept in the operands' dtype.
Tensor sum_of_products(const Tensor& a, const Tensor& b) {
  return build::apply(graph::Op::kSum, {a * b}, graph::ReduceAttribute{1});
}

/// [..., m, k] x [..., n, k] -> [..., m, n].
Tensor multiply_rows(const Tensor& a, const Tensor& b) {
  std::vector<Tensor> both = build::broadcast("matmul", {unsqueeze(a, -2), unsqueeze(b, -3)});
  return sum_of_products(both[0], both[1]);
}

/// The axes before the matrix.
Shape leading_axes(const Tensor& x) {
  const Shape& shape = x.shape();
  return {shape.begin(), shape.end() - std::min<int>(x.rank(), 2)};
}

void check_matmul(const Tensor& a, const Tensor& b) {
  if (a.rank() == 0 || b.rank() == 0)
    throw UserError("matmul", "operands need at least one axis, got {} x {}",
                    graph::to_string(a.shape()), graph::to_string(b.shape()));
  const Dim inner = b.rank() == 1 ? b.dim(0) : b.dim(-2);
  if (a.dim(-1) != inner)
    throw UserError("matmul", "inner dims differ: {} x {}", graph::to_string(a.shape()),
                    graph::to_string(b.shape()));
  const std::array leading{leading_axes(a), leading_axes(b)};
  try {
    build::broadcast_shape("matmul", leading);
  } catch (const UserError&) {
    throw UserError("matmul", "leading axes do not broadcast: {} x {}", graph::to_string(a.shape()),
                    graph::to_string(b.shape()));
  }
}

void check_vector(std::string_view operation, const Tensor& x) {
  if (x.rank() != 1)
    throw UserError(operation, "needs vectors, got shape {}", graph::to_string(x.shape()));
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b, std::optional<DType> dtype) {
  build::check_same_graph("matmul", std::vector{a, b});
  check_matmul(a, b);
  const DType result_dtype = dtype.value_or(promote(a.dtype(), b.dtype()));
  if (graph::is_bool(result_dtype))
    throw UserError("matmul", "is not defined for bool; cast to a number");
  const DType wide = accumulator(result_dtype);
  Tensor left = a.rank() == 1 ? unsqueeze(a, 0) : a;
  Tensor right = b.rank() == 1 ? unsqueeze(b, 1) : b;
  Tensor product = multiply_rows(cast(left, wide), transpose(cast(right, wide)));
  if (b.rank() == 1) product = squeeze(product, {-1});
  if (a.rank() == 1) product = squeeze(product, {b.rank() == 1 ? -1 : -2});
  return build::named("matmul", {a, b}, {}, cast(product, result_dtype));
}

Tensor dot(const Tensor& a, const Tensor& b) {
  check_vector("dot", a);
  check_vector("dot", b);
  if (a.dim(0) != b.dim(0)) throw UserError("dot", "lengths differ: {} and {}", a.dim(0), b.dim(0));
  return matmul(a, b);
}

Tensor outer(const Tensor& a, const Tensor& b) {
  check_vector("outer", a);
  check_vector("outer", b);
  return build::named("outer", {a, b}, {}, unsqueeze(a, 1) * unsqueeze(b, 0));
}

}  // namespace luminal
