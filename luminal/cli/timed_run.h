// How long the steps of a program take on random data.
#pragma once

#include <vector>

#include "luminal/cli/random_inputs.h"
#include "luminal/graph/program.h"
#include "luminal/search/machine_limits.h"

namespace luminal::cli {

/// Times of a program.
struct TimedRun {
  /// The steps of a run in order, each with the median of its times over some runs. What is made of
  /// weights once is not among them.
  std::vector<graph::StepReport> steps;
  double run_us = 0.0;  ///< the median of whole runs, in which nothing is asked about steps
};
/// Runs of both kinds by turns, so that a disturbance meets both.
TimedRun timed_run(graph::Program& program, const graph::DimValues& dims, const DataFor& whom);

/// A run and what the machine can do: the best of what is measured before and after it.
struct RunAndLimits {
  TimedRun run;
  search::MachineLimits limits;
};
/// The same as timed_run() with the limits of that many threads (0: all).
RunAndLimits timed_run_and_limits(graph::Program& program, const graph::DimValues& dims,
                                  const DataFor& whom, int threads = 0);

}  // namespace luminal::cli
