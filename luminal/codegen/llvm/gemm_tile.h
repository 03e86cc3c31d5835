// The register tile of gemm as a function of its own: mr rows of A, broadcast element by element,
// times a panel of B, over a run of k, then stored or handed to the epilogue.
#pragma once

#include "luminal/codegen/llvm/elements.h"
#include "luminal/codegen/llvm/gemm.h"

namespace luminal::codegen {

/// The arguments of the tile function, in order. All but pointers are 64-bit; strides are in bytes.
enum TileArgument : int {
  kTileA,
  kTileARow,   ///< bytes between rows of A
  kTileAStep,  ///< bytes between units of k
  kTileB,
  kTileBStep,  ///< bytes between units of k
  kTileUnits,  ///< whole units of k
  kTileTail,   ///< elements of k after them, fewer than a unit
  kTileC,
  kTileCRow,
  kTileRows,     ///< that exist, 1 to mr
  kTileColumns,  ///< that exist, 1 to nr
  kTileRow,      ///< position in C, for the epilogue
  kTileColumn,
  kTileBatch,
  kTileBuffers,
  kTileScalars,
  kTileFirst,  ///< 1 if sums start here (else from C)
  kTileLast,   ///< 1 if sums end here (else they go back to C)
  kTileArguments,
};

/// Emits the tile function.
class GemmTile {
 public:
  GemmTile(VectorBuilder& builder, const GemmSpec& spec, const GemmEpilogue& epilogue)
      : builder_(builder),
        ir_(builder.ir()),
        spec_(spec),
        epilogue_(epilogue),
        layout_(spec, builder.target()) {}

  /// Adds the function to the module; the builder's place is kept.
  llvm::Function* emit();

 private:
  llvm::Value* argument(TileArgument number) { return function_->getArg(number); }
  llvm::Type* sum_vector();
  Carried initial_sums();
  Carried sums_from_c();
  Carried multiply(llvm::ArrayRef<llvm::Value*> sums, llvm::Value* a, llvm::Value* b, bool tail);
  llvm::Value* broadcast_a(llvm::Value* pointer, bool tail);
  llvm::Value* tail_unit(llvm::Value* pointer);
  llvm::Value* product(llvm::Value* sum, llvm::Value* a, llvm::Value* b);
  Carried run_over_k(const Carried& initial);
  void store_sums(llvm::ArrayRef<llvm::Value*> sums);
  void store_directly(llvm::ArrayRef<llvm::Value*> sums);
  void store_through_scratch(llvm::ArrayRef<llvm::Value*> sums, bool with_epilogue);
  llvm::Value* row_mask(int row, int vector);
  llvm::Value* converted(llvm::Value* value);
  bool can_store_directly() const;

  VectorBuilder& builder_;
  llvm::IRBuilder<>& ir_;
  GemmSpec spec_;
  const GemmEpilogue& epilogue_;
  GemmLayout layout_;
  llvm::Function* function_ = nullptr;
  llvm::SmallVector<llvm::Value*, 16> row_offsets_;  // of A, in bytes
};

}  // namespace luminal::codegen
