#include "luminal/cli/timed_run.h"

#include <sstream>

#include "luminal/cli/random_inputs.h"
#include "luminal/support/stats.h"

namespace luminal::cli {

/// Runs often enough that one disturbance does not show: a step has its median time. The first run
/// prepares weights and does not count.
std::vector<graph::StepReport> timed_run(graph::Program& program, const graph::DimValues& dims) {
  constexpr size_t kRuns = 7;
  graph::FileRun files{.dims = dims};
  fill_inputs(program.graph(), 1, files);
  std::ostringstream text;
  graph::RunRequest request;
  request.dims = files.dims;
  request.text = &text;
  for (const auto& [name, value] : files.inputs) request.inputs[name] = &value;
  program.run(request);
  std::vector<graph::StepReport> steps;
  std::vector<std::vector<double>> times;
  for (size_t run = 0; run < kRuns; ++run) {
    steps.clear();
    request.on_step = [&](const graph::StepReport& step) { steps.push_back(step); };
    program.run(request);
    times.resize(steps.size());
    for (size_t k = 0; k < steps.size(); ++k) times[k].push_back(steps[k].microseconds);
  }
  for (size_t k = 0; k < steps.size(); ++k) steps[k].microseconds = support::median(times[k]);
  return steps;
}

}  // namespace luminal::cli
