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

  /// Where the sums of a tile are one after the other what the kernel stores, if they are: as they
  /// are, or rounded to bf16.
  std::optional<symbolic::Expr> direct_position() const;
  /// What the kernel stores, if tiles do.
  graph::DType stored_dtype() const { return arena->tensor(plan.roots[0].tensor).dtype; }
  /// Whether there are rows and columns for every tile.
  bool has_whole_tiles() const;
  /// Bytes of what tiles store, if that is known.
  std::optional<int64_t> stored_bytes() const;
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
  /// Where k is split: rows of the sums of a panel (tiles write whole ones), bytes of all sums of a
  /// part, and work items of "join".
  symbolic::Expr tile_rows() const;
  symbolic::Expr part_bytes(const CpuTarget& target) const;
  symbolic::Expr join_items(const CpuTarget& target) const;
};

/// How many points some axes have together.
symbolic::Expr product_of_extents(std::span<const symbolic::Expr> axes);

}  // namespace luminal::codegen
