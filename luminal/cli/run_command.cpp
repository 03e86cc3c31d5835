#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "luminal/cli/arguments.h"
#include "luminal/cli/commands.h"
#include "luminal/cli/json_text.h"
#include "luminal/cli/option_values.h"
#include "luminal/cli/program_file.h"
#include "luminal/cli/random_inputs.h"
#include "luminal/graph/file_run.h"
#include "luminal/graph/npy.h"
#include "luminal/support/file.h"

namespace luminal::cli {
namespace {

using nlohmann::ordered_json;

/// What the options say.
struct RunArguments {
  std::string file;
  std::vector<std::string> inputs;
  std::vector<std::string> dims;
  std::vector<std::string> outputs;
  std::string device = "cpu";
  uint64_t seed = 1;
  bool seeded = false;
  bool describe = false;
  bool json = false;
};

/// The files of inputs by name, and archives that name their inputs themselves.
struct InputFiles {
  std::map<std::string, std::string> single;
  std::vector<std::string> archives;
};

InputFiles input_files(const RunArguments& arguments) {
  std::vector<std::string> settings;
  InputFiles files;
  for (const std::string& input : arguments.inputs) {
    const bool is_archive = input.ends_with(".npz") && input.find('=') == std::string::npos;
    (is_archive ? files.archives : settings).push_back(input);
  }
  files.single = parse_settings("run", "input", settings);
  return files;
}

/// A file of its own goes before what an archive has.
std::map<std::string, graph::Array> read(const InputFiles& files) {
  std::map<std::string, graph::Array> inputs;
  for (const std::string& archive : files.archives)
    for (auto& [name, value] : graph::load_npz(archive, "run"))
      inputs.insert_or_assign(name, value);
  for (const auto& [name, file] : files.single)
    inputs.insert_or_assign(name, graph::load_npy(file, "run"));
  return inputs;
}

/// Names that the graph does not have are mistakes of the line, and known before anything runs.
void check_names(const graph::Graph& graph, const graph::FileRun& run) {
  std::vector<std::string> inputs, outputs;
  for (const graph::Node& node : graph.nodes())
    if (node.op == graph::Op::kInput)
      inputs.push_back(node.attribute<graph::InputAttribute>().name);
  for (const graph::Output& output : graph.outputs()) outputs.push_back(output.name);
  const auto check = [](const char* kind, const std::string& name,
                        const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    const std::string near = nearest(name, known);
    throw UsageError("run", "the program has no {} '{}'{}; --describe lists them", kind, name,
                     near.empty() ? "" : fmt::format(", but '{}'", near));
  };
  for (const auto& [name, value] : run.inputs) check("input", name, inputs);
  for (const auto& [name, file] : run.outputs) check("output", name, outputs);
}

ordered_json json_of(const std::string& name, graph::DType dtype, const graph::Shape& shape) {
  ordered_json extents = ordered_json::array();
  for (const symbolic::Expr& extent : shape) {
    if (const std::optional<int64_t> number = extent.constant_value())
      extents.push_back(*number);
    else
      extents.push_back(fmt::format("{}", extent));
  }
  return {{"name", name}, {"dtype", graph::name(dtype)}, {"shape", std::move(extents)}};
}

/// What goes in, what comes out, and which values dims may have: `most` is null if any is.
ordered_json interface_json(const graph::Graph& graph) {
  ordered_json inputs = ordered_json::array(), outputs = inputs, dims = inputs;
  for (const graph::Node& node : graph.nodes())
    if (node.op == graph::Op::kInput)
      inputs.push_back(
          json_of(node.attribute<graph::InputAttribute>().name, node.dtype(), node.shape()));
  for (const graph::Output& output : graph.outputs())
    outputs.push_back(
        json_of(output.name, graph.node(output.edge.node).dtype(), output.edge.view.domain()));
  for (const auto& [name, interval] : graph.dims()) {
    dims.push_back({{"name", name}, {"least", interval.lo}, {"most", nullptr}});
    if (interval.hi != symbolic::Interval::kPosInf) dims.back()["most"] = interval.hi;
  }
  return {
      {"inputs", std::move(inputs)}, {"outputs", std::move(outputs)}, {"dims", std::move(dims)}};
}

void describe(const graph::Graph& graph, bool json, std::ostream& out) {
  if (json)
    print_json(interface_json(graph), out);
  else
    graph::describe_interface(graph, out);
}

void run(const RunArguments& arguments, std::ostream& out) {
  only_with("run", {"--json", arguments.json}, {{"--describe", arguments.describe}});
  nothing_with("run", {"--describe", arguments.describe},
               {{"--dim", !arguments.dims.empty()},
                {"--out", !arguments.outputs.empty()},
                {"--seed", arguments.seeded},
                {"data of an input", !arguments.inputs.empty()}});
  graph::FileRun files{.dims = parse_dims("run", arguments.dims),
                       .outputs = parse_settings("run", "--out", arguments.outputs)};
  const InputFiles inputs = input_files(arguments);
  const ProgramFile program("run", arguments.file);
  if (arguments.describe) return describe(program.graph(), arguments.json, out);
  files.inputs = read(inputs);
  check_dims("run", program.graph(), files.dims);
  check_names(program.graph(), files);
  std::map<std::string, std::string> taken;  // files, by the output that goes there
  for (const auto& [name, file] : files.outputs) {
    if (const auto [other, is_new] = taken.emplace(file, name); !is_new)
      throw UsageError("run", "--out writes {} and {} to \"{}\"; give each a file of its own",
                       other->second, name, file);
    support::check_writable(file, "run");
  }
  const std::unique_ptr<graph::Program> loaded = program.load(arguments.device);
  fill_inputs(loaded->graph(), arguments.seed, files);
  graph::run_with_files(*loaded, std::move(files), "run", out);
}

}  // namespace

void add_run_command(CLI::App& app, std::ostream& out) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command =
      app.add_subcommand("run", "Run a graph in its text form, a built-in case or a saved plan");
  command->add_option("GRAPH", arguments->file, "A graph file, a saved plan, or a built-in case")
      ->required();
  command->add_option("INPUTS", arguments->inputs,
                      "NAME=FILE.npy for an input, or a FILE.npz that names them; inputs without "
                      "data get random numbers");
  command->add_option("--dim", arguments->dims, "NAME=NUMBER: the value of a dim")
      ->allow_extra_args(false);
  command
      ->add_option("--out", arguments->outputs,
                   "OUTPUT=FILE.npy: write an output instead of printing it")
      ->allow_extra_args(false);
  command->add_option("--device", arguments->device, "cpu or interpreter")
      ->check(CLI::IsMember({"cpu", "interpreter"}));
  CLI::Option* seed = command->add_option("--seed", arguments->seed, "Of the random numbers")
                          ->transform(whole_number(0, std::numeric_limits<uint64_t>::max()));
  command->add_flag("--describe", arguments->describe, "Only say what goes in and what comes out");
  command->add_flag("--json", arguments->json, "The description as JSON");
  command->footer(R"(
Examples:
  luminal run mlp                                       a built-in case on random data
  luminal run net.graph x=x.npy --out y=y.npy           data from files and into them
  luminal run net.graph --dim seq=128 --device interpreter
  luminal run net.plan --describe                       what goes in and what comes out)");
  command->callback([=, &out] {
    arguments->seeded = seed->count() > 0;
    run(*arguments, out);
  });
}

}  // namespace luminal::cli
