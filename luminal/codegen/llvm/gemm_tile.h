// The register tile of gemm as a function of its own: mr rows of A, broadcast element by element,
// times a panel of B, over a run of k. All sums of the tile go to memory, the rows that do not
// exist too: whoever calls gives it room.
#pragma once

#include <array>

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
  kTileOut,
  kTileOutRow,               ///< bytes between rows of sums
  kTileRows,                 ///< that exist, 1 to mr
  kTileFirst,                ///< 1 if sums start here (else from what is there)
  kTileCommon,               ///< so many; the others are there if the spec asks ahead
  kTileAhead = kTileCommon,  ///< what is asked for in the first step of k
  kTileAheadStep,            ///< bytes from there to what the next step asks for
  kTileAheadNext,            ///< and to the second line of a step
  kTileArguments,
  kTileMaxima = kTileCommon,    ///< of a tile that has them and does not ask ahead
  kTileNextRows = kTileCommon,  ///< of tiles below each other: bytes from rows of A to the next's
};

/// Emits the tile function.
class GemmTile {
 public:
  /// A tile of `rows` x `columns` of a spec, vectors of which the last may be a narrow one;
  /// `whole`: there always are that many rows.
  GemmTile(VectorBuilder& builder, const GemmSpec& spec, int rows, int columns, bool whole)
      : builder_(builder),
        ir_(builder.ir()),
        spec_(spec),
        layout_(spec, builder.target()),
        rows_(rows),
        columns_(columns),
        vectors_((columns + layout_.lanes() - 1) / layout_.lanes()),
        whole_(whole),
        stored_(spec.accumulator) {}
  virtual ~GemmTile() = default;

  /// What sums are stored as, rounded if it is narrow. Else: as they are.
  void store_as(graph::DType dtype) { stored_ = dtype; }
  /// Sums go past the caches; where they go is aligned to 64 bytes.
  void stream() { streaming_ = true; }
  /// Where sums go is asked for while they are found: it is in no near cache.
  void ask_for_result() { asks_for_result_ = true; }
  /// What lies at `kTileMaxima`, a number for each column, becomes as large as the column's sums.
  /// (NaN may count or not.)
  void raise_maxima() { raises_maxima_ = true; }
  /// All calls have these arguments, as far as they are constants: the code may know them.
  void called_with(llvm::ArrayRef<llvm::Value*> arguments);
  /// Adds the function to the module; the builder's place is kept.
  llvm::Function* emit();

 protected:
  llvm::Value* argument(TileArgument number) {
    llvm::Value* known = known_[static_cast<size_t>(number)];
    return known != nullptr ? known : function_->getArg(number);
  }
  /// One unit of k for the whole tile.
  Carried multiply(llvm::ArrayRef<llvm::Value*> sums, llvm::Value* a, llvm::Value* b, bool tail);
  /// All of k: from the sums at the beginning to those at the end.
  virtual Carried run_over_k(const Carried& initial);
  int lanes(int vector) const;
  llvm::Type* sum_vector(int vector = 0);
  /// Bytes between rows of A.
  virtual llvm::Value* a_row_bytes() { return argument(kTileARow); }

  VectorBuilder& builder_;
  llvm::IRBuilder<>& ir_;
  GemmSpec spec_;
  GemmLayout layout_;
  int rows_;
  int columns_;
  int vectors_;
  llvm::SmallVector<llvm::Value*, 16> row_offsets_;  // of A, in bytes

 private:
  Carried initial_sums();
  llvm::Value* load_b(llvm::Value* pointer, int vector);
  llvm::Value* broadcast_a(llvm::Value* pointer, bool tail, int lanes);
  llvm::Value* tail_unit(llvm::Value* pointer);
  llvm::Value* product(llvm::Value* sum, llvm::Value* a, llvm::Value* b);
  llvm::Value* out_place(int row, int vector);
  void store_sums(llvm::ArrayRef<llvm::Value*> sums);
  void raise_maxima(llvm::ArrayRef<llvm::Value*> sums);
  void ask_for_row(llvm::Value* row);
  llvm::Value* ask_ahead(llvm::Value* pointer);

  bool whole_;
  graph::DType stored_;
  bool streaming_ = false;
  bool asks_for_result_ = false;
  bool raises_maxima_ = false;
  std::array<llvm::Value*, kTileArguments> known_ = {};  // constants
  llvm::Function* function_ = nullptr;
};

/// The tiles that one kernel calls. Null: there are always as many as the full one has.
struct TileSet {
  llvm::Function* full = nullptr;
  llvm::Function* few_columns = nullptr;  ///< as many as the spec's column_tail
  llvm::Function* few_rows = nullptr;
};

/// Calls the tile of a set that fits the columns and rows that are left.
void call_tile(VectorBuilder& builder, const GemmSpec& spec, const TileSet& tiles,
               llvm::ArrayRef<llvm::Value*> arguments, llvm::Value* columns, llvm::Value* rows);

}  // namespace luminal::codegen
