// Running reductions: results that are the reduction of all elements before their own, whatever is
// done to the elements before and to the results after. Found on the body, so a mask of positions
// below a sum is one however it came about: cumsum, cummax, their reverses, their gradients.
#pragma once

#include <vector>

#include "luminal/codegen/llvm/recognised.h"
#include "luminal/kernel/body.h"

namespace luminal::codegen {

/// A kernel as a scan.
struct ScanPlan {
  kernel::BodyId reduction;  ///< what the roots read
  graph::Op op = graph::Op::kSum;
  graph::DType dtype = graph::DType::kF32;
  kernel::BodyId value;               ///< what is reduced, over `axis` and axes of `outer`
  symbolic::Expr axis = 0;            ///< the output axis that is scanned
  bool backward = false;              ///< results are of the elements after
  bool exclusive = false;             ///< and not of their own
  std::vector<symbolic::Expr> outer;  ///< all other output axes
};

/// The kernel as a scan, or why it is none: a single reduction, of elements chosen by comparing
/// their position with that of the result. New bodies go to the arena.
Recognised<ScanPlan> match_scan(kernel::Arena& arena, const kernel::Kernel& kernel);

}  // namespace luminal::codegen
