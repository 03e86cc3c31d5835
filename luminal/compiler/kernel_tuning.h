// The kernels that a search looks at, each tuned as far as it was asked for. Kernels that are equal
// are one, whatever structure or layer they are part of.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "luminal/compiler/search_options.h"
#include "luminal/search/kernel_bench.h"
#include "luminal/search/kernel_space.h"
#include "luminal/search/tuner.h"

namespace luminal::compiler {

/// See above.
class KernelTuning {
 public:
  /// Everything must outlive it. `stop` is asked whether to measure no more, `progress` is told
  /// what is going on; what does not fit into `seconds_left`, if there is one, is not begun.
  KernelTuning(search::TuningDatabase& database, std::string device, const SearchOptions& options,
               std::function<bool()> stop,
               std::function<void(const std::string&, const search::TuneProgress&)> progress,
               std::function<double()> seconds_left = nullptr);
  ~KernelTuning();

  /// The number of a kernel, which is added if it is new.
  size_t add(search::KernelTask task);
  /// Sees to it that so many schedules of a kernel were tried, or all there are.
  void tune(size_t kernel, size_t trials);
  /// Tries schedules again that earlier searches were interrupted in, which tune() leaves out.
  void retry_interrupted(size_t kernel);

  /// What strategies that ask the cost model reckon with from now on.
  void set_machine(const kernel::Machine& machine);

  /// The best that is known.
  const search::TunedChoice& choice(size_t kernel) const { return entries_[kernel]->choice; }
  /// What is known as if this schedule were the best: that of an earlier search need not be.
  search::TunedChoice choice_with(size_t kernel, const std::string& schedule) const;
  const search::KernelTask& task(size_t kernel) const { return entries_[kernel]->task; }
  const search::TuningKey& key(size_t kernel) const { return entries_[kernel]->key; }
  /// What is used without search.
  const std::string& default_schedule(size_t kernel) const;
  /// What is known to be wrong with a schedule (empty: the default): what it gives, a crash or
  /// memory that is not its own. That it took too long or too much says nothing of its results.
  std::optional<search::Rejected> fault(size_t kernel, const std::string& schedule) const;
  /// Whether there is nothing left to try within so many trials.
  bool is_finished(size_t kernel, size_t trials) const;
  /// Whether trying some schedule was interrupted, and no more is known of it.
  bool has_interrupted(size_t kernel) const { return entries_[kernel]->interrupted > 0; }

  /// What a run takes, about, of a kernel that trying takes long and that was not tried; else 0.
  double untried_us(size_t kernel) const;

  /// Whether the machine did not let some kernel be tried.
  bool was_refused() const { return was_refused_; }

  size_t size() const { return entries_.size(); }
  size_t measured() const { return measured_; }
  /// Trials of all kernels that the database held when they were added.
  size_t known() const { return known_; }
  /// Whether so many batches of a kernel were disturbed that a better schedule may have been
  /// missed.
  bool is_unreliable(size_t kernel) const;

 private:
  struct Entry {
    search::KernelTask task;
    search::TuningKey key;
    std::unique_ptr<search::KernelSpace> space;
    search::TunedChoice choice;
    std::set<std::string> tried;  // in this search
    bool is_refused = false;      // the machine did not let it be tried
    size_t finished_trials = 0;
    size_t interrupted = 0;      // TuneResult
    size_t batches = 0;          // that were tried
    size_t disturbed = 0;        // of these
    double seconds_per_way = 0;  // TuneResult
    std::unique_ptr<search::Workbench> bench;
  };

  search::Workbench& bench_of(size_t kernel);
  void tune(size_t kernel, size_t trials, bool retry_interrupted);
  void tell(const Entry& entry, const search::TuningRecord& record, bool known) const;

  search::TuningDatabase& database_;
  std::string device_;
  const SearchOptions& options_;
  std::function<bool()> stop_;
  std::function<void(const std::string&, const search::TuneProgress&)> progress_;
  std::optional<kernel::Machine> machine_;
  std::function<double()> seconds_left_;
  search::BenchMemory memory_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::map<std::string, size_t> number_of_;  // by text and shapes
  std::vector<size_t> with_benches_;         // the last used last
  bool was_refused_ = false;
  size_t measured_ = 0;
  size_t known_ = 0;
};

}  // namespace luminal::compiler
