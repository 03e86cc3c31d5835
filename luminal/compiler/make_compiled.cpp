#include "luminal/compiler/make_compiled.h"

#include <chrono>
#include <functional>
#include <optional>

#include "luminal/compiler/buckets.h"
#include "luminal/compiler/search_plan.h"
#include "luminal/graph/query.h"
#include "luminal/plan/step_check.h"
#include "luminal/runtime/cpu/thread_team.h"
#include "luminal/search/interrupt.h"
#include "luminal/support/env.h"
#include "luminal/support/trace.h"

namespace luminal::compiler {
namespace {

/// Loads what `build` makes, with checked steps if that is asked for.
std::unique_ptr<plan::CompiledProgram> loaded(const Options& options,
                                              const std::function<Plan(const Options&)>& build) {
  const support::Environment& environment = support::environment();
  if (!options.check_steps && !environment.flag(support::EnvVar::kCheckSteps))
    return plan::load_plan(build(options), options.threads);
  Options checked = options;
  checked.check_steps = true;
  checked.keep_text = true;
  auto program = plan::load_plan(build(checked), options.threads);
  return plan::with_checked_steps(std::move(program),
                                  {.directory = environment.text(support::EnvVar::kCheckDir)});
}

/// Tensors whose bytes cannot be counted are the caller's error, said before anything is planned.
void check_sizes(const graph::Graph& graph) {
  for (const graph::NodeId id : graph.ids()) {
    const graph::TensorType& type = graph.node(id).type;
    try {
      graph::bytes_of(type);
    } catch (const UserError&) {
      throw UserError("compile",
                      "%{} is {}, whose bytes do not fit into 64 bits; give smaller dims", id.value,
                      graph::to_string(type));
    }
  }
}

/// Who searches must run what is found.
void check_searchable(const Options& options) {
  if (options.target && !codegen::runs_here(*options.target))
    throw UserError("compile",
                    "a search runs what it compares, and this processor cannot run code for {}; "
                    "compile in fast mode, or search there",
                    options.target->name);
  const int threads = runtime::default_thread_team().size();
  if (options.threads > threads)
    throw UserError("compile",
                    "a search runs what it compares, and this process computes on {} threads, not "
                    "{}; ask for fewer, set LUMINAL_THREADS={}, or compile in fast mode",
                    threads, options.threads, options.threads);
}

/// Whether what was found was compared with the plan of the cost model, if anything was timed.
bool is_compared(const SearchReport& report) { return report.fast_us > 0 || report.best_us == 0; }

void add(SearchReport& all, SearchReport&& one) {
  all.fast_us = is_compared(all) && is_compared(one) ? all.fast_us + one.fast_us : 0.0;
  all.best_us += one.best_us;
  all.structures += one.structures;
  all.kernels += one.kernels;
  all.measured += one.measured;
  all.known += one.known;
  all.rejected += one.rejected;
  all.untried += one.untried;
  all.model = one.model;
  all.fitted_model = one.fitted_model;
  for (KernelGain& gain : one.gains) all.gains.push_back(std::move(gain));
  for (StructureTrial& trial : one.trials) all.trials.push_back(std::move(trial));
  all.finished = all.finished && one.finished;
  all.interrupted = all.interrupted || one.interrupted;
  all.unreliable = all.unreliable || one.unreliable;
  all.recalled = all.recalled && one.recalled;
  if (!one.fault.empty()) all.fault += (all.fault.empty() ? "" : "; ") + one.fault;
}

}  // namespace

std::unique_ptr<plan::CompiledProgram> make_compiled(const graph::Graph& graph,
                                                     const Options& options) {
  const support::TraceSpan span("compile", "plan");
  check_sizes(graph);
  return loaded(options, [&](const Options& each) { return build_buckets(graph, each); });
}

std::unique_ptr<plan::CompiledProgram> make_searched(const graph::Graph& graph,
                                                     const Options& options,
                                                     const SearchOptions& search,
                                                     SearchReport* report) {
  const support::TraceSpan span("compile", "search for a plan");
  check_sizes(graph);
  check_searchable(options);
  // One for all buckets: who interrupts a search means all of it.
  std::optional<search::InterruptWatch> watch;
  if (search.interruptible) watch.emplace();
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  const size_t plans = bucket_count(options);
  size_t done = 0;
  SearchReport all;
  all.finished = true;
  all.recalled = true;
  auto program = loaded(options, [&](const Options& each) {
    Plan plan = build_buckets(graph, each, [&](const Options& for_values, FoundDefinitions& found) {
      const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
      const SearchPart part = next_part(search.seconds, elapsed, plans, done++);
      SearchedPlan searched = search_plan(graph, for_values, search, &found, part);
      add(all, std::move(searched.report));
      return std::move(searched.plan);
    });
    watch.reset();  // loading is no part of the search
    return plan;
  });
  if (report != nullptr) *report = std::move(all);
  return program;
}

}  // namespace luminal::compiler
