// What the code of products is made of: a plan, its schedule, and the sizes that follow from both.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "luminal/codegen/llvm/contraction_plan.h"
#include "luminal/codegen/llvm/gemm.h"

namespace luminal::codegen {

/// What the entries are made of. Pointers come in the order of `tensors`, then panels of products
/// that are packed ahead; scalars in the order of `dims`.
struct GemmCode {
  const kernel::Arena* arena = nullptr;
  ContractionPlan plan;
  std::vector<GemmSpec> specs;  ///< per product; tiles are the same
  std::vector<kernel::NodeId> tensors;
  std::vector<std::string> dims;
  bool round_each = false;
  bool streaming = false;  ///< tiles store what they sum past the caches

  /// Where the sums of a tile are one after the other what the kernel stores, if they are.
  std::optional<symbolic::Expr> direct_position() const;
  /// Whether every tile is whole and stores lines of memory, in a result of this many bytes or more
  /// (0: never).
  bool stores_lines(int64_t bytes) const;
  /// Work items of "gemm", and of "pack".
  symbolic::Expr items(const CpuTarget& target) const;
  symbolic::Expr pack_items(const CpuTarget& target) const;
  /// Bytes of scratch that a thread needs, and where the parts begin.
  symbolic::Expr scratch_bytes(const CpuTarget& target) const;
  symbolic::Expr panel_offset(size_t product, const CpuTarget& target) const;
  symbolic::Expr sums_offset(size_t product, const CpuTarget& target) const;
  /// Bytes of all panels of a product.
  symbolic::Expr packed_bytes(size_t product, const CpuTarget& target) const;
};

/// How many points some axes have together.
symbolic::Expr product_of_extents(std::span<const symbolic::Expr> axes);

}  // namespace luminal::codegen
