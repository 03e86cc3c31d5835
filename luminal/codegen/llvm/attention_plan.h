// Attention, recognised on the body: a sum over keys of exp(score - its maximum) times a value,
// where scores are made of one product over an inner axis. Whatever is done to the scores (scale,
// masks, soft caps), to queries, keys and values before and to the result after it stays a body.
// Batches, heads and groups of heads are rows like any other.
#pragma once

#include <vector>

#include "luminal/codegen/llvm/attention_operand.h"
#include "luminal/codegen/llvm/recognised.h"

namespace luminal::codegen {

/// See above. Bodies below the sums are over the key axis of `output`.
struct AttentionPlan {
  std::vector<kernel::Expr> rows;  ///< output axes but query and depth, outermost first
  kernel::Expr query;              ///< one axis, or the constant 0
  kernel::Expr depth;              ///< the axis of the values
  kernel::Expr key;
  kernel::Expr inner;  ///< the axis of the products

  kernel::BodyId output;               ///< the sum over keys
  std::vector<kernel::BodyId> maxima;  ///< reductions that are the maximum of the scores
  std::vector<kernel::BodyId> totals;  ///< reductions that are the sum of the weights
  kernel::BodyId products;             ///< the product of a query and a key
  kernel::BodyId score;                ///< of one key, from `products`
  kernel::BodyId queries;              ///< the query's side of the product
  AttentionOperand keys;
  AttentionOperand values;
  bool base_two = false;  ///< weights are powers of two, else of e
  /// Factors of the sum that do not depend on the key; true for divisors.
  std::vector<std::pair<kernel::BodyId, bool>> factors;
  /// The score is -inf unless all of these are 1.
  std::vector<kernel::Expr> conditions;
  /// Computing a score again is cheaper than keeping it.
  bool cheap_score = true;
};

/// The attention that a kernel of one root is, or why it is none.
Recognised<AttentionPlan> match_attention(kernel::Arena& arena, const kernel::Kernel& kernel);

}  // namespace luminal::codegen
