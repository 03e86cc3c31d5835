#include "luminal/cli/random_inputs.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <random>

#include "luminal/cli/arguments.h"
#include "luminal/graph/dim_binding.h"
#include "luminal/support/error.h"

namespace luminal::cli {
namespace {

using graph::Array;

/// Data for an input that has none: numbers from -1 to 1, and 0 or 1 where they are whole, which
/// also do as positions.
Array random_data(graph::DType dtype, const graph::Extents& extents, std::mt19937_64& random) {
  std::vector<double> values(static_cast<size_t>(graph::element_count(extents)));
  std::uniform_real_distribution<double> numbers(-1.0, 1.0);
  for (double& value : values)
    value = graph::is_float(dtype) ? numbers(random) : static_cast<double>(random() & 1U);
  return Array::from<double>(dtype, extents, values);
}

/// What random_data() needs of memory while it works: as a number that cannot overflow.
double bytes_of(graph::DType dtype, const graph::Extents& extents) {
  double count = 1;
  for (const int64_t extent : extents) count *= static_cast<double>(extent);
  return count * (sizeof(double) + static_cast<double>(graph::bits(dtype)) / 8);
}

std::string memory_text(double bytes) {
  const char* const units[] = {"MB", "GB", "TB", "PB", "EB"};
  size_t unit = 0;
  for (bytes /= 1e6; bytes >= 1000 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

/// Memory that is not there ends the process or stops the machine: better to say it before.
void check_memory(const std::string& input, const graph::TensorType& type, double bytes) {
  const double all =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (bytes > all)
    throw UserError("run",
                    "random data for the inputs up to {} of type {} takes {} of memory, and this "
                    "machine has {}; smaller values of --dim need less",
                    input, graph::to_string(type), memory_text(bytes), memory_text(all));
}

graph::Extents extents_of(const std::string& input, const graph::TensorType& type,
                          const graph::DimValues& dims) {
  try {
    return graph::extents_of(type.shape, dims);
  } catch (const Error& error) {
    throw UserError("run", "input {} of type {} needs its dims, as in --dim seq=128: {}", input,
                    graph::to_string(type), error.what());
  }
}

}  // namespace

void fill_inputs(const graph::Graph& graph, uint64_t seed, graph::FileRun& run) {
  std::mt19937_64 random(seed);
  std::map<std::string, const Array*> given;
  for (const auto& [name, value] : run.inputs)
    if (graph.find_input(name)) given[name] = &value;
  const graph::DimValues dims = graph::bind_dims(graph, given, run.dims);
  double kept = 0;
  for (const graph::Node& node : graph.nodes()) {
    if (node.op != graph::Op::kInput) continue;
    const std::string& name = node.attribute<graph::InputAttribute>().name;
    if (run.inputs.contains(name)) continue;
    const graph::Extents extents = extents_of(name, node.type, dims);
    // What was made stays, without the doubles that it was made of.
    check_memory(name, node.type, kept + bytes_of(node.dtype(), extents));
    kept += static_cast<double>(run.inputs.emplace(name, random_data(node.dtype(), extents, random))
                                    .first->second.bytes()
                                    .size());
  }
}

graph::DimValues dims_for_looking(const std::string& operation, const graph::Graph& graph,
                                  graph::DimValues dims) {
  constexpr int64_t kUsual = 128;
  check_dims(operation, graph, dims);
  for (const auto& [name, interval] : graph.dims())
    if (!dims.contains(name)) dims[name] = std::clamp(kUsual, interval.lo, interval.hi);
  return dims;
}

}  // namespace luminal::cli
