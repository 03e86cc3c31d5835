// Contractions, recognised on the body: a sum of products of two operands. Each axis is M, N, batch
// or K by which operand uses it, whatever the order of operands and axes, transposition, batching
// or grouping; what is done to an operand before the product is its prologue, what is done to the
// sum is the epilogue. One classifier serves every library call and every tile schedule.
#pragma once

#include <optional>
#include <vector>

#include "luminal/kernel/body.h"

namespace luminal::kernel {

/// How one axis walks through a tensor.
struct AxisStride {
  Expr axis;
  Expr stride;  // in elements
};

/// An operand that is a load of one tensor, perhaps cast: what a library can read.
struct PlainOperand {
  NodeId tensor;
  BodyId load;
  DType stored;  // before casts
  Expr offset;
  std::vector<AxisStride> strides;  // axes that are not here have stride 0

  /// The stride of an axis, 0 if the operand does not use it.
  Expr stride(const Expr& axis) const;
};

/// One side of the product.
struct ContractionOperand {
  /// Everything on this side, multiplied: the prologue down to its loads.
  BodyId value;
  /// Set if there is no prologue but casts, and the index is affine.
  std::optional<PlainOperand> plain;
};

/// sum over k of a[batch, m, k] * b[batch, n, k]. N is the side that the last output axis belongs
/// to; a matrix times a vector has no axis in M.
struct Contraction {
  BodyId reduction;
  DType dtype;  // accumulated in
  ContractionOperand a, b;
  std::vector<Expr> batch, m, n, k;
};

/// The contraction that a reduction is, if it is one. Its free axes count as output axes.
std::optional<Contraction> match_contraction(Arena& arena, BodyId reduction);

/// A kernel that is one contraction over all of its output axes, with an epilogue that has no
/// reductions: what a library call with an epilogue could do.
struct ContractionKernel {
  Contraction contraction;
  /// The root's value as it is defined; the sum itself if there is no epilogue.
  BodyId epilogue;
  bool has_epilogue = false;
};
std::optional<ContractionKernel> match_contraction_kernel(Arena& arena, const Kernel& kernel);

/// The row-major position that a load reads, as strides, if the index is affine.
std::optional<PlainOperand> strided_load(const Arena& arena, BodyId load);

}  // namespace luminal::kernel
