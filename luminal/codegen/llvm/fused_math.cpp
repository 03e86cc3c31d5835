#include "luminal/codegen/llvm/fused_math.h"

#include <algorithm>
#include <numbers>

namespace luminal::codegen {

using graph::DType;
using graph::Op;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using symbolic::Expr;

BodyId before_widening(const Arena& arena, BodyId id) {
  while (arena[id].kind == BodyKind::kOp && arena[id].op == Op::kCast &&
         graph::is_float(arena[id].dtype)) {
    const BodyId child = arena[id].children[0];
    if (!graph::is_float(arena[child].dtype) ||
        graph::bits(arena[child].dtype) >= graph::bits(arena[id].dtype))
      break;
    id = child;
  }
  return id;
}

namespace {

bool is_op(const BodyNode& node, Op op) { return node.kind == BodyKind::kOp && node.op == op; }

/// The operand beside a constant of this value, if there is one.
std::optional<BodyId> beside(const Arena& arena, const BodyNode& node, double value) {
  for (size_t k = 0; k < 2; ++k) {
    const BodyNode& other = arena[node.children[k]];
    if (other.kind == BodyKind::kConstant && other.constant.as_double() == value)
      return node.children[1 - k];
  }
  return std::nullopt;
}

/// A product with a constant: the other factor and the constant.
std::pair<BodyId, double> scaled(const Arena& arena, BodyId id) {
  const BodyNode& node = arena[id];
  if (is_op(node, Op::kMul))
    for (size_t k = 0; k < 2; ++k) {
      const BodyNode& other = arena[node.children[k]];
      if (other.kind == BodyKind::kConstant)
        return {node.children[1 - k], other.constant.as_double()};
    }
  return {id, 1.0};
}

bool is_constant(const Arena& arena, BodyId id, double value) {
  const BodyNode& node = arena[id];
  return node.kind == BodyKind::kConstant && node.constant.as_double() == value;
}

/// x - max.
struct Difference {
  BodyId x;
  BodyId maximum;
};

bool is_maximum(const Arena& arena, BodyId id) {
  const BodyNode& node = arena[id];
  return node.kind == BodyKind::kReduce && node.op == Op::kReduceMax;
}

/// Whether it is a maximum wherever some condition holds: logsumexp takes 0 for one that is
/// infinite.
bool may_be_maximum(const Arena& arena, BodyId id) {
  const BodyNode& node = arena[id];
  if (!is_op(node, Op::kSelect)) return is_maximum(arena, id);
  return is_maximum(arena, before_widening(arena, node.children[1])) ||
         is_maximum(arena, before_widening(arena, node.children[2]));
}

/// What a value is but for its sign, and whether that was changed.
std::pair<BodyId, bool> without_signs(const Arena& arena, BodyId id) {
  for (bool negated = false;; negated = !negated) {
    id = before_widening(arena, id);
    const auto factor =
        is_op(arena[id], Op::kMul) ? beside(arena, arena[id], -1) : std::optional<BodyId>();
    if (!factor) return {id, negated};
    id = *factor;
  }
}

/// A minimum is the maximum of what is negated, negated.
bool is_negated_minimum(const Arena& arena, BodyId id) {
  return is_maximum(arena, id) && without_signs(arena, arena[id].children[0]).second;
}

/// x - y where y is what the test asks for, or x + y.
std::optional<Difference> difference_from(bool (*test)(const Arena&, BodyId), bool subtracted,
                                          const Arena& arena, const BodyNode& node) {
  if (!is_op(node, Op::kAdd) || !graph::is_float(node.dtype)) return std::nullopt;
  for (size_t k = 0; k < 2; ++k) {
    const auto [id, negated] = without_signs(arena, node.children[k]);
    if (negated == subtracted && test(arena, id)) return Difference{node.children[1 - k], id};
  }
  return std::nullopt;
}

std::optional<Difference> difference_from_maximum(const Arena& arena, const BodyNode& node) {
  return difference_from(is_maximum, true, arena, node);
}

/// Whether two bodies are the same but for the names of axes, as far as so many nodes tell.
bool is_same(const Arena& arena, BodyId a, BodyId b, std::vector<symbolic::Binding>& axes,
             int& nodes) {
  a = before_widening(arena, a);
  b = before_widening(arena, b);
  const BodyNode& left = arena[a];
  const auto is_renamed = [&](const symbolic::Binding& each) {
    return kernel::contains(left.free, each.symbol);
  };
  if (a == b && std::none_of(axes.begin(), axes.end(), is_renamed)) return true;
  const BodyNode& right = arena[b];
  if (--nodes < 0 || left.kind != right.kind || left.op != right.op || left.dtype != right.dtype ||
      left.tensor != right.tensor || left.exprs.size() != right.exprs.size() ||
      left.children.size() != right.children.size() || !left.index_values.empty() ||
      !right.index_values.empty())
    return false;
  if (left.kind == BodyKind::kConstant) return a == b;
  const size_t outside = axes.size();
  const bool binds = left.kind == BodyKind::kReduce;
  for (size_t k = 0; k < left.exprs.size(); ++k) {
    if (binds && left.exprs[k].axis_extent() == right.exprs[k].axis_extent())
      axes.push_back({left.exprs[k], right.exprs[k]});
    else if (binds || symbolic::substitute(left.exprs[k], axes) != right.exprs[k])
      return false;
  }
  const bool same =
      std::equal(left.children.begin(), left.children.end(), right.children.begin(),
                 [&](BodyId one, BodyId other) { return is_same(arena, one, other, axes, nodes); });
  axes.resize(outside);
  return same;
}

/// The axes of x that a row runs along, in the order of those that its maximum is over; nothing if
/// the maximum is of something else.
std::optional<std::vector<Expr>> row_of(const Arena& arena, const Difference& difference) {
  constexpr int kMostNodes = 256;
  const BodyNode& maximum = arena[difference.maximum];
  std::vector<Expr> row;
  for (const Expr& axis : arena[difference.x].free)
    if (!kernel::contains(maximum.free, axis)) row.push_back(axis);
  if (row.size() != maximum.exprs.size()) return std::nullopt;
  std::vector<symbolic::Binding> axes;
  for (size_t k = 0; k < row.size(); ++k) {
    if (maximum.exprs[k].axis_extent() != row[k].axis_extent()) return std::nullopt;
    axes.push_back({maximum.exprs[k], row[k]});
  }
  int nodes = kMostNodes;
  if (!is_same(arena, maximum.children[0], difference.x, axes, nodes)) return std::nullopt;
  return row;
}

/// x^3, however it is written.
bool is_cube(const Arena& arena, BodyId id, BodyId x) {
  const BodyNode& node = arena[id];
  if (!is_op(node, Op::kMul)) return false;
  for (size_t k = 0; k < 2; ++k) {
    const BodyNode& square = arena[node.children[1 - k]];
    if (node.children[k] == x && is_op(square, Op::kMul) && square.children[0] == x &&
        square.children[1] == x)
      return true;
  }
  return false;
}

/// c of x + c*x^3.
std::optional<double> cubic_part(const Arena& arena, BodyId id, BodyId x) {
  const BodyNode& node = arena[id];
  if (!is_op(node, Op::kAdd)) return std::nullopt;
  for (size_t k = 0; k < 2; ++k) {
    const auto [cube, factor] = scaled(arena, node.children[1 - k]);
    if (node.children[k] == x && is_cube(arena, cube, x)) return factor;
  }
  return std::nullopt;
}

/// x/2 times 1 + a function of x: gelu.
llvm::Value* gated_half(const Arena& arena, const BodyNode& product, VectorMath& math,
                        llvm::function_ref<llvm::Value*(BodyId)> value_of) {
  for (size_t k = 0; k < 2; ++k) {
    const auto [x, half] = scaled(arena, product.children[k]);
    const BodyNode& sum = arena[product.children[1 - k]];
    if (half != 0.5 || !is_op(sum, Op::kAdd)) continue;
    const auto gate = beside(arena, sum, 1);
    if (!gate) continue;
    const BodyNode& function = arena[*gate];
    if (!is_op(function, Op::kTanh) && !is_op(function, Op::kErf)) continue;
    const auto [argument, factor] = scaled(arena, function.children[0]);
    llvm::Value* value = value_of(x);
    if (math.calls_library(value)) return nullptr;
    if (is_op(function, Op::kErf)) {
      if (argument != x || factor <= 0) return nullptr;
      return math.half_times_one_plus_erf(value, factor);
    }
    const double linear = -2 * std::numbers::log2e * factor;
    const auto cubic = cubic_part(arena, argument, x);
    if (!cubic) return nullptr;
    return math.over_one_plus_exp2(value, math.odd_cubic(value, linear, linear * *cubic));
  }
  return nullptr;
}

}  // namespace

std::optional<BodyId> absolute_of(const Arena& arena, const BodyNode& node) {
  if (!is_op(node, Op::kSelect) || !graph::is_float(node.dtype)) return std::nullopt;
  const BodyId x = node.children[2];
  const auto is_below = [&](const BodyNode& test) {
    return is_op(test, Op::kLessThan) && test.children[0] == x &&
           is_constant(arena, test.children[1], 0);
  };
  const auto is_zero = [&](const BodyNode& test) {
    return is_op(test, Op::kEqual) && beside(arena, test, 0) == x;
  };
  const BodyNode& either = arena[node.children[0]];
  if (!is_op(either, Op::kBitOr)) return std::nullopt;
  const BodyNode& first = arena[either.children[0]];
  const BodyNode& second = arena[either.children[1]];
  if (!(is_below(first) && is_zero(second)) && !(is_below(second) && is_zero(first)))
    return std::nullopt;
  const BodyNode& difference = arena[node.children[1]];
  if (!is_op(difference, Op::kAdd)) return std::nullopt;
  const auto negated = beside(arena, difference, 0);
  if (!negated || scaled(arena, *negated) != std::pair{x, -1.0}) return std::nullopt;
  return x;
}

bool subtracts_extreme(const Arena& arena, const BodyNode& node) {
  return difference_from(may_be_maximum, true, arena, node) ||
         difference_from(is_negated_minimum, false, arena, node);
}

bool subtracts_own_maximum(const Arena& arena, const BodyNode& node) {
  const auto difference = difference_from_maximum(arena, node);
  return difference && row_of(arena, *difference);
}

namespace {

/// The difference in exp(x - the maximum of the row that x is in).
std::optional<Difference> relative_exponent(const Arena& arena, const BodyNode& node) {
  if (!is_op(node, Op::kExp) || node.dtype == DType::kF64) return std::nullopt;
  const auto difference = difference_from_maximum(arena, arena[node.children[0]]);
  return difference && row_of(arena, *difference) ? difference : std::nullopt;
}

}  // namespace

bool is_relative_exp(const Arena& arena, const BodyNode& node) {
  return relative_exponent(arena, node).has_value();
}

bool is_sum_of_relative_exps(const Arena& arena, const BodyNode& node) {
  return maximum_of_relative_exps(arena, node).has_value();
}

std::optional<BodyId> maximum_of_relative_exps(const Arena& arena, const BodyNode& node) {
  if (node.kind != BodyKind::kReduce || node.op != Op::kSum) return std::nullopt;
  const auto difference = relative_exponent(arena, arena[node.children[0]]);
  if (!difference ||
      kernel::make_axis_set(node.exprs) != kernel::make_axis_set(*row_of(arena, *difference)))
    return std::nullopt;
  return difference->maximum;
}

namespace {

/// Whether a dividend is one of the exponentials that the divisor adds up, so that it is at most 1.
bool is_over_row_sum(const Arena& arena, const BodyNode& quotient) {
  const auto total = maximum_of_relative_exps(arena, arena[quotient.children[1]]);
  const BodyNode& dividend = arena[before_widening(arena, quotient.children[0])];
  if (!total) return false;
  const auto difference = relative_exponent(arena, dividend);
  return difference && difference->maximum == *total;
}

}  // namespace

llvm::Value* fused_operation(const Arena& arena, const BodyNode& node, VectorMath& math,
                             llvm::function_ref<llvm::Value*(BodyId)> value_of) {
  if (const auto difference = relative_exponent(arena, node)) {
    const BodyNode& x = arena[before_widening(arena, difference->x)];
    if (x.kind == BodyKind::kLoad && x.dtype == DType::kBF16 && math.is_short())
      return math.exp_of_short_difference(value_of(difference->x), value_of(difference->maximum));
    return math.exp_of_difference(value_of(node.children[0]));
  }
  if (subtracts_extreme(arena, node))
    return math.rounded_sum(value_of(node.children[0]), value_of(node.children[1]));
  if (const auto x = absolute_of(arena, node)) return math.absolute(value_of(*x));
  if (!graph::is_float(node.dtype) || node.dtype == DType::kF64) return nullptr;
  if (is_op(node, Op::kDiv) && is_over_row_sum(arena, node))
    return math.over_row_sum(value_of(node.children[0]), value_of(node.children[1]));
  if (is_op(node, Op::kMul)) return gated_half(arena, node, math, value_of);
  if (!is_op(node, Op::kAdd)) return nullptr;
  const auto gate = beside(arena, node, 1);
  if (!gate) return nullptr;
  const BodyNode& function = arena[*gate];
  if (is_op(function, Op::kTanh)) {
    const auto [x, factor] = scaled(arena, function.children[0]);
    return math.one_plus_tanh(value_of(x), factor);
  }
  return is_op(function, Op::kErf) ? math.one_plus_erf(value_of(function.children[0])) : nullptr;
}

}  // namespace luminal::codegen
