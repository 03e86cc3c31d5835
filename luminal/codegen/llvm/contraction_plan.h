// A kernel seen as matrix products with an epilogue: which output axes are rows, columns and batch,
// what the two operands of each product are, and what is done to the sums. Several products over
// the same rows and columns may feed one epilogue (gate and up), and smaller reductions (the scale
// of a norm) are computed before. Says nothing about tiles; no LLVM.
#pragma once

#include <optional>
#include <vector>

#include "luminal/codegen/llvm/cpu_kernel.h"
#include "luminal/codegen/llvm/four_bit.h"
#include "luminal/kernel/body.h"

namespace luminal::codegen {

/// Axes that are walked as if they were one, outermost first.
struct AxisGroup {
  std::vector<symbolic::Expr> axes;
  symbolic::Expr flat = 0;  ///< the one axis; 0 if the group is empty
  symbolic::Expr extent = 1;
};

/// One side of a product.
struct ProductOperand {
  kernel::BodyId value;    ///< casts that only widen are left off
  graph::DType dtype;      ///< of the value
  bool flat_outer = true;  ///< uses the flat axis of rows or columns, not the single ones
  bool flat_k = true;      ///< the same for the summed axes
  /// Set if it is a load at a position that is linear in both flat axes and inside of its tensor.
  struct Place {
    kernel::NodeId tensor;
    symbolic::Expr position;  ///< where both flat axes are 0
    symbolic::Expr outer_stride;
    symbolic::Expr k_stride;
  };
  std::optional<Place> place;
};

/// sum over k of a[m, k] * b[k, n].
struct Product {
  kernel::BodyId sum;  ///< stands for it in the epilogue
  graph::DType dtype;  ///< of the sum
  AxisGroup k;
  ProductOperand a, b;
  std::optional<FourBitWeights> four_bit = {};  ///< what b is, if it is that
};

/// A reduction that is stored before the products run, and the tensor that holds it.
struct EarlyReduction {
  kernel::BodyId reduction;
  kernel::NodeId tensor;
};

/// See above.
struct ContractionPlan {
  std::vector<symbolic::Expr> batch;      ///< axes that some B uses, and are neither m nor n
  std::vector<symbolic::Expr> row_batch;  ///< the other ones
  AxisGroup m, n;
  std::vector<Product> products;
  std::vector<kernel::Root> roots;  ///< over batches and flat m, n; sums stand for products
  std::vector<EarlyReduction> early;
};

/// The plan of a kernel, if it is one or more products. New bodies go to the arena.
Recognised<ContractionPlan> plan_contraction(kernel::Arena& arena, const kernel::Kernel& kernel,
                                             const CpuKernelOptions& options);

/// Where a load reads, if it is linear in both flat axes and always inside of its tensor.
std::optional<ProductOperand::Place> place_of(const kernel::Arena& arena, kernel::BodyId value,
                                              const symbolic::Expr& outer, const symbolic::Expr& k);

/// The number that an extent is taken to be.
int64_t typical_extent(const symbolic::Expr& expr, const CpuKernelOptions& options);

/// What sums of a dtype are added up in.
graph::DType accumulator_of(graph::DType dtype);

}  // namespace luminal::codegen
