#include "luminal/graph/uniform.h"

#include <cmath>

namespace luminal::graph {
namespace {

std::optional<Scalar> uniform_value(const Node& node) {
  if (const auto* constant = std::get_if<ConstantAttribute>(&node.attributes))
    return uniform_value(constant->value);
  if (const auto* iota = std::get_if<IotaAttribute>(&node.attributes))
    if (std::optional<int64_t> value = iota->value.constant_value())
      return Scalar::of(node.dtype(), *value);
  return std::nullopt;
}

}  // namespace

std::optional<Scalar> uniform_value(const Array& array) {
  if (array.size() == 0) return std::nullopt;
  const Scalar first = array.at(0);
  for (int64_t i = 1; i < array.size(); ++i)
    if (!(array.at(i) == first)) return std::nullopt;
  if (!std::isnan(first.as_double())) return first;
  // NaNs are equal whatever their bits, but a bitcast would show these.
  Array filled(array.dtype(), array.extents());
  for (int64_t i = 0; i < array.size(); ++i) filled.set(i, first);
  if (!filled.identical(array)) return std::nullopt;
  return first;
}

std::optional<Scalar> uniform_value(const Graph& graph, const Edge& edge) {
  std::optional<Scalar> value = uniform_value(graph.node(edge.node));
  if (value && !edge.view.conditions().empty() && !(edge.view.fill() == *value))
    return std::nullopt;
  return value;
}

Edge add_uniform(Graph& graph, const Scalar& value, const Shape& shape) {
  return {View({}, shape, {}), graph.add_constant(value)};
}

}  // namespace luminal::graph
