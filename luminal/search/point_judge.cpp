#include "luminal/search/point_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "luminal/graph/epsilon.h"
#include "luminal/kernel/compared_sums.h"
#include "luminal/kernel/evaluate.h"
#include "luminal/kernel/reads.h"
#include "luminal/search/point_oracle.h"

namespace luminal::search {
namespace {

using graph::Array;
using graph::DType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What a dtype makes of a number. Integers are rounded by what computes them.
double rounded(DType dtype, double value) {
  return graph::is_float(dtype) ? kernel::Evaluator::rounded(dtype, {value, 0}).real : value;
}

/// Or both no number.
bool is_same(double one, double other) {
  return one == other || (std::isnan(one) && std::isnan(other));
}

/// How far off a value is for one that should be `expected`, as a part of what is allowed; what
/// rounding `expected` costs does not count.
double distance(DType dtype, double actual, double expected, double allowed) {
  const double should = rounded(dtype, expected);
  if (is_same(actual, should)) return 0.0;
  if (std::isnan(actual) || !std::isfinite(should)) return kInfinity;
  // An infinity may be right where the upper limit is rounded to it.
  if (actual >= rounded(dtype, expected - allowed) && actual <= rounded(dtype, expected + allowed))
    return std::min(std::abs(actual - expected) / allowed, 1.0);
  return allowed > 0 && std::isfinite(actual)
             ? std::max(std::abs(actual - expected) / allowed, 1.001)
             : kInfinity;
}

PointVerdict judged_integer(const ExpectedPoint& point, const Array& result) {
  const int64_t actual = result.at(point.position).as_int64();
  if (actual >= point.least && actual <= point.most) return {};
  const std::string others =
      point.least == point.most ? "" : fmt::format(", from {} to {}", point.least, point.most);
  return {kInfinity, fmt::format("element {} of result {} is {}, the oracle says {}{}",
                                 point.position, point.root, actual, point.integer, others)};
}

/// Whether a node is a sum of products of three factors or more, of which one may be taken out.
bool sums_three_factors(const kernel::Arena& arena, const kernel::BodyNode& node) {
  const auto without_casts = [&](kernel::BodyId id) {
    while (arena[id].kind == kernel::BodyKind::kOp && arena[id].op == graph::Op::kCast)
      id = arena[id].children[0];
    return id;
  };
  const auto is_product = [&](kernel::BodyId id) {
    const kernel::BodyNode& each = arena[without_casts(id)];
    return each.kind == kernel::BodyKind::kOp && each.op == graph::Op::kMul;
  };
  if (node.kind != kernel::BodyKind::kReduce || !is_product(node.children[0])) return false;
  const auto& factors = arena[without_casts(node.children[0])].children;
  return std::any_of(factors.begin(), factors.end(), is_product);
}

}  // namespace

double number_at(const Array& array, int64_t position) {
  const graph::Scalar scalar = array.at(position);
  return graph::is_float(array.dtype()) ? scalar.as_double()
                                        : static_cast<double>(scalar.as_int64());
}

PointJudge::PointJudge(const kernel::Arena& arena, const kernel::Kernel& kernel) {
  bool has_reductions = false;
  bool has_masks = false;
  for (const kernel::BodyId id : kernel::bodies_of(arena, kernel)) {
    const kernel::BodyNode& node = arena[id];
    const bool is_op = node.kind == kernel::BodyKind::kOp;
    has_functions_ = has_functions_ || (is_op && may_have_few_digits(node.op));
    has_reductions = has_reductions || node.kind == kernel::BodyKind::kReduce;
    factors_leave_sums_ = factors_leave_sums_ || sums_three_factors(arena, node);
    jumps_ = jumps_ || (is_op && kernel::may_jump(node.op, node.dtype) &&
                        graph::is_float(arena[node.children[0]].dtype));
    has_masks = has_masks || node.kind == kernel::BodyKind::kWhere ||
                (is_op && node.op == graph::Op::kSelect);
  }
  may_hide_nan_ = has_reductions && has_masks;
}

/// Not where a last bit decides between a number, an infinity and a NaN. What is beyond the range
/// of a dtype is a number in f64; where that, `allowed` less or more, is rounded to what the oracle
/// says, so is every right result.
bool PointJudge::is_decided(const ExpectedPoint& point, DType dtype, double allowed) const {
  if (!std::isfinite(point.deviation) || (std::isnan(point.oracle) && may_hide_nan_)) return false;
  // What kernels compute with has a range too: beyond it something may be no number on the way.
  const DType inside = dtype == DType::kF64 ? dtype : DType::kF32;
  if (std::isfinite(point.oracle))
    return std::isfinite(rounded(inside, point.wide)) && std::isfinite(rounded(inside, allowed));
  return is_same(rounded(dtype, point.wide - allowed), point.oracle) &&
         is_same(rounded(dtype, point.wide + allowed), point.oracle);
}

/// How far a function that ends in bf16, or in fewer digits, may be from its value before it is
/// rounded (docs/kernels.md).
double PointJudge::few_digits(DType dtype, double value) const {
  constexpr double kPart = 1.0 / 16;  // of the distance between two floats of bf16
  if (!has_functions_ || graph::epsilon(dtype) < graph::epsilon(DType::kBF16)) return 0.0;
  return std::isfinite(value) ? kPart * graph::epsilon(DType::kBF16) * std::abs(value) : 0.0;
}

PointVerdict PointJudge::judged(const ExpectedPoint& point, const Array& result, double typical,
                                Freedom freedom) const {
  const DType dtype = result.dtype();
  const bool no_number = point.offset_escapes && freedom.takes_offsets_out;
  if (!graph::is_float(dtype))
    return is_decided(point, dtype, 0.0) && !no_number ? judged_integer(point, result)
                                                       : PointVerdict{};
  const double actual = number_at(result, point.position);
  if (point.may_overflow && !std::isfinite(actual)) return {};
  if (no_number && std::isnan(actual)) return {};
  // What is taken out of a sum stays infinite where its terms are infinities of both signs.
  const bool leaves_sums = no_number || factors_leave_sums_;
  if (leaves_sums && std::isnan(point.oracle) && !std::isfinite(actual)) return {};
  if (point.may_vanish && std::abs(actual) <= 0x1p-126) return {};
  // What is smaller than the least normal number may be taken for 0.
  const double slack = 0x1p-126 + few_digits(dtype, point.wide);
  const double usual = kDeviations * typical + slack;
  const double allowed = std::max(kDeviations * point.deviation + slack, usual);
  if (!is_decided(point, dtype, allowed)) return {};
  const double away = std::min(distance(dtype, actual, point.wide, allowed),
                               distance(dtype, actual, point.oracle, allowed));
  if (away <= 1.0) return {away, std::nullopt};
  if (jumps_ && actual >= rounded(dtype, point.low - usual) &&
      actual <= rounded(dtype, point.high + usual))
    return {1.0, std::nullopt};
  return {away, fmt::format("element {} of result {} is {}, the oracle says {} +- {:.3g}",
                            point.position, point.root, actual, point.oracle, allowed)};
}

}  // namespace luminal::search
