#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "luminal/cli/commands.h"
#include "luminal/cli/program_file.h"
#include "luminal/cli/random_inputs.h"
#include "luminal/graph/file_run.h"
#include "luminal/graph/npy.h"
#include "luminal/support/error.h"

namespace luminal::cli {
namespace {

/// What the options say.
struct RunArguments {
  std::string file;
  std::vector<std::string> inputs;
  std::vector<std::string> dims;
  std::vector<std::string> outputs;
  std::string device = "cpu";
  uint64_t seed = 1;
  bool describe = false;
};

graph::FileRun read(const RunArguments& arguments) {
  graph::FileRun run;
  for (const std::string& dim : arguments.dims) run.dims.insert(graph::parse_dim("run", dim));
  for (const std::string& output : arguments.outputs)
    run.outputs.insert(graph::split_setting("run", output));
  for (const std::string& input : arguments.inputs) {
    if (input.ends_with(".npz") && input.find('=') == std::string::npos) {
      for (auto& [name, value] : graph::load_npz(input, "run"))
        run.inputs.insert_or_assign(name, value);
      continue;
    }
    const auto [name, file] = graph::split_setting("run", input);
    run.inputs.insert_or_assign(name, graph::load_npy(file, "run"));
  }
  return run;
}

void run(const RunArguments& arguments, std::ostream& out) {
  const std::unique_ptr<graph::Program> program = load_program(arguments.file, arguments.device);
  if (arguments.describe) return graph::describe_interface(program->graph(), out);
  graph::FileRun files = read(arguments);
  fill_inputs(program->graph(), arguments.seed, files);
  graph::run_with_files(*program, std::move(files), "run", out);
}

}  // namespace

void add_run_command(CLI::App& app, std::ostream& out) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Run a graph in its text form, or a saved plan");
  command->add_option("FILE", arguments->file, "The graph or the plan")->required();
  command->add_option("INPUTS", arguments->inputs,
                      "NAME=FILE.npy for an input, or a FILE.npz that names them; inputs without "
                      "data get random numbers");
  command->add_option("--dim", arguments->dims, "NAME=NUMBER: the value of a dim");
  command->add_option("--out", arguments->outputs,
                      "OUTPUT=FILE.npy: write an output instead of printing it");
  command->add_option("--device", arguments->device, "cpu or interpreter")
      ->check(CLI::IsMember({"cpu", "interpreter"}));
  command->add_option("--seed", arguments->seed, "Of the random numbers");
  command->add_flag("--describe", arguments->describe, "Only say what goes in and what comes out");
  command->footer(R"(
Examples:
  luminal run net.graph x=x.npy --out y=y.npy
  luminal run net.graph --dim seq=128 --device interpreter)");
  command->callback([=, &out] { run(*arguments, out); });
}

}  // namespace luminal::cli
