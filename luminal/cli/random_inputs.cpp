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

/// "4 bytes".
std::string element_text(graph::DType dtype) {
  const int bits = static_cast<int>(graph::bits(dtype));
  return bits % 8 != 0 ? fmt::format("{} bits", bits)
                       : fmt::format("{} byte{}", bits / 8, bits == 8 ? "" : "s");
}

/// Memory that is not there ends the process or stops the machine: better to say it before.
void check_memory(const DataFor& whom, const std::string& input, const graph::TensorType& type,
                  double bytes) {
  const double all =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  if (bytes <= all) return;
  const bool has_dims =
      std::any_of(type.shape.begin(), type.shape.end(),
                  [](const symbolic::Expr& extent) { return !extent.is_constant(); });
  std::string remedy = has_dims ? "smaller values of --dim need less" : whom.instead;
  if (has_dims && !whom.instead.empty()) remedy += ", " + whom.instead;
  if (remedy.empty()) remedy = "a graph with smaller inputs needs less";
  throw UserError(
      whom.command,
      "random data for the inputs up to {} of type {} takes {} of memory while the last "
      "is made ({} for each of its elements and 8 for the number drawn), and this "
      "machine has {}; {}",
      input, graph::to_string(type), memory_text(bytes), element_text(type.dtype), memory_text(all),
      remedy);
}

/// Dims that neither an option nor data gave a value are known before anything runs.
void check_values(const DataFor& whom, const graph::Graph& graph, const graph::DimValues& dims) {
  for (const graph::Node& node : graph.nodes())
    for (const symbolic::Expr& extent : node.shape())
      for (const symbolic::Expr& dim : extent.variables()) {
        if (dims.contains(dim.name()) || !graph.dims().contains(dim.name())) continue;
        const std::string of = node.op == graph::Op::kInput
                                   ? "input " + node.attribute<graph::InputAttribute>().name
                                   : "a value";
        throw UserError(whom.command,
                        "{} of type {} needs a value of dim {}; add --dim {}=NUMBER, or give data "
                        "that has it",
                        of, graph::to_string(node.type), dim.name(), dim.name());
      }
}

}  // namespace

void fill_inputs(const graph::Graph& graph, uint64_t seed, graph::FileRun& run,
                 const DataFor& whom) {
  std::mt19937_64 random(seed);
  std::map<std::string, const Array*> given;
  for (const auto& [name, value] : run.inputs)
    if (graph.find_input(name)) given[name] = &value;
  const graph::DimValues dims = graph::bind_dims(graph, given, run.dims);
  check_values(whom, graph, dims);
  double kept = 0;
  for (const graph::Node& node : graph.nodes()) {
    if (node.op != graph::Op::kInput) continue;
    const std::string& name = node.attribute<graph::InputAttribute>().name;
    if (run.inputs.contains(name)) continue;
    const graph::Extents extents = graph::extents_of(node.shape(), dims);
    // What was made stays, without the doubles that it was made of.
    check_memory(whom, name, node.type, kept + bytes_of(node.dtype(), extents));
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
