#include "luminal/cli/compile_record.h"

#include <chrono>
#include <ctime>
#include <filesystem>
#include <optional>

#include "luminal/cli/random_inputs.h"
#include "luminal/cli/timed_run.h"
#include "luminal/codegen/llvm/kernel_compiler.h"
#include "luminal/compiler/kernel_set.h"
#include "luminal/compiler/make_compiled.h"
#include "luminal/search/tuning_database.h"
#include "luminal/support/error.h"

namespace luminal::cli {
namespace {

/// Keeps the text of every piece of code that is compiled.
void keep_code(const codegen::KernelSource& source, const codegen::CpuTarget& target,
               std::map<support::Hash128, CodeText>& kept) {
  const codegen::KernelCompiler compiler(target, &codegen::default_kernel_cache());
  const support::Hash128 hash = support::hash128(compiler.compile(source).code);
  if (kept.contains(hash)) return;
  kept[hash] = {compiler.ir_text(source), compiler.assembly_text(source)};
}

std::vector<SearchPoint> points_since(const search::TuningDatabase& database, int64_t begin) {
  std::vector<SearchPoint> points;
  for (const search::TunedKernel& kernel : database.kernels())
    for (const search::TuningRecord& record : database.records(kernel.kernel)) {
      if (record.measured_at < begin) continue;
      const auto* timing = std::get_if<search::Timing>(&record.result);
      // Different kernels may have one label.
      const std::string name = kernel.label + " " + support::to_hex(kernel.kernel).substr(0, 6);
      points.push_back({name, static_cast<double>(record.measured_at - begin),
                        timing == nullptr ? 0.0 : timing->median_us});
    }
  return points;
}

void search_and_compile(const compiler::Options& options, const RecordOptions& wanted,
                        CompileRecord& record) {
  const std::string path =
      wanted.database.empty() ? search::default_tuning_path() : wanted.database;
  if (path.empty())
    throw UserError("viz",
                    "a search needs a database: there is no cache directory, and "
                    "--database FILE names none");
  search::TuningDatabase database(path);
  const int64_t begin = std::time(nullptr);
  record.program = compiler::make_searched(
      record.graph->simplified(), options,
      {.seconds = wanted.search_seconds, .database = &database, .progress = false},
      &record.search.emplace());
  record.points = points_since(database, begin);
}

/// What a search has measured of its kernels is told, too.
void explain_it(const RecordOptions& options, const std::optional<search::MachineLimits>& limits,
                CompileRecord& record) {
  compiler::ExplainOptions how;
  how.dims = record.dims;
  for (const graph::StepReport& step : record.run) how.step_us.push_back(step.microseconds);
  how.limits = limits;
  how.device = search::device_text(codegen::host_target(), compiler::threads_of({}));
  how.search = record.search;
  const std::string path =
      options.database.empty() ? search::default_tuning_path() : options.database;
  std::optional<search::TuningDatabase> database;
  if ((options.search_seconds > 0 || !options.database.empty()) && std::filesystem::exists(path))
    how.database = &database.emplace(path);
  record.explanation = compiler::explain(record.program->plan(), how);
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
  const auto begin = std::chrono::steady_clock::now();
  if (options.search_seconds > 0)
    search_and_compile(compile, options, record);
  else
    record.program = compiler::make_compiled(record.graph->simplified(), compile);
  record.compile_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::optional<search::MachineLimits> limits;
  if (options.run) {
    RunAndLimits run = timed_run_and_limits(*record.program, record.dims);
    record.run = std::move(run.steps);
    limits = std::move(run.limits);
  }
  explain_it(options, limits, record);
  return record;
}

}  // namespace luminal::cli
