// Packs panels of B for gemm: nr columns wide, k running down, g neighbouring k's in one unit. B is
// any body over columns and k: what is done to it (a cast, a scale, padding, the windows of a
// convolution) is done here. Values come along the columns or, where memory runs the other way,
// along k and are turned in registers.
#pragma once

#include "luminal/codegen/llvm/body_code.h"
#include "luminal/codegen/llvm/contraction_plan.h"
#include "luminal/codegen/llvm/gemm.h"

namespace luminal::codegen {

/// Emits packing code at the builder's place.
class GemmPacker {
 public:
  GemmPacker(VectorBuilder& builder, BodyCode& body, const kernel::Arena& arena,
             const GemmSpec& spec, const AxisGroup& n, const Product& product)
      : builder_(builder),
        ir_(builder.ir()),
        body_(body),
        arena_(arena),
        spec_(spec),
        layout_(spec, builder.target()),
        n_(n),
        product_(product) {}

  /// Packs the panel that begins at a column; batch axes are set. All values are 64-bit.
  struct Panel {
    llvm::Value* column;
    llvm::Value* columns;  ///< that exist, at most nr
    llvm::Value* first;    ///< step of k
    llvm::Value* k;        ///< steps from there on
    llvm::Value* target;   ///< where the panel goes, its header first
  };
  void pack(const Panel& panel);

 private:
  void pack_rows(const Panel& panel);
  void pack_blocks(const Panel& panel);
  void pack_block(const Panel& panel, llvm::Value* unit, int vector);
  llvm::Value* word_of_digits(const Panel& panel, llvm::Value* k, int vector);
  void pack_windows(const Panel& panel);
  void pack_window(const Panel& panel, llvm::Value* vector, bool one_run);
  void pack_columns(const Panel& panel);
  llvm::Value* units_along_columns(const Panel& panel, llvm::Value* unit,
                                   llvm::function_ref<void()> spread);
  llvm::Value* units_along_k(const Panel& panel, llvm::Value* column, llvm::Value* unit);
  /// A matrix whose rows are those of the panel: where they begin, and which columns exist.
  struct PlainColumns {
    llvm::Value* first;
    llvm::Value* row_bytes;
    llvm::SmallVector<llvm::Value*, 4> masks;  // one per vector
  };
  bool is_matrix_of_units() const;
  PlainColumns plain_columns(const Panel& panel);
  llvm::Value* interleaved(const PlainColumns& plain, llvm::Value* unit, size_t vector);
  llvm::Value* element(llvm::Value* value);
  llvm::Value* panel_value();
  void set_k(llvm::Value* k);
  void spread_columns(const Panel& panel, llvm::Value* vector);
  std::vector<symbolic::Expr> window_order() const;
  void for_each_k(const Panel& panel, std::span<const symbolic::Expr> axes,
                  llvm::function_ref<void()> body);
  void store_units(const Panel& panel, llvm::Value* unit_row, llvm::Value* vector,
                   llvm::Value* units);
  llvm::Value* add_to_sums(llvm::Value* sums, llvm::Value* units);
  void store_sums(const Panel& panel, llvm::Value* vector, llvm::Value* sums);
  llvm::Value* units_of(const Panel& panel);
  llvm::Type* unit_vector();

  VectorBuilder& builder_;
  llvm::IRBuilder<>& ir_;
  BodyCode& body_;
  const kernel::Arena& arena_;
  const GemmSpec& spec_;
  GemmLayout layout_;
  const AxisGroup& n_;
  const Product& product_;
};

}  // namespace luminal::codegen
