// Packs panels of B for gemm: nr columns wide, k running down, g neighbouring k's in one unit, zero
// where the matrix ends. Sources are K x N (whole rows) and N x K (transposed in registers).
#pragma once

#include "luminal/codegen/llvm/elements.h"
#include "luminal/codegen/llvm/gemm.h"

namespace luminal::codegen {

/// Emits packing code at the builder's place.
class GemmPacker {
 public:
  GemmPacker(VectorBuilder& builder, const GemmSpec& spec)
      : builder_(builder), ir_(builder.ir()), spec_(spec), layout_(spec, builder.target()) {}

  /// What is packed: `source` points at element (0, 0) of the panel; all 64-bit values.
  struct Panel {
    llvm::Value* source;
    llvm::Value* stride;   ///< elements between rows of the source
    llvm::Value* columns;  ///< that exist, at most nr
    llvm::Value* k;
    llvm::Value* target;  ///< where the panel goes, its header first
  };
  void pack(const Panel& panel);

 private:
  void pack_rows(const Panel& panel);
  void pack_transposed(const Panel& panel);
  llvm::Value* unit_from_rows(const Panel& panel, llvm::Value* row, int vector);
  llvm::Value* units_from_column(const Panel& panel, llvm::Value* column, llvm::Value* k);
  llvm::Value* store_units(const Panel& panel, llvm::Value* unit_row, int vector,
                           llvm::Value* units);
  llvm::Value* add_to_sums(llvm::Value* sums, llvm::Value* units);
  void store_sums(const Panel& panel, llvm::ArrayRef<llvm::Value*> sums);
  llvm::Type* unit_vector();

  VectorBuilder& builder_;
  llvm::IRBuilder<>& ir_;
  GemmSpec spec_;
  GemmLayout layout_;
};

}  // namespace luminal::codegen
