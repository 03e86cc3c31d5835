// What the rules about products ask of views. A product (Contract in the rule files) is the sum
// over the last `count` axes of the domain of a * b; its domain is the shape of the result and the
// summed axes. Which axes are rows, columns, batch or summed is read off the views, so that one
// question serves every operand order, transposition, batching and grouping.
#pragma once

#include <optional>

#include "luminal/rules/edge_views.h"

namespace luminal::rules {

/// The operands of a sum over `count` axes of what `seen` sees of a product of `a` and `b`: two
/// views over the domain of the sum. Nothing if it is no product of matrices or vectors: both sides
/// must change along a summed axis, and one side along an axis of the result that the other has
/// not.
std::optional<Plan> contraction(int64_t count, const Access& seen, const Access& a,
                                const Access& b);

/// The type of a * b before the sum.
TensorType product_type(const TensorType& type, const Access& a);

/// (x a) b as x (a b), or with x and a exchanged. `outer` reads the inner product, which sums
/// `inner_count` axes of x * a; b is over the domain of the outer product. Only where a result with
/// fewer multiplications is possible.
///   type 0, count 0: of a b    views: a, b in it; x, and a b, in the outer sum    count 1: of the
///   outer sum
std::optional<Plan> reassociated(const TensorType& type, int64_t count, const Access& outer,
                                 const Access& b, const TensorType& inner_type, int64_t inner_count,
                                 const Access& x, const Access& a);

/// The factor `scale` of what `seen` sees of scale * rest, taken out of a sum over the last `count`
/// axes: nothing if it changes along them, or if the rest does not.
///   views: scale over the result, rest over the domain
std::optional<Plan> factored_out(int64_t count, const Access& seen, const Access& scale,
                                 const Access& rest);

/// Two operands of equal products as they meet in a sum: x a + x b = x (a + b).
///   type 0: of a + b    views: a, b in it; a + b over the domain
std::optional<Plan> common_factor(const Access& a, const Access& b);

/// Where a number may be multiplied into an operand of a product in place of the result: only if
/// the operand has at most half as many elements.
///   type 0: of number * a    views: number, a in it; number * a over the domain
std::optional<Plan> scaled_operand(const TensorType& type, const Access& number, const Access& a);

/// True if distributing x (a + c), with c a product over `inner_count` axes of `u` and others,
/// leaves a product with far fewer multiplications: c has low rank.
bool is_low_rank(int64_t count, const Access& sum, const TensorType& inner_type,
                 int64_t inner_count, const Access& u);

/// The part that siblings have in common: products of one x with matrices that have one axis of
/// their own.    views: x without that axis    counts: its place, summed axes
std::optional<Plan> sibling_key(const TensorType& type, int64_t count, const Access& x,
                                const Access& w);

/// Two siblings as one product.
///   type 0: of the result    type 1: of the joined matrices    count 0: summed axes
///   views: x; first and second matrix in their parts; the joined ones over the domain; the results
///   in the joined result
std::optional<Plan> joined_siblings(const TensorType& first_type, const TensorType& second_type,
                                    int64_t count, const Access& x, const Access& first,
                                    const Access& second);

}  // namespace luminal::rules
