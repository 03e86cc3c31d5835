#include "luminal/cli/compile_record.h"

#include <chrono>
#include <optional>
#include <set>
#include <tuple>

#include "luminal/cli/arguments.h"
#include "luminal/cli/random_inputs.h"
#include "luminal/cli/timed_run.h"
#include "luminal/codegen/llvm/kernel_compiler.h"
#include "luminal/compiler/kernel_set.h"
#include "luminal/compiler/make_compiled.h"
#include "luminal/search/tuning_database.h"

namespace luminal::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Keeps the text of every piece of code that is compiled.
void keep_code(const codegen::KernelSource& source, const codegen::CpuTarget& target,
               std::map<support::Hash128, CodeText>& kept) {
  const codegen::KernelCompiler compiler(target, &codegen::default_kernel_cache());
  const support::Hash128 hash = support::hash128(compiler.compile(source).code);
  if (kept.contains(hash)) return;
  kept[hash] = {compiler.ir_text(source), compiler.assembly_text(source)};
}

/// Keeps what a search tries and when. A kernel that two parts of the search meet is told of twice.
class TrialList {
 public:
  void add(const compiler::SearchTrial& trial) {
    const bool is_new = known_.emplace(trial.identity, trial.shapes, trial.schedule).second;
    if (!is_new && trial.known) return;
    trials.push_back({trial, seconds_since(begin_)});
  }

  std::vector<TimedTrial> trials;

 private:
  Clock::time_point begin_ = Clock::now();
  std::set<std::tuple<std::string, std::string, std::string>> known_;
};

void search_and_compile(const compiler::Options& options, const RecordOptions& wanted,
                        CompileRecord& record) {
  search::TuningDatabase database =
      search::TuningDatabase::open_to_search(search_database("viz", wanted.database));
  TrialList tried;
  record.program = compiler::make_searched(
      record.graph->simplified(), options,
      {.seconds = *wanted.search_seconds,
       .go_on = true,
       .database = &database,
       .on_trial = [&](const compiler::SearchTrial& trial) { tried.add(trial); }},
      &record.search.emplace());
  record.trials = std::move(tried.trials);
}

/// What a search has measured of its kernels is told, too.
void explain_it(const RecordOptions& options, const std::optional<search::MachineLimits>& limits,
                CompileRecord& record) {
  compiler::ExplainOptions how;
  how.dims = record.dims;
  for (const graph::StepReport& step : record.run) how.step_us.push_back(step.microseconds);
  how.run_us = record.run_us;
  how.limits = limits;
  how.device = search::device_text(codegen::host_target(), compiler::threads_of({}));
  how.search = record.search;
  std::unique_ptr<search::TuningDatabase> database;
  if (options.search_seconds || !options.database.empty())
    database = known_measurements("viz", options.database);
  how.database = database.get();
  record.explanation = compiler::explain(record.program->plan(), how);
}

void run_and_explain(const RecordOptions& options, CompileRecord& record) {
  std::optional<search::MachineLimits> limits;
  if (options.run) {
    RunAndLimits run =
        timed_run_and_limits(*record.program, record.dims, {"viz", "--no-run runs nothing"});
    record.run = std::move(run.run.steps);
    record.run_us = run.run.run_us;
    limits = std::move(run.limits);
  }
  explain_it(options, limits, record);
}

}  // namespace

CompileRecord record_compile(const graph::Graph& written, const RecordOptions& options) {
  CompileRecord record;
  record.graph = std::make_unique<InspectedGraph>(written, rules::RuleOptions{});
  record.dims = dims_for_looking("viz", written, options.dims);
  compiler::Options compile{.dims = record.dims, .keep_text = true, .explain = true};
  compile.on_code = [&](const codegen::KernelSource& source, const codegen::CpuTarget& target) {
    keep_code(source, target, record.code);
  };
  const auto begin = Clock::now();
  if (options.search_seconds)
    search_and_compile(compile, options, record);
  else
    record.program = compiler::make_compiled(record.graph->simplified(), compile);
  record.compile_seconds = seconds_since(begin);
  run_and_explain(options, record);
  return record;
}

CompileRecord record_plan(plan::Plan plan, const RecordOptions& options) {
  CompileRecord record;
  // What the user says, else what the plan was made for.
  check_dims("viz", plan.graph, options.dims);
  record.dims = options.dims;
  for (const auto& [name, value] : plan.estimated_for)
    if (plan.graph.dims().contains(name)) record.dims.emplace(name, value);
  record.dims = dims_for_looking("viz", plan.graph, record.dims);
  record.program = plan::load_plan(std::move(plan));
  run_and_explain(options, record);
  return record;
}

}  // namespace luminal::cli
