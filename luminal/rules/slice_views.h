// What the rules about slices, concatenations and windows ask of views.
#pragma once

#include <optional>

#include "luminal/rules/edge_views.h"

namespace luminal::rules {

/// The box of its source that a view reads, if that is known to be at most half of it and not
/// empty.
///   type 0: of the box    views: the source seen by the box; the box as the old view saw the
///   source
std::optional<Plan> half_part(const Access& view);

/// What an operand of a node sees of what `plan` cuts out of the node (axes behind stay).
std::optional<Access> narrowed(const Plan& plan, const Access& operand);

/// The truth value that an iota has everywhere `view` looks, seen through `seen`: 1 or 0.
std::optional<int64_t> decided(const Head& iota, const Access& seen, const Access& view);

/// The parts of select(i_k < border, a padded, b padded), which is a concatenation.
///   views: a, b over their parts    count 0: the axis
std::optional<Plan> concatenation(const TensorType& type, const Head& iota, const Access& condition,
                                  const Access& a, const Access& b);

/// A concatenation written out.    views: condition, a, b over the result    type 0: the
/// condition's
std::optional<Plan> concat_definition(const TensorType& type, int64_t axis, const Access& a,
                                      const Access& b);
/// The iota that is true on the first part of a concatenation.
Head concat_condition(const TensorType& type, int64_t axis, const Access& a);

/// A product over `count` axes, one side of which is a concatenation seen by `seen`.
///
/// Along an axis of the result, the product is a concatenation: types of the parts, views of both
/// parts and of the other side (twice), count 0 the axis of the result.
std::optional<Plan> product_of_joined_rows(const TensorType& type, int64_t count,
                                           const Access& seen, int64_t axis, const Access& a,
                                           const Access& b, const Access& other);
/// Along a summed axis, it is a sum of two products: views as above.
std::optional<Plan> product_of_joined_depth(int64_t count, const Access& seen, int64_t axis,
                                            const Access& a, const Access& b, const Access& other);

/// A reduction over the axis of a concatenation: views of both parts over their domains.
std::optional<Plan> reduction_of_concat(int64_t count, const Access& seen, int64_t axis,
                                        const Access& a, const Access& b);

/// The windows that a product reads with overlap, written to memory once: im2col.
///   type 0: of the windows    views: the source over them; them over the domain
std::optional<Plan> gathered_windows(int64_t count, const Access& operand);

/// A product over channels and windows as a sum over windows of products over channels.
///   type 0: of the products    views: both operands over their domain, the products in the sum
///   counts: channels, windows
std::optional<Plan> split_windows(const TensorType& type, int64_t count, const Access& a,
                                  const Access& b);

}  // namespace luminal::rules
