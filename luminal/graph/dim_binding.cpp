#include "luminal/graph/dim_binding.h"

#include <algorithm>

#include "luminal/support/error.h"

namespace luminal::graph {
namespace {

/// Replaces the known dims.
Expr with_known(const Expr& expr, const DimValues& dims) {
  std::vector<symbolic::Binding> bindings;
  for (const Expr& variable : expr.variables())
    if (auto found = dims.find(variable.name()); found != dims.end())
      bindings.push_back({variable, found->second});
  return bindings.empty() ? expr : symbolic::substitute(expr, bindings);
}

/// The value of the only unknown for which `expr` equals `target`. Dims grow with their variables,
/// so halving finds it.
std::optional<int64_t> solve(const Expr& expr, const Expr& unknown, int64_t target) {
  const symbolic::Interval range = unknown.bounds();
  auto at = [&](int64_t value) {
    return symbolic::substitute(expr, {{unknown, value}}).constant_value();
  };
  // No extent exceeds the target by less than its variable does, apart from offsets; doubling
  // reaches it quickly.
  int64_t low = range.lo, high = range.lo;
  while (high < range.hi && at(high).value_or(target) < target)
    high = high > range.hi / 2 ? range.hi : std::max<int64_t>(1, 2 * high);
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (at(middle).value_or(target) < target)
      low = middle + 1;
    else
      high = middle;
  }
  return at(low) == target ? std::optional(low) : std::nullopt;
}

void check_range(const Expr& variable, int64_t value, const std::string& input) {
  const symbolic::Interval range = variable.bounds();
  if (!range.contains(value))
    throw UserError("run", "input '{}' makes {} = {}, outside its range [{}, {}]", input,
                    variable.name(), value, range.lo, range.hi);
}

void check_rank(const std::string& name, const Shape& shape, const Array& array) {
  if (array.extents().size() != shape.size())
    throw UserError("run", "input '{}' has shape {}, but the data has {} axes", name,
                    to_string(shape), array.extents().size());
}

/// Binds what one axis says; true if a dim became known.
bool bind_axis(const std::string& name, const Expr& extent, int64_t given, DimValues& dims) {
  const Expr rest = with_known(extent, dims);
  if (rest.is_constant() || rest.variables().size() != 1) return false;
  const Expr unknown = rest.variables()[0];
  std::optional<int64_t> value;
  if (rest == unknown) {
    check_range(unknown, given, name);
    value = given;
  } else {
    value = solve(rest, unknown, given);
  }
  if (!value)
    throw UserError("run",
                    "input '{}' has an axis of extent {}, but {} has no value for which {} is that",
                    name, given, unknown.name(), extent);
  dims[unknown.name()] = *value;
  return true;
}

void check_extents(const std::string& name, const Shape& shape, const Array& array,
                   const DimValues& dims) {
  for (size_t k = 0; k < shape.size(); ++k) {
    const std::optional<int64_t> expected = with_known(shape[k], dims).constant_value();
    if (!expected || *expected == array.extents()[k]) continue;
    const std::string wanted = shape[k].is_constant() ? fmt::format("{}", *expected)
                                                      : fmt::format("{} = {}", shape[k], *expected);
    throw UserError("run", "axis {} of input '{}' is {}, but the data has {}", k, name, wanted,
                    array.extents()[k]);
  }
}

}  // namespace

DimValues bind_dims(const Graph& graph, const std::map<std::string, const Array*>& inputs,
                    DimValues dims) {
  for (bool found = true; found;) {
    found = false;
    for (const auto& [name, array] : inputs) {
      const std::optional<NodeId> id = graph.find_input(name);
      if (!id) throw UserError("run", "the graph has no input '{}'", name);
      const Shape& shape = graph.node(*id).shape();
      check_rank(name, shape, *array);
      for (size_t k = 0; k < shape.size(); ++k)
        found |= bind_axis(name, shape[k], array->extents()[k], dims);
    }
  }
  for (const auto& [name, array] : inputs)
    check_extents(name, graph.node(*graph.find_input(name)).shape(), *array, dims);
  return dims;
}

bool can_bind_flat(const Shape& shape, const DimValues& dims) {
  return with_known(element_count(shape), dims).variables().size() <= 1;
}

Extents bind_flat(const std::string& input, const Shape& shape, int64_t size, DimValues& dims) {
  const Expr count = with_known(element_count(shape), dims);
  if (count.variables().size() > 1)
    throw UserError(
        "run",
        "input '{}' of shape {} was given {} values; set the dims, or give data with extents",
        input, to_string(shape), size);
  if (!count.is_constant()) {
    const Expr unknown = count.variables()[0];
    const std::optional<int64_t> value = solve(count, unknown, size);
    if (!value)
      throw UserError("run", "input '{}' of shape {} cannot hold {} values for any {}", input,
                      to_string(shape), size, unknown.name());
    dims[unknown.name()] = *value;
  }
  Extents extents = extents_of(shape, dims);
  if (element_count(extents) != size)
    throw UserError("run", "input '{}' of shape {} holds {} values, got {}", input,
                    to_string(shape), element_count(extents), size);
  return extents;
}

Extents extents_of(const Shape& shape, const DimValues& dims) {
  Extents extents;
  for (const Expr& dim : shape) {
    const Expr known = with_known(dim, dims);
    if (!known.is_constant())
      throw UserError(
          "run", "the dim '{}' in {} has no value; set it with set_dim or give data that has it",
          known.variables()[0].name(), to_string(shape));
    extents.push_back(*known.constant_value());
  }
  return extents;
}

}  // namespace luminal::graph
