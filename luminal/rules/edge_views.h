// Views as rules use them: composed, narrowed, with axes dropped, moved and added. Everything here
// answers with nothing where it cannot be said, so that a rule that asks simply does not apply.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "luminal/rules/tensor_values.h"

namespace luminal::rules {

/// What `outer` reads of what `inner` reads.
std::optional<Access> composed(const Access& inner, const Access& outer);

/// Which axes of its domain a view uses, in indices or conditions.
std::vector<bool> used_axes(const View& view);

/// The same values over another domain: axis k of the old domain becomes axis `to[k]` of the new
/// one, or position 0 where `to[k]` is negative, which is for axes that the view does not use.
std::optional<Access> with_axes(const Access& access, const Shape& domain, std::span<const int> to);

/// `outer` with more axes behind, which pass through to the axes behind those that `outer` indexes.
std::optional<Access> composed_before(const Access& inner, const Access& outer);

/// Some views of one domain, over only those of its axes that one of them uses.
struct Compacted {
  std::vector<int> axes;  // of the old domain, ascending
  Shape domain;
  std::vector<Access> views;
  /// Reads a tensor of shape `domain` over the old domain.
  View projection;
};
std::optional<Compacted> compacted(std::span<const Access> views);

/// The product of extents.
Expr volume(std::span<const Expr> extents);

/// a <= b is proved.
bool provably_le(const Expr& a, const Expr& b);

/// The first and last value of an expression that is affine in axes with coefficients of known
/// sign, as expressions without axes.
struct Range {
  Expr first, last;
};
std::optional<Range> range_of(const Expr& expr);

}  // namespace luminal::rules
