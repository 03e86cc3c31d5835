// What the emitters of attention share: where operands lie, which keys a mask allows, and what is
// done to finished sums.
#pragma once

#include <limits>

#include "luminal/codegen/llvm/attention_kernel.h"
#include "luminal/codegen/llvm/body_code.h"

namespace luminal::codegen {

/// See above. The block of queries that is worked on is set by whoever derives from it.
class AttentionBlocks {
 protected:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  AttentionBlocks(VectorBuilder& builder, const AttentionCode& code);

  /// Starts an entry; further buffers than the tensors come after them.
  EntryArguments begin(std::string_view name);

  llvm::Value* number(int64_t value) { return builder_.index(value); }
  llvm::Value* least(llvm::Value* a, llvm::Value* b);
  llvm::Value* scaled(llvm::Value* value, int64_t by);
  llvm::Type* floats() { return VectorBuilder::vector(builder_.f32(), lanes_); }
  llvm::Type* integers() { return VectorBuilder::vector(builder_.i32(), lanes_); }
  llvm::Value* constant(double value) { return VectorBuilder::number(floats(), value); }
  /// The second where one of them is NaN.
  llvm::Value* larger(llvm::Value* a, llvm::Value* b) {
    return ir_.CreateSelect(ir_.CreateFCmpOGT(a, b), a, b);
  }
  /// The power that turns a difference of scores into a weight.
  llvm::Value* power(llvm::Value* difference);
  /// The same for a difference of scores times `score_unit`.
  llvm::Value* power_of_two(llvm::Value* exponent);
  double score_unit() const;

  /// Where an operand's element lies for a key, at the begin of its other axis.
  llvm::Value* operand_place(const kernel::PlainOperand& operand, llvm::Value* key,
                             const symbolic::Expr& other);
  /// A place along an axis.
  struct Place {
    symbolic::Expr axis;
    llvm::Value* at;
  };
  /// Elements of an operand for a key or a query along its other axis, as f32: lanes from `first`
  /// on, 0 beyond the end. `whole`: no vector reaches beyond it. Leaves the other axis spread.
  llvm::Value* row_value(kernel::BodyId operand, const Place& row, const symbolic::Expr& other,
                         llvm::Value* first, int lanes, bool whole);
  static int64_t bytes_of(const kernel::PlainOperand& operand);
  /// Bytes between neighbours along an axis.
  llvm::Value* stride_of(const kernel::PlainOperand& operand, const symbolic::Expr& axis);

  /// Queries that follow each other, at least one.
  struct Queries {
    llvm::Value* first;
    llvm::Value* count;
  };
  /// The keys that some of the queries may look at: first and end.
  std::pair<llvm::Value*, llvm::Value*> key_range(const Queries& queries);
  /// Whether no condition excludes any pair of one of the queries and one of these keys.
  llvm::Value* all_allowed(const Queries& queries, llvm::Value* key, llvm::Value* count);
  /// The score without the tests around it.
  kernel::BodyId below_conditions() const;

  /// Stores the results of one query (its number in all) from its sums: `result_at` gives the sums
  /// of a vector of the depth. Where no key was allowed they are NaN, as exp(-inf - -inf) is.
  void store_results(llvm::Value* query, llvm::Value* max, llvm::Value* total,
                     llvm::function_ref<llvm::Value*(llvm::Value* column)> result_at);

  VectorBuilder& builder_;
  llvm::IRBuilder<>& ir_;
  const AttentionCode& code_;
  const AttentionPlan& plan_;
  const AttentionSchedule& schedule_;
  const int lanes_;
  BodyCode body_;
  llvm::Value* first_query_ = nullptr;
  llvm::Value* query_count_ = nullptr;

 private:
  llvm::Value* extreme(const Queries& queries, const symbolic::Expr& condition,
                       const symbolic::Affine& affine, llvm::Value* key, bool largest);
};

}  // namespace luminal::codegen
