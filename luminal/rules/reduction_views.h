// What the rules about reductions, casts and numbers ask.
#pragma once

#include <optional>

#include "luminal/rules/edge_views.h"

namespace luminal::rules {

/// A reduction of `count` axes of what `outer` sees of a reduction of `inner_count` axes of
/// `inner`, as one.    views: inner over all axes    count 0: all reduced axes
std::optional<Plan> merged_reductions(int64_t count, const Access& outer, int64_t inner_count,
                                      const Access& inner);

/// A long reduction over one axis to few results, in two steps.
///   type 0: after the first    views: the operand over the first; its result in the second
std::optional<Plan> split_reduction(const TensorType& type, int64_t count, const Access& operand);

/// The same of narrow floats, with all values in f32.
///   types: as above; the result's; the whole operand's    views: as above
std::optional<Plan> split_narrow_reduction(const TensorType& type, int64_t count,
                                           const Access& operand);

/// Reduced axes of extent 1 dropped.    views: the operand    count 0: the axes left, at least 1
std::optional<Plan> without_unit_axes(int64_t count, const Access& operand);

/// An operand all of whose reduced axes have extent 1, over the result.
std::optional<Access> reduced_nothing(int64_t count, const Access& operand);

/// Reduced axes that the operand does not change along, known to be at least 1 long.
///   views: the operand without them    count 0: the axes left, at least 1
std::optional<Plan> without_broadcast_axes(int64_t count, const Access& operand);
/// How often each element is reduced because of those axes, as an iota of rank 0.
std::optional<Head> broadcast_count(int64_t count, const Access& operand);

/// The number that a constant has everywhere a view looks.
std::optional<Scalar> uniform(const Head& head, const Access& seen);
/// 1 / number, where that is exact: a power of two.
std::optional<Scalar> exact_reciprocal(const Scalar& number);
/// The product of two numbers, rounded once, if both and it are finite and normal.
std::optional<Scalar> times(const Scalar& a, const Scalar& b);
/// k for an integer 2^k, k >= 1.
std::optional<Scalar> log2_of(const Scalar& number);
/// 2^k - 1 for an unsigned 2^k.
std::optional<Scalar> low_mask_of(const Scalar& number);

/// True if every value of the first dtype is one of the second.
bool is_lossless(const TensorType& from, const TensorType& to);

/// True if a cast from the first dtype through the second, which holds all of it, to the third
/// gives what one cast gives. Integers wrap where floats are cut to the range of an integer.
bool casts_end_alike(const TensorType& from, const TensorType& between, const TensorType& to);

/// True if the maximum over `count` axes of lossless casts is the cast of the maximum: there is
/// something to reduce, or the lowest values of both dtypes, which stand for nothing, are the same.
bool is_maximum_of_casts(int64_t count, const Access& operand, const TensorType& from);

/// True if a view permutes what it reads: every element once.
bool is_permutation(const Access& view);

}  // namespace luminal::rules
