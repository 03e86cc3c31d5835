#include "luminal/search/trial_dims.h"

#include <algorithm>
#include <array>
#include <map>

#include "luminal/kernel/reads.h"
#include "luminal/search/kernel_data.h"
#include "luminal/support/error.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::search {
namespace {

using symbolic::Expr;
using symbolic::Interval;

/// What values of dims have to agree with.
class Limits {
 public:
  Limits(const kernel::Arena& arena, const kernel::Kernel& kernel, const graph::DimValues& typical)
      : work_(work_of(arena, kernel)), typical_(typical) {
    for (const Expr& axis : kernel.axes) add_extent(axis.axis_extent(), true);
    for (const kernel::Root& root : kernel.roots) {
      for (const Expr& expr : root.store) note(expr);
      for (const Expr& extent : arena.tensor(root.tensor).shape) add_extent(extent, true);
    }
    for (const kernel::NodeId id : tensors_read(arena, kernel))
      for (const Expr& extent : arena.tensor(id).shape) add_extent(extent, false);
    for (const kernel::BodyId id : kernel::bodies_of(arena, kernel)) {
      for (const Expr& expr : arena[id].exprs) {
        note(expr);
        for (const Expr& axis : expr.axes()) add_extent(axis.axis_extent(), false);
      }
    }
    typical_work_ = static_cast<double>(symbolic::evaluate(work_, values(typical)));
  }

  /// The range of each dim that occurs anywhere.
  const std::map<std::string, Interval>& intervals() const { return intervals_; }

  /// Whether the graph might run with these. `empty` are those where what is read has nothing, as
  /// long as there is something to compute.
  bool admit(const graph::DimValues& dims, bool empty = false) const try {
    return std::ranges::all_of(extents_, [&](const Extent& each) {
      const int64_t least = empty && !each.is_result ? 0 : each.least;
      return symbolic::evaluate(each.expr, values(dims)) >= least;
    });
  } catch (const UserError&) {
    return false;  // an extent that has no value
  }

  /// Whether it takes several times as long as with the typical ones.
  bool take_long(const graph::DimValues& dims) const try {
    constexpr double kTimesTypical = 2.5;
    constexpr double kLittle = 1e8;  // values: some hundredths of a second
    const auto work = static_cast<double>(symbolic::evaluate(work_, values(dims)));
    return work > std::max(kTimesTypical * typical_work_, kLittle);
  } catch (const UserError&) {
    return true;  // more than a number can say
  }

 private:
  static symbolic::Values values(const graph::DimValues& dims) {
    return {dims.begin(), dims.end()};
  }
  void note(const Expr& expr) {
    for (const Expr& each : expr.variables()) {
      const Interval bounds = each.bounds();
      auto& [lo, hi] = intervals_.emplace(each.name(), bounds).first->second;
      lo = std::max(lo, bounds.lo);
      hi = std::min(hi, bounds.hi);
    }
  }
  /// Those of results come first.
  void add_extent(const Expr& extent, bool is_result) {
    if (extent.variables().empty()) return;
    note(extent);
    const auto is_same = [&](const Extent& each) { return each.expr == extent; };
    if (std::ranges::any_of(extents_, is_same)) return;
    const bool is_some = symbolic::evaluate(extent, values(typical_)) > 0;
    extents_.push_back({extent, is_some ? 1 : 0, is_result});
  }

  struct Extent {
    Expr expr;
    int64_t least = 0;
    bool is_result = false;
  };

  Expr work_;
  const graph::DimValues& typical_;
  double typical_work_ = 0.0;
  std::map<std::string, Interval> intervals_;
  std::vector<Extent> extents_;
};

/// What is wanted of a dim; another value that will do has the same remainder by `step`.
struct Wanted {
  int64_t value = 0;
  int64_t step = 1;
  bool empty = false;  ///< what is read may have nothing
};

/// Dims with one of them set to what is wanted, or to the next value above that will do, unless
/// that takes long: less then. As they are if there is none.
graph::DimValues with(const Limits& limits, const graph::DimValues& dims, const std::string& name,
                      const Interval& range, Wanted wanted) {
  constexpr int kMostTries = 512;
  const int64_t least = std::max<int64_t>(range.lo, 0);
  graph::DimValues result = dims;
  int64_t& value = result[name];
  value = wanted.value;
  if (value > range.hi) value -= (value - range.hi + wanted.step - 1) / wanted.step * wanted.step;
  if (value < least) value += (least - value + wanted.step - 1) / wanted.step * wanted.step;
  for (int k = 0; k < kMostTries && value <= range.hi; ++k, value += wanted.step) {
    if (!limits.admit(result, wanted.empty)) continue;
    while (limits.take_long(result) && value > std::max<int64_t>(2 * least, 1))
      value = value / 2 | 1;
    return limits.admit(result, wanted.empty) && !limits.take_long(result) ? result : dims;
  }
  return dims;
}

}  // namespace

std::vector<TrialDims> other_dims(const kernel::Arena& arena, const kernel::Kernel& kernel,
                                  const graph::DimValues& typical) {
  const Limits limits(arena, kernel, typical);
  constexpr std::array<int64_t, 4> kOdd = {77, 53, 91, 39};
  constexpr std::array<int64_t, 4> kSmall = {12, 4, 8, 16};
  constexpr std::array<int64_t, 4> kFew = {3, 5, 2, 7};
  constexpr std::array<int64_t, 4> kWhole = {16, 32, 64, 16};
  graph::DimValues odd = typical;
  graph::DimValues least = typical;
  graph::DimValues small = typical;
  graph::DimValues few = typical;
  graph::DimValues whole = typical;
  graph::DimValues between = typical;
  graph::DimValues above = typical;
  std::array<graph::DimValues, kSmall.size()> alone;  // one dim at its least
  alone.fill(typical);
  size_t number = 0;
  for (const auto& [name, usual] : typical) {
    const auto found = limits.intervals().find(name);
    if (found == limits.intervals().end()) continue;
    const Interval& range = found->second;
    const auto set = [&](graph::DimValues& dims, Wanted wanted) {
      dims = with(limits, dims, name, range, wanted);
    };
    const int64_t odd_value = kOdd[number % kOdd.size()];
    set(odd, {odd_value, 2});
    set(least, {0, 1});
    set(small, {kSmall[number % kSmall.size()], 4});
    set(few, {kFew[number % kFew.size()], 1});
    set(whole, {kWhole[number % kWhole.size()], 16});
    if (number < alone.size()) set(alone[number], {0, 1, true});
    ++number;
    // Where the odd value is the larger one these tell no more.
    if (usual <= odd_value) continue;
    set(between, {(odd_value + usual) / 8 * 4 + 2, 4});
    if (usual < range.hi) set(above, {(usual + usual / 4) | 1, usual + 1 < range.hi ? 2 : 1});
  }
  std::vector<TrialDims> result;
  const auto add = [&](const graph::DimValues& dims, bool once) {
    const auto is_same = [&](const TrialDims& each) { return each.values == dims; };
    if (dims != typical && std::ranges::none_of(result, is_same))
      result.push_back({.values = dims, .special = result.empty(), .once = once});
  };
  for (const graph::DimValues* dims : {&odd, &least}) add(*dims, false);
  for (const graph::DimValues* dims : {&small, &few, &whole, &between, &above}) add(*dims, true);
  for (const graph::DimValues& dims : alone) add(dims, true);
  return result;
}

}  // namespace luminal::search
