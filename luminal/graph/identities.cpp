#include "luminal/graph/identities.h"

#include <array>

#include "luminal/graph/identity_rules.h"
#include "luminal/graph/uniform.h"

namespace luminal::graph {
namespace {

namespace rules = identity_rules;

constexpr std::array kIdentities{
    Identity{"add_zero", "x + -0.0 = x for floats, x + 0 = x for integers", rules::add_zero},
    Identity{"multiply_by_one", "x * 1 = x", rules::multiply_by_one},
    Identity{"multiply_integer_by_zero", "x * 0 = 0 for integers", rules::multiply_integer_by_zero},
    Identity{"divide_by_one", "x / 1 = x", rules::divide_by_one},
    Identity{"divide_by_power_of_two", "x / 2^n = x * 2^-n for floats",
             rules::divide_by_power_of_two},
    Identity{"one_over", "1 / x = recip(x) for floats", rules::one_over},
    Identity{"integer_quotient_with_zero", "0 / x = x / 0 = 0 for integers",
             rules::integer_quotient_with_zero},
    Identity{"integer_remainder_of_one", "x % 1 = x % 0 = 0 % x = 0 for integers",
             rules::integer_remainder_of_one},
    Identity{"power_of_zero_or_one", "x^0 = 1, x^1 = x", rules::power_of_zero_or_one},
    Identity{"maximum_of_same", "max(x, x) = x", rules::maximum_of_same},
    Identity{"maximum_with_extreme",
             "max(x, lowest) = x; max(x, highest) = highest for integers and bool",
             rules::maximum_with_extreme},
    Identity{"reassociate_constants",
             "(x op a) op b = x op (a op b) for max and for exact integer ops",
             rules::reassociate_constants},
    Identity{"rounding_of_whole_number", "floor and round keep whole numbers",
             rules::rounding_of_whole_number},
    Identity{"less_than_itself", "x < x is false", rules::less_than_itself},
    Identity{"less_than_extreme", "x < lowest and highest < x are false", rules::less_than_extreme},
    Identity{"equal_to_itself", "x == x is true for integers and bool", rules::equal_to_itself},
    Identity{"equal_to_true", "(x == true) = x", rules::equal_to_true},
    Identity{"not_of_not", "((x == false) == false) = x", rules::not_of_not},
    Identity{"bits_with_itself", "x & x = x | x = x, x ^ x = 0", rules::bits_with_itself},
    Identity{"bits_with_constant", "x & 0 = 0, x & ~0 = x, x | 0 = x, x | ~0 = ~0, x ^ 0 = x",
             rules::bits_with_constant},
    Identity{"shift_by_zero", "x << 0 = x >> 0 = x, 0 << x = 0 >> x = 0", rules::shift_by_zero},
    Identity{"select_by_constant", "true ? x : y = x, false ? x : y = y",
             rules::select_by_constant},
    Identity{"select_of_same", "c ? x : x = x", rules::select_of_same},
    Identity{"select_true_or_false", "c ? true : false = c", rules::select_true_or_false},
    Identity{"cast_to_same", "a cast to the dtype it has changes nothing", rules::cast_to_same},
    Identity{"cast_of_lossless_cast", "a cast that loses nothing may be skipped",
             rules::cast_of_lossless_cast},
    Identity{"bitcast_of_bitcast", "only the last bitcast counts", rules::bitcast_of_bitcast},
    Identity{"copy_of_whole", "a copy of a whole value is the value", rules::copy_of_whole},
    Identity{"reduce_no_axes", "a reduction over no axis is its operand (+ 0.0 for sums of floats)",
             rules::reduce_no_axes},
    Identity{"reduce_unit_axes", "axes of extent 1 need not be reduced", rules::reduce_unit_axes},
    Identity{"reduce_empty_axis", "a reduction of nothing is 0, 1 or the lowest value",
             rules::reduce_empty_axis},
    Identity{"reduction_of_reduction",
             "a reduction of a reduction is one, for max and for exact integer ops",
             rules::reduction_of_reduction},
    Identity{"gather_at_constant", "a gather at a known position is a view",
             rules::gather_at_constant},
    Identity{"scatter_of_nothing", "a scatter of no updates is its base",
             rules::scatter_of_nothing},
};

}  // namespace

namespace identity_rules {

std::optional<WithConstant> with_constant(const Graph& graph, const Node& node) {
  const Edge& left = node.operands[0];
  const Edge& right = node.operands[1];
  if (std::optional<Scalar> value = uniform_value(graph, right))
    return WithConstant{left, right, *value};
  if (!info(node.op).commutative) return std::nullopt;
  if (std::optional<Scalar> value = uniform_value(graph, left))
    return WithConstant{right, left, *value};
  return std::nullopt;
}

std::optional<Edge> operand_through(const Graph& graph, const Edge& edge, size_t position) {
  const Node& inner = graph.node(edge.node);
  if (!is_elementwise(inner.op) || !edge.view.conditions().empty()) return std::nullopt;
  const Edge& operand = inner.operands.at(position);
  std::optional<View> view = View::compose(operand.view, edge.view);
  if (!view) return std::nullopt;
  return Edge{std::move(*view), operand.node};
}

Edge uniform_like(Rewriter& rewriter, const Node& node, const Scalar& value) {
  return add_uniform(rewriter.to(), value, node.shape());
}

}  // namespace identity_rules

std::span<const Identity> all_identities() { return kIdentities; }

Pass identities() {
  return node_pass("identities", [](Rewriter& rewriter, const Node& node) -> std::optional<Edge> {
    for (const Identity& identity : kIdentities)
      if (std::optional<Edge> value = identity.apply(rewriter, node)) return value;
    return std::nullopt;
  });
}

Pass identity_pass(const Identity& identity) {
  return node_pass(std::string(identity.name), identity.apply);
}

}  // namespace luminal::graph
