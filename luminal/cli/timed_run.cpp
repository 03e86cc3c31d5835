#include "luminal/cli/timed_run.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>

#include "luminal/runtime/cpu/thread_team.h"
#include "luminal/support/stats.h"
#include "luminal/support/trace.h"

namespace luminal::cli {

/// Runs often enough that one disturbance does not show: a step has its median time. The first run
/// prepares weights and does not count.
TimedRun timed_run(graph::Program& program, const graph::DimValues& dims, const DataFor& whom) {
  constexpr size_t kRuns = 7;
  graph::FileRun files{.dims = dims};
  fill_inputs(program.graph(), 1, files, whom);
  std::ostringstream text;
  graph::RunRequest request;
  request.dims = files.dims;
  request.text = &text;
  for (const auto& [name, value] : files.inputs) request.inputs[name] = &value;
  program.run(request);
  TimedRun result;
  std::vector<graph::StepReport>& steps = result.steps;
  std::vector<std::vector<double>> times;
  std::vector<double> whole;
  for (size_t run = 0; run < kRuns; ++run) {
    // A trace has the run that prepares and one like all others.
    std::optional<support::TracePause> pause(std::in_place);
    request.on_step = nullptr;
    const auto begin = std::chrono::steady_clock::now();
    program.run(request);
    const std::chrono::duration<double, std::micro> taken =
        std::chrono::steady_clock::now() - begin;
    whole.push_back(taken.count());
    if (run + 1 == kRuns) pause.reset();
    steps.clear();
    request.on_step = [&](const graph::StepReport& step) { steps.push_back(step); };
    program.run(request);
    times.resize(steps.size());
    for (size_t k = 0; k < steps.size(); ++k) times[k].push_back(steps[k].microseconds);
  }
  for (size_t k = 0; k < steps.size(); ++k) steps[k].microseconds = support::median(times[k]);
  result.run_us = support::median(whole);
  return result;
}

RunAndLimits timed_run_and_limits(graph::Program& program, const graph::DimValues& dims,
                                  const DataFor& whom, int threads) {
  const int all = runtime::default_thread_team().size();
  runtime::ThreadTeam team({.threads = threads > 0 ? std::min(threads, all) : all});
  RunAndLimits result{{}, search::measure_limits(team)};
  result.run = timed_run(program, dims, whom);
  const search::MachineLimits after = search::measure_limits(team);
  search::MachineLimits& limits = result.limits;
  limits.f32_flops = std::max(limits.f32_flops, after.f32_flops);
  limits.bf16_flops = std::max(limits.bf16_flops, after.bf16_flops);
  limits.i8_flops = std::max(limits.i8_flops, after.i8_flops);
  for (size_t k = 0; k < limits.reads.size(); ++k)
    limits.reads[k].rate = std::max(limits.reads[k].rate, after.reads[k].rate);
  return result;
}

}  // namespace luminal::cli
