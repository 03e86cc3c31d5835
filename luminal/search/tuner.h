// Finds a good way to compute one kernel by trying some. Everything that is tried goes into the
// tuning database at once, and what the database has is not tried again: a search that is ended and
// begun anew goes on, and one that finds everything there measures nothing. What is chosen follows
// from what the database holds, and from nothing else.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "luminal/search/space.h"
#include "luminal/search/strategy.h"
#include "luminal/search/tuning_database.h"

namespace luminal::search {

/// What trying several ways side by side gave.
struct Tried {
  std::vector<Measurement> results;  ///< by way
  /// The machine was so busy that an order of the best would be luck.
  bool unreliable = false;
};

/// Told of a way that does not count.
using OnRejected = std::function<void(const std::string& schedule, const Rejected& why)>;

/// Builds, checks and times ways to compute one kernel.
class Workbench {
 public:
  virtual ~Workbench() = default;
  /// Tries ways, all of which are measured by turns. Never throws because of a way: what is wrong
  /// with it is its result.
  virtual Tried try_out(const std::vector<std::string>& schedules) = 0;
  /// The same. Tells of ways that are rejected as soon as that is known, from any thread but one at
  /// a time: timing the others takes longer, and may be the end of the process.
  virtual Tried try_out_telling(const std::vector<std::string>& schedules,
                                const OnRejected& /*on_rejected*/) {
    return try_out(schedules);
  }
};

/// What is going on, for progress bars.
struct TuneProgress {
  size_t tried = 0;
  size_t rejected = 0;
  double default_us = 0.0;  ///< 0: not known yet
  double best_us = 0.0;
};

/// How long to go on.
struct TuneOptions {
  StrategyKind strategy = StrategyKind::kLocalMoves;
  uint64_t seed = 1;
  size_t most_trials = 48;  ///< those that the database has count too
  size_t batch = 6;         ///< ways measured side by side
  /// Keep times that were disturbed, marked as such, and go on. Else they are the result, the
  /// search ends with them, and the next one measures again.
  bool keep_disturbed = true;
  /// What this search has tried, also by earlier calls: what was disturbed then is not measured
  /// again, while what an earlier search left is. Null: nothing before this call.
  std::set<std::string>* tried_now = nullptr;
  /// After all others, try what was interrupted in earlier searches, one at a time: what takes too
  /// long for the time there is must not be in the way of the rest. Else it is left for a later
  /// call. It counts as tried either way.
  bool retry_interrupted = true;
  /// Asked before every batch and before one is repeated: whether to end with what there is.
  std::function<bool()> stop = nullptr;
  /// How long trying may still take; null: any time. No way is begun that does not fit by what is
  /// known of trying one.
  std::function<double()> seconds_left = nullptr;
  /// What is known of it from before (TuneResult::seconds_per_way); 0: nothing.
  double seconds_per_way = 0.0;
  /// Microseconds since whenever. Null: the machine's clock.
  std::function<double()> clock = nullptr;
  std::function<void(const TuneProgress&)> on_progress = nullptr;
  /// Told of every way that was tried now, as soon as its result is known.
  std::function<void(const TuningRecord&)> on_trial = nullptr;
};

/// The way that is best by what is known.
struct TunedChoice {
  std::string schedule;  ///< empty: nothing is known of this kernel
  double best_us = 0.0;
  double default_us = 0.0;  ///< 0: the default does not count
  size_t tried = 0;
  size_t rejected = 0;
  bool operator==(const TunedChoice&) const = default;
};

/// What a search did.
struct TuneResult {
  TunedChoice choice;
  size_t measured = 0;  ///< ways that were tried now
  /// The strategy has nothing left to try, or all trials are used, no time was disturbed and
  /// nothing was interrupted.
  bool finished = false;
  /// Ways that were interrupted, now or in earlier searches, and of which no more is known.
  size_t interrupted = 0;
  size_t batches = 0;       ///< that were tried now
  size_t disturbed = 0;     ///< of these, also when they were repeated
  bool unreliable = false;  ///< some batch was disturbed
  /// What trying one more takes, by the last batch or what was known before.
  double seconds_per_way = 0.0;
};

/// What follows from records of one key: the quickest of the ways that are quicker than the default
/// beyond noise, or the default; one whose time was disturbed only if there is no other.
TunedChoice choose(const std::vector<TuningRecord>& records, const std::string& default_schedule);

/// Searches. The kernel's text should be in the database already (TuningDatabase::add_kernel).
TuneResult tune(TuningDatabase& database, const TuningKey& key, const Space& space,
                Workbench& workbench, const TuneOptions& options = {});

}  // namespace luminal::search
