// Writes attention by blocks of queries (attention_kernel.h): what all products have in common, and
// products by tiles of vector registers. Those of matrix registers derive from it.
#pragma once

#include <optional>

#include "luminal/codegen/llvm/attention_blocks.h"
#include "luminal/codegen/llvm/gemm_tile.h"

namespace luminal::codegen {

/// See above.
class AttentionEmitter : protected AttentionBlocks {
 public:
  AttentionEmitter(VectorBuilder& builder, const AttentionCode& code)
      : AttentionBlocks(builder, code), at_(code.scratch()) {}
  virtual ~AttentionEmitter() = default;

  /// The entry "attention".
  void emit();

 protected:
  /// A block of keys: their scores, weights and share of the results.
  virtual void meet(llvm::Value* key, llvm::Value* count);
  /// The largest products of a vector of queries with a block of keys.
  virtual llvm::Value* largest_products(llvm::Value* query, llvm::Value* count);
  /// Stores the results of the block.
  virtual void finish();
  /// Units of a packed query.
  virtual int64_t query_units() const { return inner_units(); }

  llvm::Value* place(int64_t part, llvm::Value* bytes) {
    return builder_.offset(builder_.offset(scratch_, part), bytes);
  }
  /// One of the arrays of a value per query, from query `first` of the block on.
  llvm::Value* per_query(int64_t part, llvm::Value* first) { return place(part, scaled(first, 4)); }
  /// Where the rows of a panel of queries begin.
  llvm::Value* panel_place(int64_t part, llvm::Value* panel, int64_t rows) {
    return place(part, scaled(panel, rows * row_bytes()));
  }
  /// Where the vector of a query begins in an array of panels.
  llvm::Value* vector_place(int64_t part, int64_t rows, llvm::Value* query);
  void for_each_panel(llvm::function_ref<void(llvm::Value* panel)> body);

  int64_t group() const { return schedule_.dot_bf16 ? 2 : 1; }
  /// Units of the inner axis: elements, or pairs of bf16.
  int64_t inner_units() const { return (code_.inner() + group() - 1) / group(); }
  int64_t score_rows() const { return schedule_.key_block + schedule_.tile_rows; }
  int64_t row_bytes() const { return int64_t{schedule_.tile_columns} * 4; }

  /// Keys of a block as products read them.
  struct KeyRows {
    llvm::Value* first;
    llvm::Value* row_bytes;
    llvm::Value* step;  ///< bytes between units
  };
  KeyRows key_rows(llvm::Value* key);
  void pack_keys(llvm::Value* key, llvm::Value* count);
  /// A unit of the values of a block, along the depth: one key, or a pair; zero beyond the end.
  llvm::Value* value_unit(llvm::Value* key, llvm::Value* count, llvm::Value* unit,
                          llvm::Value* column);
  /// Scores of some queries of the block become weights relative to the largest so far.
  void weigh(llvm::Value* first, llvm::Value* end, llvm::Value* key, llvm::Value* count);
  /// Stores the results of some queries of the block, whose sums lie in rows.
  void store_rows(llvm::Value* first, llvm::Value* count, llvm::Value* rows);
  void fill(int64_t part, int64_t count, double value);
  /// Turns a square in registers: rows of 32-bit units come one by one, and columns go.
  void turn(llvm::function_ref<llvm::Value*(llvm::Value* row)> row_at,
            llvm::function_ref<void(int64_t column, llvm::Value* value)> store);

  const AttentionCode::Scratch at_;

 private:
  GemmSpec score_spec() const;
  GemmSpec value_spec() const;
  void call_own(GemmTile tile, llvm::ArrayRef<llvm::Value*> arguments);
  void emit_item();

  void pack_queries();
  void store_queries(llvm::Value* query, llvm::Value* unit, llvm::Value* value);
  void turn_queries(llvm::Value* query);
  void gather_queries(llvm::Value* query);
  llvm::Value* query_value(llvm::Value* query, llvm::Value* inner);
  void spread_queries(llvm::Value* query);

  void multiply_keys(llvm::Value* key, llvm::Value* count);
  void pack_values(llvm::Value* key, llvm::Value* count);
  void multiply_values(llvm::Value* key, llvm::Value* count);
  int64_t key_bytes() const;
  void rescale();

  Carried weighed(llvm::Value* query, llvm::Value* key, llvm::Value* count, kernel::BodyId score);
  void weigh_vector(llvm::Value* query, llvm::Value* key, llvm::Value* count, kernel::BodyId score);
  std::optional<double> factor_of(kernel::BodyId score) const;
  kernel::BodyId without_casts(kernel::BodyId id) const;
  llvm::Value* store_weights(llvm::Value* query, llvm::Value* scores, llvm::Value* count,
                             llvm::Value* total,
                             llvm::function_ref<llvm::Value*(llvm::Value* row)> weight_at);
  llvm::Value* store_pairs(llvm::Value* query, llvm::Value* count, llvm::Value* total,
                           llvm::function_ref<llvm::Value*(llvm::Value* row)> weight_at);
  llvm::Value* rounded_pair(llvm::Value* first, llvm::Value* second);

  llvm::Value* scratch_ = nullptr;
};

/// Adds the entry "attention" whose products are those of matrix registers.
void emit_attention_of_matrices(VectorBuilder& builder, const AttentionCode& code);

}  // namespace luminal::codegen
