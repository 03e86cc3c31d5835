// The memory of a kernel's tensors and of what lies between its launches, each block between
// forbidden pages and shared with child processes. What a kernel reads is copied once for all of
// its candidates, none of which can write to it.
#pragma once

#include <deque>
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

/// See above.
class GuardedTensors {
 public:
  /// For a candidate on a set of data, which must outlive it; results are zeros.
  GuardedTensors(const kernel::Arena& arena, const kernel::Kernel& kernel,
                 const graph::DimValues& dims, const GuardedInputs& inputs,
                 const Candidate& candidate);

  std::byte* place(kernel::NodeId tensor) const { return places_.at(tensor); }
  /// Whether an address lies in a forbidden page of any block, or in one of what is read.
  bool forbids(const void* address) const;
  /// Whether nobody wrote beside a block.
  bool is_intact() const;
  /// All launches on one thread, their items in three ranges and out of order, as threads might.
  void run(const Candidate& candidate) const;

 private:
  std::byte* add(int64_t bytes) { return blocks_.emplace_back(bytes, inputs_.side()).data(); }

  const GuardedInputs& inputs_;
  std::deque<GuardedMemory> blocks_;
  TensorPlaces places_;
  std::vector<std::byte*> temporaries_;
  std::byte* scratch_ = nullptr;
};

}  // namespace luminal::search
