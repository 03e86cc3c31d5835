// How long candidates take, measured side by side. Rounds run every candidate in turn, so that a
// disturbance hits all of them alike; a candidate that cannot win any more is dropped early. What
// comes out is the median of its samples with their spread.
#pragma once

#include <functional>
#include <vector>

#include "luminal/runtime/cpu/thread_team.h"
#include "luminal/search/candidate.h"
#include "luminal/search/measurement.h"

namespace luminal::search {

/// How long measuring may take, and when it is enough.
struct MeasureOptions {
  double seconds = 0.25;  ///< for all candidates together
  int least_samples = 5;  ///< of those that stay
  int most_samples = 60;
  double sample_us = 200;       ///< quick kernels run several times for one sample
  double hopeless = 1.25;       ///< slower than the best by this factor after a few rounds: dropped
  double steady_spread = 0.02;  ///< enough is known if spread over median is below this
  int threads = 0;              ///< of the team that runs it, at most; 0: all
  /// Asked after rounds that end late: whether to be content with fewer samples than the least.
  std::function<bool()> stop = nullptr;
  /// Microseconds since whenever. Null: the machine's clock.
  std::function<double()> clock = nullptr;
};

/// What measuring gave.
struct Measured {
  std::vector<Timing> timings;  ///< by candidate
  /// Samples were disturbed so much that an order of the best would be luck.
  bool unreliable = false;
};

/// Times functions, each of which does all that is to be timed.
Measured measure_runs(const std::vector<std::function<void()>>& runs,
                      const MeasureOptions& options = {});

/// Times candidates of one kernel on the same memory. They must have been checked before.
Measured measure(const std::vector<const Candidate*>& candidates, const TensorPlaces& tensors,
                 runtime::ThreadTeam& team, const MeasureOptions& options = {});

}  // namespace luminal::search
