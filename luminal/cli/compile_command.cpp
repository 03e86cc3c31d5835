#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "luminal/cli/arguments.h"
#include "luminal/cli/commands.h"
#include "luminal/cli/option_values.h"
#include "luminal/cli/program_file.h"
#include "luminal/codegen/llvm/cpu_target.h"
#include "luminal/compiler/buckets.h"
#include "luminal/compiler/make_compiled.h"
#include "luminal/graph/pass.h"
#include "luminal/plan/plan_file.h"
#include "luminal/search/tuning_database.h"
#include "luminal/support/file.h"

namespace luminal::cli {
namespace {

/// What the options say.
struct CompileArguments {
  std::string graph;
  std::string output;
  std::vector<std::string> dims;
  std::optional<double> search;
  std::string database;
  std::string target;
  int threads = 0;
};

/// Whoever explains or draws the plan later finds in it what a compile knows.
compiler::Options options_of(const CompileArguments& arguments) {
  compiler::Options options;
  options.dims = parse_dims("compile", arguments.dims);
  options.threads = arguments.threads;
  if (arguments.threads > 0) options.machine = kernel::Machine::cpu(arguments.threads);
  if (!arguments.target.empty()) options.target = named_target("compile", arguments.target);
  options.keep_text = true;
  options.explain = true;
  return options;
}

/// Nothing is loaded unless a search runs it: a plan may be for another processor.
void compile_to(const CompileArguments& arguments, const compiler::Options& options,
                const graph::Graph& graph, std::ostream& out) {
  if (!arguments.search) return plan::save_plan(build_buckets(graph, options), arguments.output);
  search::TuningDatabase database =
      search::TuningDatabase::open_to_search(search_database("compile", arguments.database));
  compiler::SearchReport report;
  const auto program = compiler::make_searched(
      graph, options, {.seconds = *arguments.search, .go_on = true, .database = &database},
      &report);
  plan::save_plan(program->plan(), arguments.output);
  out << compiler::to_string(report);
}

/// What was made, and who runs it.
void tell(const std::string& plan, const std::optional<codegen::CpuTarget>& target,
          std::ostream& out) {
  fmt::print(out, "{}: {:.1f} KB; ", plan,
             static_cast<double>(std::filesystem::file_size(plan)) / 1e3);
  if (!target || codegen::runs_here(*target))
    fmt::print(out, "`luminal run {}` runs it\n", plan);
  else
    fmt::print(out, "code for {}, which this machine cannot run: `luminal run {}` runs it there\n",
               target->name, plan);
}

void compile(const CompileArguments& arguments, std::ostream& out) {
  only_with("compile", {"--database", !arguments.database.empty()},
            {{"--search", arguments.search.has_value()}});
  const compiler::Options options = options_of(arguments);
  if (arguments.search && options.target && !codegen::runs_here(*options.target))
    throw UserError("compile", "a search measures, and this processor cannot run code for {}",
                    options.target->name);
  const ProgramFile file("compile", arguments.graph);
  if (file.is_plan())
    throw UserError("compile", "{} is a plan already; compile the graph that it was made of",
                    arguments.graph);
  check_dims("compile", file.graph(), options.dims);
  support::check_writable(arguments.output, "compile");
  compile_to(arguments, options, graph::default_passes().run(file.graph()).graph, out);
  tell(arguments.output, options.target, out);
}

}  // namespace

void add_compile_command(CLI::App& app, std::ostream& out) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App* command =
      app.add_subcommand("compile", "Compile a graph into a plan that runs without a compiler");
  command->add_option("GRAPH", arguments->graph, "A graph file or a built-in case")->required();
  command->add_option("-o,--output", arguments->output, "The plan")->required();
  command
      ->add_option("--dim", arguments->dims,
                   "NAME=NUMBER: the value of a dim to choose for; the plan runs with all values")
      ->allow_extra_args(false);
  command
      ->add_option("--search", arguments->search,
                   "Search for the plan, for so many seconds; 0 goes by the database alone")
      ->transform(seconds());
  command->add_option("--database", arguments->database, "Where the search keeps what it measures");
  command->add_option("--threads", arguments->threads, "Threads that a launch may use")
      ->transform(whole_number(1, 1024));
  command
      ->add_option("--target", arguments->target,
                   "Code for another processor, such as znver4 or haswell")
      ->check(processor_names());
  command->footer(R"(
Examples:
  luminal compile gpt-block -o block.plan
  luminal compile net.graph -o net.plan --dim seq=512 --search 30
  luminal compile net.graph -o haswell.plan --target haswell)");
  command->callback([=, &out] { compile(*arguments, out); });
}

}  // namespace luminal::cli
