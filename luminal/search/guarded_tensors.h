// The memory of a kernel's tensors and of what lies between its launches, each block between
// forbidden pages and shared with child processes.
#pragma once

#include <vector>

#include "luminal/kernel/evaluate.h"
#include "luminal/search/candidate.h"
#include "luminal/search/guarded_memory.h"

namespace luminal::search {

/// See above.
class GuardedTensors {
 public:
  /// For a candidate on a set of data; results are zeros.
  GuardedTensors(const kernel::Arena& arena, const kernel::Kernel& kernel,
                 const graph::DimValues& dims, const kernel::Tensors& data,
                 const Candidate& candidate, GuardedMemory::Side side);

  std::byte* place(kernel::NodeId tensor) const { return places_.at(tensor); }
  /// Whether an address lies in a forbidden page of any block.
  bool forbids(const void* address) const;
  /// Whether nobody wrote beside a block.
  bool is_intact() const;
  /// All launches on one thread, their items in three ranges and out of order, as threads might.
  void run(const Candidate& candidate) const;

 private:
  std::byte* add(int64_t bytes, GuardedMemory::Side side) {
    return blocks_.emplace_back(bytes, side).data();
  }

  std::vector<GuardedMemory> blocks_;
  TensorPlaces places_;
  std::vector<std::byte*> temporaries_;
  std::byte* scratch_ = nullptr;
};

}  // namespace luminal::search
