// Says whether a candidate computes what its kernel says: on ordinary data and on data with
// infinities, NaNs and large values, and where there are maxima on data below 0, against the oracle
// at sampled points and against the first candidate that passed everywhere (kernel_expectation.h).
//
// A candidate runs in a child process, on ordinary data with its tensors pushed against forbidden
// pages at the one end, on the other at the other end. All that it writes to holds a pattern at
// first. On ordinary data it runs a second time, over its own results and on threads, and has to
// give the same bits. Code for any values of dims is tried with some others too (trial_dims.h).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "luminal/kernel/evaluate.h"
#include "luminal/search/candidate.h"
#include "luminal/search/guarded_tensors.h"
#include "luminal/search/kernel_expectation.h"
#include "luminal/search/trial_dims.h"

namespace luminal::search {

/// How thoroughly candidates are checked.
struct CheckOptions {
  uint64_t seed = 1;
  PointCounts points = {};
  /// How much processor time a candidate may use as long as none has passed; more where a kernel
  /// has that much to do.
  std::chrono::milliseconds limit{10'000};
  /// And at least, however quick the first that passed was.
  std::chrono::milliseconds least{1000};
  /// Asked while a candidate takes long: whether to give it up (run_apart.h).
  std::function<bool()> stop = nullptr;
  /// Told of what fails before a candidate runs, from any thread.
  std::function<void(const std::exception&)> on_failure = nullptr;
  /// That run it at a time, if it uses threads.
  int threads = 2;
};

/// See above.
class KernelCheck {
 public:
  /// The arena and kernel must outlive the check.
  KernelCheck(const kernel::Arena& arena, const kernel::Kernel& kernel, graph::DimValues dims,
              const CheckOptions& options = {});
  ~KernelCheck();

  /// Why a candidate does not count; nothing if it does. May be called from several threads, whose
  /// candidates run at a time. What fails before a candidate runs says nothing about it: it counts
  /// as interrupted.
  std::optional<Rejected> check(const Candidate& candidate);
  /// How much processor time candidates may use: once one has passed, so much more than that took
  /// that nothing slower is worth a thought.
  std::chrono::milliseconds limit() const;
  /// A candidate that passed and is wrong all the same: later ones differed from it, and the oracle
  /// says that they are right.
  struct Revoked {
    std::string schedule;
    Rejected why;
  };
  std::optional<Revoked> revoked() const;
  /// How near the last candidate came to what is allowed, on ordinary data or where it failed: 1 is
  /// as far as it may be.
  double farthest() const { return farthest_; }

  /// The ordinary data, for timing.
  const kernel::Tensors& data() const;

 private:
  /// What is expected on data of a kind, and that data where candidates read it.
  struct Trial {
    Trial(graph::DimValues values, KernelExpectation what, GuardedMemory::Side side)
        : dims(std::move(values)), expected(std::move(what)), inputs(expected.data(), side) {}
    graph::DimValues dims;
    KernelExpectation expected;
    GuardedInputs inputs;
    bool runs_again = false;
    std::string first;  // the schedule of the candidate that others are compared with
  };
  /// A candidate on such data.
  struct Attempt;

  /// On ordinary data candidates run again unless `once` is enough.
  Trial& trial(DataKind kind, const graph::DimValues& dims, bool once = false);
  /// All that a candidate is tried on. An error if there is no data for the dims it is tuned for;
  /// other dims for which there is none are left out.
  std::vector<Trial*> trials_for(const Candidate& candidate);
  /// What a candidate is of which nothing is known, because something failed before it ran.
  Rejected not_tried(const std::exception& error) const;
  /// What is wrong with what a run left.
  std::optional<Rejected> judged(const Attempt& attempt);
  std::optional<std::string> fault(const Attempt& attempt);

  const kernel::Arena& arena_;
  const kernel::Kernel& kernel_;
  graph::DimValues dims_;
  std::vector<TrialDims> other_dims_;
  std::vector<DataKind> further_;  // kinds of data that it is tried on
  CheckOptions options_;
  mutable std::mutex mutex_;                             // of all below
  std::optional<std::chrono::milliseconds> first_took_;  // the first that passed
  std::vector<std::unique_ptr<Trial>> trials_;
  double farthest_ = 0.0;
};

}  // namespace luminal::search
