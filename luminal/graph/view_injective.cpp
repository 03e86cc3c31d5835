// Two steps. First, axes that were made by merging are split again: where i / d occurs, i becomes
// hi * d + lo. This may add positions (if d does not divide the extent), which is safe: a map that
// takes no value twice on more positions takes none twice on fewer. Then the expressions are affine
// or nothing is proved, and each that is a mixed-radix number of the axes not known yet gives those
// axes away.
#include "luminal/graph/view_injective.h"

#include <algorithm>
#include <optional>
#include <span>

#include "luminal/symbolic/quotients.h"

namespace luminal::graph {

namespace {

using symbolic::Affine;
using symbolic::AffineTerm;
using symbolic::Quotient;

// Every round removes one division; real views have a handful.
constexpr int kMaxSplits = 32;
// Ids of axes made by splitting, out of the way of a domain's own.
constexpr int64_t kFirstSplitAxis = 1'000'000;

// What an axis becomes, and the axes this is made of.
struct AxisSplit {
  Expr axis;
  Expr value;
  std::vector<Expr> parts;
};

// With t = c +- i the numerator: t = hi * d + lo, where hi counts from floor(t_min / d) on.
std::optional<AxisSplit> split_for(const Quotient& quotient, int64_t next_id) {
  const std::optional<Affine> affine = as_affine(quotient.numerator);
  if (!affine || affine->terms.size() != 1 || !quotient.divisor.axes().empty()) return std::nullopt;
  const auto& [axis, sign] = affine->terms.front();
  if (!sign.is_constant(1) && !sign.is_constant(-1)) return std::nullopt;
  if (!provably_ge(quotient.divisor, 1)) return std::nullopt;
  const Expr travel = axis.axis_extent() - 1;
  const Expr lowest = sign.is_constant(1) ? affine->constant : affine->constant - travel;
  const Expr first = floor_div(lowest, quotient.divisor);
  const Expr count = floor_div(lowest + travel, quotient.divisor) - first + 1;
  const Expr hi = Expr::axis(next_id, count), lo = Expr::axis(next_id + 1, quotient.divisor);
  AxisSplit split{axis, sign * ((first + hi) * quotient.divisor + lo - affine->constant), {}};
  for (const Expr& part : {hi, lo})
    if (part.is_axis()) split.parts.push_back(part);
  return split;
}

std::optional<AxisSplit> find_split(const std::vector<Expr>& exprs, int64_t next_id) {
  for (const Expr& expr : exprs)
    for (const Quotient& quotient : symbolic::quotients(expr))
      if (std::optional<AxisSplit> split = split_for(quotient, next_id)) return split;
  return std::nullopt;
}

void split_merged_axes(std::vector<Expr>& exprs, std::vector<Expr>& axes) {
  for (int round = 0; round < kMaxSplits; ++round) {
    const std::optional<AxisSplit> split = find_split(exprs, kFirstSplitAxis + 2 * round);
    if (!split) return;
    for (Expr& expr : exprs) expr = substitute(expr, {{split->axis, split->value}});
    std::erase(axes, split->axis);
    axes.insert(axes.end(), split->parts.begin(), split->parts.end());
  }
}

// |stride| of one axis, and |stride| * (extent - 1): how far the axis reaches.
struct Digit {
  Expr stride;
  Expr reach;
};

// True if the digits can be ordered so that each stride exceeds what the smaller ones reach.
bool is_mixed_radix(std::vector<Digit> digits, const Expr& reach_so_far) {
  if (digits.empty()) return true;
  for (size_t k = 0; k < digits.size(); ++k) {
    if (!provably_less(reach_so_far, digits[k].stride)) continue;
    std::vector<Digit> rest = digits;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(k));
    if (is_mixed_radix(std::move(rest), reach_so_far + digits[k].reach)) return true;
  }
  return false;
}

bool is_unknown(const Expr& axis, const std::vector<Expr>& unknown) {
  return std::find(unknown.begin(), unknown.end(), axis) != unknown.end();
}

// True if the value tells all its unknown axes, given the known ones.
bool tells_its_axes(const Affine& affine, const std::vector<Expr>& unknown) {
  std::vector<Digit> digits;
  for (const AffineTerm& term : affine.terms) {
    if (!is_unknown(term.axis, unknown)) continue;
    Expr stride = term.coefficient;
    if (!provably_ge(stride, 0)) stride = -stride;
    digits.push_back({stride, stride * (term.axis.axis_extent() - 1)});
  }
  return is_mixed_radix(std::move(digits), 0);
}

}  // namespace

bool is_injective(std::vector<Expr> exprs, std::vector<Expr> axes) {
  split_merged_axes(exprs, axes);
  std::vector<Expr> unknown = std::move(axes);
  for (bool progress = true; progress && !unknown.empty();) {
    progress = false;
    for (const Expr& expr : exprs) {
      const std::optional<Affine> affine = as_affine(expr);
      if (!affine || !tells_its_axes(*affine, unknown)) continue;
      const size_t before = unknown.size();
      for (const AffineTerm& term : affine->terms) std::erase(unknown, term.axis);
      progress |= unknown.size() < before;
    }
  }
  return unknown.empty();
}

}  // namespace luminal::graph
