// The memory of a kernel's tensors and of what lies between its launches, each block between
// forbidden pages and shared with child processes. What a kernel reads is copied once for all of
// its candidates, none of which can write to it.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "luminal/kernel/evaluate.h"
#include "luminal/search/candidate.h"
#include "luminal/search/guarded_memory.h"

namespace luminal::search {

/// The tensors that a kernel reads.
class GuardedInputs {
 public:
  GuardedInputs(const kernel::Tensors& data, GuardedMemory::Side side);

  GuardedMemory::Side side() const { return side_; }
  const TensorPlaces& places() const { return places_; }
  /// Whether nobody may write to an address, or it lies in a forbidden page.
  bool forbids(const void* address) const;

 private:
  GuardedMemory::Side side_;
  std::deque<GuardedMemory> blocks_;
  TensorPlaces places_;
};

/// See above. Runs happen in a child, what they left is asked for by the parent.
class GuardedTensors {
 public:
  /// For a candidate on a set of data, both of which must outlive it. `threads` is how many may run
  /// it at a time.
  GuardedTensors(const kernel::Arena& arena, const kernel::Kernel& kernel,
                 const graph::DimValues& dims, const GuardedInputs& inputs,
                 const Candidate& candidate, int threads);

  /// A pattern for all that is to be written, so that what was not is noticed.
  void fill(std::byte pattern) const;
  /// All launches on one thread, their items in four ranges and out of order, as threads might: one
  /// of them a single item.
  void run_in_parts() const;
  /// All launches on one thread, all of their items at once.
  void run_at_once() const;
  /// Keeps the results and runs the launches that are not made ahead once more, over what the run
  /// before left: on threads, if the candidate uses any.
  void run_again() const;

  /// What a tensor holds after the last run.
  std::span<const std::byte> result(size_t root) const { return results_[root]->bytes(); }
  /// What it held before run_again().
  std::span<const std::byte> first_result(size_t root) const {
    return first_results_[root].bytes();
  }
  /// Whether an address lies in a forbidden page of any block, or in one of what is read.
  bool forbids(const void* address) const;
  /// Whether nobody wrote beside a block.
  bool is_intact() const;

 private:
  GuardedMemory& add(int64_t bytes) { return blocks_.emplace_back(bytes, inputs_.side()); }
  std::vector<void*> buffers_of(const CandidateLaunch& launch) const;
  void run(const CandidateLaunch& launch, int64_t begin, int64_t end, std::byte* scratch) const;
  void run_share(const CandidateLaunch& launch, int thread) const;
  bool uses_threads(const CandidateLaunch& launch) const;

  const GuardedInputs& inputs_;
  const Candidate& candidate_;
  int threads_;
  std::deque<GuardedMemory> blocks_;
  std::deque<GuardedMemory> first_results_;  // by root
  TensorPlaces places_;
  std::vector<const GuardedMemory*> results_;  // by root
  std::vector<std::byte*> temporaries_;
  std::byte* scratch_ = nullptr;
  std::byte* scratch_of_threads_ = nullptr;
};

}  // namespace luminal::search
