#include "luminal/graph/file_run.h"

#include <fmt/ostream.h>

#include <algorithm>
#include <vector>

#include "luminal/graph/array_text.h"
#include "luminal/graph/npy.h"
#include "luminal/support/error.h"
#include "luminal/support/text.h"

namespace luminal::graph {

std::pair<std::string, std::string> split_setting(std::string_view command,
                                                  const std::string& argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UserError(command, "'{}' is not NAME=VALUE; --help says more", argument);
  return {argument.substr(0, equals), argument.substr(equals + 1)};
}

std::pair<std::string, int64_t> parse_dim(std::string_view command, const std::string& argument) {
  const auto [name, text] = split_setting(command, argument);
  const std::optional<int64_t> value = support::parse_int64(text);
  if (!value || *value < 0)
    throw UserError(command, "dim {} must be a whole number of at least 0, got '{}'", name, text);
  return {name, *value};
}

void run_with_files(Program& program, FileRun run, std::string_view command, std::ostream& out) {
  const Graph& graph = program.graph();
  RunRequest request;
  request.dims = run.dims;
  request.text = &out;
  for (auto& [name, value] : run.inputs) {
    const auto node = graph.find_input(name);
    if (!node) throw UserError(command, "the program has no input '{}'", name);
    value = value.cast(graph.node(*node).dtype());
    request.inputs[name] = &value;
  }
  for (const auto& [name, file] : run.outputs) {
    const auto is_it = [&](const Output& output) { return output.name == name; };
    if (std::none_of(graph.outputs().begin(), graph.outputs().end(), is_it))
      throw UserError(command, "the program has no output '{}'", name);
  }
  const std::vector<Array> results = program.run(request);
  for (size_t k = 0; k < results.size(); ++k) {
    const std::string& name = graph.outputs()[k].name;
    const auto file = run.outputs.find(name);
    if (file != run.outputs.end())
      save_npy(file->second, results[k], command);
    else
      out << name << " = " << results[k] << '\n';
  }
}

void describe_interface(const Graph& graph, std::ostream& out) {
  for (const Node& node : graph.nodes())
    if (node.op == Op::kInput)
      fmt::print(out, "input {}: {}\n", node.attribute<InputAttribute>().name,
                 to_string(node.type));
  for (const Output& output : graph.outputs())
    fmt::print(out, "output {}: {}{}\n", output.name, graph.node(output.edge.node).dtype(),
               to_string(output.edge.view.domain()));
}

}  // namespace luminal::graph
