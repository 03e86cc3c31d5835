#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "luminal/cli/arguments.h"
#include "luminal/cli/cases.h"
#include "luminal/cli/commands.h"
#include "luminal/cli/explanation_json.h"
#include "luminal/cli/explanation_page.h"
#include "luminal/cli/json_text.h"
#include "luminal/cli/option_values.h"
#include "luminal/cli/random_inputs.h"
#include "luminal/cli/timed_run.h"
#include "luminal/compiler/buckets.h"
#include "luminal/compiler/kernel_set.h"
#include "luminal/compiler/make_compiled.h"
#include "luminal/graph/pass.h"
#include "luminal/plan/plan_file.h"
#include "luminal/search/tuning_database.h"
#include "luminal/support/error.h"
#include "luminal/support/file.h"

namespace luminal::cli {
namespace {

/// What the options say.
struct ExplainArguments {
  std::string file;
  std::vector<std::string> dims;
  std::optional<double> search;
  std::string database;
  std::string target;
  int threads = 0;
  bool no_times = false;
  bool all = false;
  bool json = false;
  std::string html;
};

/// Explains one file.
class Explaining {
 public:
  explicit Explaining(const ExplainArguments& arguments) : arguments_(arguments) {
    options_.dims = parse_dims("explain", arguments.dims);
    options_.title = std::filesystem::path(arguments.file).stem().string();
    target_ = arguments.target.empty() ? codegen::host_target()
                                       : named_target("explain", arguments.target);
    if (arguments.search && !runs())
      throw UserError("explain", "a search measures, and this processor cannot run code for {}",
                      target_.name);
    open_database();
  }

  compiler::Explanation run() {
    if (plan::is_plan_file(arguments_.file)) {
      if (arguments_.search || !arguments_.target.empty())
        throw UsageError(
            "explain", "{} is a plan, whose choices are made; --search and --target are for graphs",
            arguments_.file);
      plan::Plan plan = plan::load_plan_file(arguments_.file);
      check_dims("explain", plan.graph, options_.dims);
      program_ = plan::load_plan(std::move(plan), arguments_.threads);
    } else {
      compile();
    }
    const compiler::Plan& plan = program_ ? program_->plan() : plan_;
    for (const auto& [name, value] : plan.estimated_for) options_.dims.emplace(name, value);
    compiler::Options threads;
    threads.threads = arguments_.threads;
    options_.device = search::device_text(target_, compiler::threads_of(threads));
    if (!arguments_.no_times) measure();
    return compiler::explain(plan, options_);
  }

 private:
  bool runs() const { return codegen::runs_here(target_); }

  void open_database() {
    const std::string& named = arguments_.database;
    // What was ever measured says more than nothing, but is another thing every day.
    if (arguments_.search)
      // It cannot be moved.  NOLINTNEXTLINE(modernize-make-unique)
      database_ = std::unique_ptr<search::TuningDatabase>(new search::TuningDatabase(
          search::TuningDatabase::open_to_search(search_database("explain", named))));
    else if (!named.empty() || !arguments_.no_times)
      database_ = known_measurements("explain", named);
    options_.database = database_.get();
  }

  void compile() {
    const graph::Graph written = graph_of("explain", arguments_.file);
    options_.dims = dims_for_looking("explain", written, options_.dims);
    const graph::Graph graph = graph::default_passes().run(written).graph;
    compiler::Options options;
    options.dims = options_.dims;
    options.threads = arguments_.threads;
    options.target = target_;
    if (arguments_.threads > 0) options.machine = kernel::Machine::cpu(arguments_.threads);
    options.explain = true;
    if (arguments_.search) {
      program_ = compiler::make_searched(
          graph, options,
          {.seconds = *arguments_.search, .go_on = true, .database = database_.get()},
          &options_.search.emplace());
      return;
    }
    plan_ = compiler::build_buckets(graph, options);
    if (runs() && !arguments_.no_times)
      program_ = plan::load_plan(std::move(plan_), arguments_.threads);
  }

  void measure() {
    if (!runs())
      options_.not_run = fmt::format("this processor cannot run code for {}", target_.name);
    if (!runs() || !program_) return;
    const RunAndLimits run = timed_run_and_limits(
        *program_, options_.dims, {"explain", "--no-times runs nothing"}, arguments_.threads);
    for (const graph::StepReport& step : run.run.steps)
      options_.step_us.push_back(step.microseconds);
    options_.run_us = run.run.run_us;
    options_.limits = run.limits;
  }

  const ExplainArguments& arguments_;
  compiler::ExplainOptions options_;
  codegen::CpuTarget target_;
  std::unique_ptr<search::TuningDatabase> database_;
  compiler::Plan plan_;
  std::unique_ptr<plan::CompiledProgram> program_;
};

void explain(const ExplainArguments& arguments, std::ostream& out) {
  const Option all{"--all", arguments.all};
  nothing_with("explain", {"--json", arguments.json}, {all});
  nothing_with("explain", {"--html", !arguments.html.empty()}, {all});
  if (!arguments.html.empty()) support::check_writable(arguments.html, "explain");
  const compiler::Explanation explanation = Explaining(arguments).run();
  if (!arguments.html.empty()) {
    support::write_file_atomic(arguments.html, explanation_page(explanation, !arguments.no_times),
                               "explain");
    fmt::print(out, "{}: open it in a browser\n", arguments.html);
    return;
  }
  if (arguments.json)
    print_json(to_json(explanation, !arguments.no_times), out);
  else
    out << compiler::to_string(explanation,
                               {.times = !arguments.no_times, .all_steps = arguments.all});
}

}  // namespace

void add_explain_command(CLI::App& app, std::ostream& out) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command = app.add_subcommand(
      "explain", "What runs, why it was fused so, and how near it is to the limits");
  command->add_option("GRAPH", arguments->file, "A graph file, a saved plan, or a built-in case")
      ->required();
  command
      ->add_option("--dim", arguments->dims,
                   "NAME=NUMBER: the value of a dim (128 unless said, or that of the plan)")
      ->allow_extra_args(false);
  command
      ->add_option("--search", arguments->search,
                   "Search for the plan, for so many seconds; 0 goes by the database alone")
      ->transform(seconds());
  command->add_option("--database", arguments->database, "Where measurements of searches are");
  command->add_option("--threads", arguments->threads, "Threads that a launch may use")
      ->transform(whole_number(1, 1024));
  command
      ->add_option("--target", arguments->target,
                   "Code for another processor, such as znver4; run if this one can")
      ->check(processor_names());
  command->add_flag("--no-times", arguments->no_times,
                    "Run nothing and measure nothing: the same plan gives the same text");
  command->add_flag("--all", arguments->all, "Every step on a line, repeated layers too");
  CLI::Option* json = command->add_flag("--json", arguments->json, "As JSON");
  command
      ->add_option("--html", arguments->html,
                   "As a page that needs no other file: written to this one")
      ->excludes(json);
  command->footer(R"(
Examples:
  luminal explain gpt-block
  luminal explain net.graph --dim seq=512 --search 30
  luminal explain net.plan --json
  luminal explain gpt-block --html page.html)");
  command->callback([=, &out] { explain(*arguments, out); });
}

}  // namespace luminal::cli
