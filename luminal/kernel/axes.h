// The free axes of bodies. An axis is symbolic::Expr::axis(id, extent); its id says what it is: an
// output axis of the kernel, an axis bound by a reduction (numbered by the height of the reduction,
// so that equal computations have equal axes whoever consumes them), or the value of another body
// used as an index (a gather).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "luminal/graph/shape.h"

namespace luminal::kernel {

using symbolic::Expr;

/// A body of an arena.
struct BodyId {
  uint32_t value = UINT32_MAX;  ///< its place in the arena
  auto operator<=>(const BodyId&) const = default;
};

/// Axes, sorted by id, each once.
using AxisSet = std::vector<Expr>;

inline constexpr int64_t kFirstBoundAxis = 1000;  ///< axes of reductions have ids from here
/// A reduction binds at most this many axes.
inline constexpr int64_t kAxesPerHeight = 64;
inline constexpr int64_t kFirstValueAxis = int64_t{1} << 40;  ///< of axes that stand for bodies

/// Axis `k` of a reduction of this height (1 + the height of what it reduces).
inline Expr bound_axis(int height, int64_t k, const Expr& extent) {
  return Expr::axis(kFirstBoundAxis + kAxesPerHeight * height + k, extent);
}
/// The height of the reduction that binds an axis.
inline int bound_height(const Expr& axis) {
  return static_cast<int>((axis.axis_id() - kFirstBoundAxis) / kAxesPerHeight);
}
/// The value of a body as an index below `extent`.
inline Expr value_axis(BodyId body, const Expr& extent) {
  return Expr::axis(kFirstValueAxis + body.value, extent);
}
/// An axis of the result.
inline bool is_output_axis(const Expr& axis) { return axis.axis_id() < kFirstBoundAxis; }
inline bool is_value_axis(const Expr& axis) { return axis.axis_id() >= kFirstValueAxis; }
inline bool is_bound_axis(const Expr& axis) {
  return !is_output_axis(axis) && !is_value_axis(axis);
}  ///< belongs to a reduction
/// The body whose value this is.
inline BodyId body_of_value(const Expr& axis) {
  return {static_cast<uint32_t>(axis.axis_id() - kFirstValueAxis)};
}

/// Sorted and without repetitions.
AxisSet make_axis_set(std::span<const Expr> axes);
bool contains(const AxisSet& set, const Expr& axis);  ///< whether the axis is in it
/// Every axis of `part` is in `whole`.
bool is_subset(const AxisSet& part, const AxisSet& whole);
bool intersects(const AxisSet& a, const AxisSet& b);   ///< whether they have a common axis
AxisSet union_of(const AxisSet& a, const AxisSet& b);  ///< axes of either
/// The axes of `a` that are not in `b`.
AxisSet difference(const AxisSet& a, const AxisSet& b);

/// An axis and the divisor by which an index wants it split: i = divisor * high + low.
struct WantedSplit {
  Expr axis;     ///< the one to be split
  Expr divisor;  ///< extent of the low part
  bool operator==(const WantedSplit&) const = default;
};

/// The splits that turn divisions of the expression into plain axes.
std::vector<WantedSplit> wanted_splits(const Expr& expr);

/// The split that decides a test by the high part alone: i < 64 of 128, which is how two halves are
/// joined. Only for a few parts that are not tiny.
std::vector<WantedSplit> wanted_test_splits(const Expr& test);

/// An equal test without parts that cannot decide it: 64*i + j < 64 is i < 1 for 0 <= j < 64.
Expr simplified_test(const Expr& test);

/// The conjuncts of an expression with values 0 and 1: a product of tests is split, others stay.
std::vector<Expr> conjuncts(const Expr& condition);

}  // namespace luminal::kernel
