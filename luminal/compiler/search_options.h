// How long and how a plan is searched for, and what a search tells of itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "luminal/compiler/plan.h"
#include "luminal/search/calibration.h"
#include "luminal/search/measurement.h"
#include "luminal/search/strategy.h"

namespace luminal::search {
class TuningDatabase;
class Workbench;
struct KernelTask;
struct ScheduleHint;
}  // namespace luminal::search

namespace luminal::compiler {

/// Whose times a search goes by. Tests bring their own.
struct SearchTools {
  /// Tries schedules of a kernel.
  std::function<std::unique_ptr<search::Workbench>(const search::KernelTask&)> kernels = nullptr;
  /// Tries plans, which `plan` makes by name.
  std::function<std::unique_ptr<search::Workbench>(std::function<Plan(const std::string&)> plan)>
      plans = nullptr;
};

/// One way that a search tried to compute a kernel, or one plan that it timed.
struct SearchTrial {
  std::string label;           ///< what the kernel computes; "a whole plan"
  std::string identity;        ///< what `luminal tuning show` finds it by
  std::string shapes;          ///< values of its dims; empty: it has none
  std::string schedule;        ///< the way; of a plan, which one it is
  bool is_default = false;     ///< what would be used without a search
  bool known = false;          ///< the database had it before; nothing was measured now
  search::Measurement result;  ///< its time, or why it does not count
};

/// See above.
struct SearchOptions {
  /// How long to measure. A program that was searched for as long already gets what was found then,
  /// at once. 0: measures nothing and goes by what the database holds.
  double seconds = 60;
  /// Measure for so long again where earlier searches have left something to try.
  bool go_on = false;
  uint64_t seed = 1;  ///< of what is drawn by chance
  search::StrategyKind strategy = search::StrategyKind::kLocalMoves;  ///< names schedules to try
  size_t most_trials = 48;                                            ///< of one kernel
  int structures = 8;  ///< drafts that are compared, besides the first and those of other launches
  /// Where measurements are looked for and kept. Null: where the environment says.
  search::TuningDatabase* database = nullptr;
  /// Schedules that are tried before others. Null: those that the library ships.
  const std::vector<search::ScheduleHint>* hints = nullptr;
  /// Ends the search with what there is, if it becomes true.
  const std::atomic<bool>* cancel = nullptr;
  /// The first SIGINT ends the search with what there is (search/interrupt.h).
  bool interruptible = true;
  /// Draw a progress bar.
  bool progress = true;
  /// Told of what the database has of each kernel when the kernel is first met, and of every trial
  /// when its result is known.
  std::function<void(const SearchTrial&)> on_trial = nullptr;
  SearchTools tools = {};  ///< what stands in for parts of the search
};

/// What tuning one kernel gained.
struct KernelGain {
  std::string label;        ///< what the kernel computes
  std::string schedule;     ///< the best one that is known
  double default_us = 0.0;  ///< a run with the default schedule
  double best_us = 0.0;     ///< a run with the best one
  double uses = 0.0;        ///< how often one run of the plan uses it
};

/// A structure that was looked at, or a whole plan of one that was timed.
struct StructureTrial {
  std::string name;          ///< its number, and whose schedules it has
  bool used = false;         ///< it is the plan that was found
  double kernels_us = 0.0;   ///< what its kernels take, shared launches once; 0: not all are known
  double measured_us = 0.0;  ///< a run as a whole; 0: not measured
  std::string rejected;      ///< why it was given up; empty: it was not
  bool operator==(const StructureTrial&) const = default;
};

/// What a search did.
struct SearchReport {
  /// A run of the plan that the cost model chose; 0: not measured. A plan with a kernel that is
  /// known to be wrong is not.
  double fast_us = 0.0;
  double best_us = 0.0;   ///< a run of the plan that was found
  size_t structures = 0;  ///< drafts that were compared
  size_t kernels = 0;     ///< distinct ones that were looked at
  size_t measured = 0;    ///< trials of kernels in this search; plans are in `trials`
  size_t known = 0;       ///< trials of these kernels that the database held before
  size_t rejected = 0;    ///< of both
  /// Kernels of the plan of the cost model that trying takes too long for the time there was.
  size_t untried = 0;
  /// How well the cost model ranks all kernels that the database knows of this device.
  search::ModelQuality model = {};
  search::ModelQuality fitted_model = {};   ///< with constants that fit the times
  std::vector<KernelGain> gains = {};       ///< of the plan that was found, the largest first
  std::vector<StructureTrial> trials = {};  ///< whole plans first
  /// All structures were looked for, finalists were timed, and kernels of the best structures had
  /// all of their trials: another search would find the same.
  bool finished = false;
  bool interrupted = false;  ///< ended by SIGINT or by the caller
  bool unreliable = false;   ///< other work on the machine disturbed the times
  /// A kernel of the plan that is known to be wrong, and what was wrong with it: no plan was found
  /// without one. Empty: there is none.
  std::string fault = {};
  /// An earlier search of the same program told most of this; nothing was searched now.
  bool recalled = false;
};

/// Some lines for people.
std::string to_string(const SearchReport& report);

}  // namespace luminal::compiler
