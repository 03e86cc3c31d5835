#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "luminal/cli/arguments.h"
#include "luminal/cli/cases.h"
#include "luminal/cli/commands.h"
#include "luminal/cli/compile_page.h"
#include "luminal/cli/option_values.h"
#include "luminal/plan/plan_file.h"
#include "luminal/search/tuning_database.h"
#include "luminal/support/file.h"

namespace luminal::cli {
namespace {

/// What the options say.
struct VizArguments {
  std::string graph;
  std::string output;
  std::vector<std::string> dims;
  std::optional<double> search;
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
  if (!arguments.search && !arguments.database.empty())
    known_measurements("viz", arguments.database);  // before anything is compiled
  const std::string file =
      arguments.output.empty() ? default_output(arguments.graph) : arguments.output;
  const auto record_it = [&] {
    if (is_case(arguments.graph) || !plan::is_plan_file(arguments.graph)) {
      const graph::Graph graph = graph_of("viz", arguments.graph);
      support::check_writable(file, "viz");
      return record_compile(graph, options);
    }
    if (arguments.search)
      throw UsageError("viz", "{} is a plan, whose choices are made; --search is for graphs",
                       arguments.graph);
    plan::Plan plan = plan::load_plan_file(arguments.graph);
    support::check_writable(file, "viz");
    return record_plan(std::move(plan), options);
  };
  CompileRecord record = record_it();
  const std::string page =
      compile_page(std::filesystem::path(arguments.graph).stem().string(), record);
  support::write_file_atomic(file, page, "viz");
  fmt::print(out, "{}: {} steps, {}, {:.1f} MB; open it in a browser\n", file,
             record.program->plan().steps.size(),
             record.graph == nullptr ? "of the saved plan"
                                     : fmt::format("{} classes", record.graph->classes().size()),
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
  command
      ->add_option("--search", arguments->search,
                   "Search for the plan, for so many seconds; 0 goes by the database alone")
      ->transform(seconds());
  command->add_option("--database", arguments->database, "Where measurements of searches are");
  command->add_flag("--no-run", arguments->no_run, "Do not run it: no timeline");
  command->footer(R"(
Examples:
  luminal viz gpt-block -o page.html
  luminal viz net.graph --dim seq=512 --search 30
  luminal viz net.plan                               a plan as it was saved)");
  command->callback([=, &out] { draw(*arguments, out); });
}

}  // namespace luminal::cli
