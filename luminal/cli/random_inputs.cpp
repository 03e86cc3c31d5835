#include "luminal/cli/random_inputs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <random>

#include "luminal/graph/dim_binding.h"
#include "luminal/support/error.h"

namespace luminal::cli {
namespace {

using graph::Array;

/// Data for an input that has none: numbers from -1 to 1, and 0 or 1 where they are whole, which
/// also do as positions.
Array random_data(const graph::TensorType& type, const graph::DimValues& dims,
                  std::mt19937_64& random) {
  const graph::Extents extents = graph::extents_of(type.shape, dims);
  std::vector<double> values(static_cast<size_t>(graph::element_count(extents)));
  std::uniform_real_distribution<double> numbers(-1.0, 1.0);
  for (double& value : values)
    value = graph::is_float(type.dtype) ? numbers(random) : static_cast<double>(random() & 1U);
  return Array::from<double>(graph::DType::kF64, extents, values).cast(type.dtype);
}

}  // namespace

void fill_inputs(const graph::Graph& graph, uint64_t seed, graph::FileRun& run) {
  std::mt19937_64 random(seed);
  std::map<std::string, const Array*> given;
  for (const auto& [name, value] : run.inputs)
    if (graph.find_input(name)) given[name] = &value;
  const graph::DimValues dims = graph::bind_dims(graph, given, run.dims);
  for (const graph::Node& node : graph.nodes()) {
    if (node.op != graph::Op::kInput) continue;
    const std::string& name = node.attribute<graph::InputAttribute>().name;
    if (run.inputs.contains(name)) continue;
    try {
      run.inputs.emplace(name, random_data(node.type, dims, random));
    } catch (const Error& error) {
      throw UserError("run", "input {} of type {} needs its dims, as in --dim seq=128: {}", name,
                      graph::to_string(node.type), error.what());
    }
  }
}

graph::DimValues dims_for_looking(const std::string& operation, const graph::Graph& graph,
                                  graph::DimValues dims) {
  constexpr int64_t kUsual = 128;
  for (const auto& [name, value] : dims) {
    if (graph.dims().contains(name)) continue;
    std::vector<std::string> known;
    for (const auto& [each, interval] : graph.dims()) known.push_back(each);
    throw UserError(operation, "the graph has no dim '{}'; {}", name,
                    known.empty() ? "all its extents are numbers"
                                  : fmt::format("its dims are {}", fmt::join(known, ", ")));
  }
  for (const auto& [name, interval] : graph.dims())
    if (!dims.contains(name)) dims[name] = std::clamp(kUsual, interval.lo, interval.hi);
  return dims;
}

}  // namespace luminal::cli
