// Memory for results: handed to the caller in arrays, and taken back for the next run when the
// caller has dropped them. So a loop of runs allocates nothing after its first turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace luminal::plan {

/// See above. Arrays may outlive the pool and may be dropped by any thread.
class ResultPool {
 public:
  ResultPool();

  /// Memory of at least so many bytes, aligned for kernels; what is in it is left from before.
  std::shared_ptr<std::byte> take(int64_t bytes);

 private:
  struct State;
  struct Block;
  template <typename T>
  struct ControlAllocator;

  std::shared_ptr<State> state_;
};

}  // namespace luminal::plan
