#include "luminal/graph/run_binding.h"

#include <fmt/format.h>

#include "luminal/graph/dim_binding.h"
#include "luminal/support/error.h"

namespace luminal::graph {
namespace {

/// As many elements as an array may have. Native code adds dims to positions, which must not
/// overflow.
constexpr int64_t kLargestDim = int64_t{1} << 56;

const std::string& name_of(const Node& node) { return node.attribute<InputAttribute>().name; }

/// Names all inputs that are read and have no data.
void check_complete(const Graph& graph, const RunRequest& request, std::span<const NodeId> inputs) {
  std::vector<std::string> missing;
  for (const NodeId id : inputs) {
    const Node& node = graph.node(id);
    const auto found = request.inputs.find(name_of(node));
    if (found == request.inputs.end() || found->second == nullptr)
      missing.push_back(fmt::format("'{}' of type {}", name_of(node), to_string(node.type)));
  }
  if (missing.size() == 1) throw UserError("run", "input {} has no data", missing[0]);
  if (!missing.empty()) throw UserError("run", "inputs {} have no data", fmt::join(missing, ", "));
}

DimBindings bind(const Graph& graph, const RunRequest& request, std::span<const Expr> dims) {
  // Inputs that a pass found to be unused may still be given.
  std::map<std::string, const Array*> inputs;
  for (const auto& [name, value] : request.inputs)
    if (value != nullptr && graph.find_input(name)) inputs.emplace(name, value);
  const DimValues values = bind_dims(graph, inputs, request.dims);
  DimBindings result;
  for (const Expr& dim : dims) {
    const auto found = values.find(dim.name());
    if (found == values.end())
      throw UserError("run",
                      "the dim '{}' has no value; set it, or give an input whose shape says it",
                      dim.name());
    const symbolic::Interval range = dim.bounds();
    if (!range.contains(found->second))
      throw UserError("run", "the dim '{}' is {}, outside its range [{}, {}]", dim.name(),
                      found->second, range.lo, range.hi);
    if (found->second > kLargestDim)
      throw UserError("run",
                      "the dim '{}' is {}, more than the {} elements that a tensor can have; give "
                      "it a smaller value",
                      dim.name(), found->second, kLargestDim);
    result.push_back({dim, found->second});
  }
  return result;
}

void check_input(const Node& node, const RunRequest& request, const DimBindings& dims) {
  const Array& value = *request.inputs.at(name_of(node));
  if (value.dtype() != node.dtype() || value.extents() != evaluate_shape(node.shape(), dims))
    throw UserError("run", "input '{}' takes {}, but was given {}{}", name_of(node),
                    to_string(node.type), value.dtype(), to_string(value.extents()));
}

}  // namespace

DimBindings bind_run(const Graph& graph, const RunRequest& request, std::span<const NodeId> inputs,
                     std::span<const Expr> dims) {
  // That an input is missing is said before the dims that it would have told.
  check_complete(graph, request, inputs);
  DimBindings result = bind(graph, request, dims);
  for (const NodeId id : inputs) check_input(graph.node(id), request, result);
  return result;
}

}  // namespace luminal::graph
