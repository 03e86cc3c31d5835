#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "luminal/cli/arguments.h"
#include "luminal/cli/cases.h"
#include "luminal/cli/commands.h"
#include "luminal/cli/compile_page.h"
#include "luminal/support/file.h"

namespace luminal::cli {
namespace {

/// What the options say.
struct VizArguments {
  std::string graph;
  std::string output;
  std::vector<std::string> dims;
  double search = 0;
  std::string database;
  bool no_run = false;
};

/// mlp -> mlp.html, nets/a.graph -> a.html
std::string default_output(const std::string& graph) {
  return std::filesystem::path(graph).stem().string() + ".html";
}

void draw(const VizArguments& arguments, std::ostream& out) {
  RecordOptions options{
      .search_seconds = arguments.search, .database = arguments.database, .run = !arguments.no_run};
  options.dims = parse_dims("viz", arguments.dims);
  const std::string file =
      arguments.output.empty() ? default_output(arguments.graph) : arguments.output;
  const graph::Graph graph = graph_of("viz", arguments.graph);
  support::check_writable(file, "viz");
  CompileRecord record = record_compile(graph, options);
  const std::string page =
      compile_page(std::filesystem::path(arguments.graph).stem().string(), record);
  support::write_file_atomic(file, page, "viz");
  fmt::print(out, "{}: {} steps, {} classes, {:.1f} MB; open it in a browser\n", file,
             record.program->plan().steps.size(), record.graph->classes().size(),
             static_cast<double>(page.size()) / 1e6);
}

}  // namespace

void add_viz_command(CLI::App& app, std::ostream& out) {
  auto arguments = std::make_shared<VizArguments>();
  CLI::App* command = app.add_subcommand("viz", "One page of everything a compile did");
  command->add_option("GRAPH", arguments->graph, "A graph file, a saved plan, or a built-in case")
      ->required();
  command->add_option("-o,--output", arguments->output, "The page (GRAPH.html unless said)");
  command->add_option("--dim", arguments->dims, "NAME=NUMBER: the value of a dim (128 unless said)")
      ->allow_extra_args(false);
  command->add_option("--search", arguments->search, "Search for the plan, for so many seconds")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--database", arguments->database, "Where the search keeps what it measures");
  command->add_flag("--no-run", arguments->no_run, "Do not run it: no timeline");
  command->footer(R"(
Examples:
  luminal viz gpt-block -o page.html
  luminal viz net.graph --dim seq=512 --search 30)");
  command->callback([=, &out] { draw(*arguments, out); });
}

}  // namespace luminal::cli
