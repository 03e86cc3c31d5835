// Says whether a candidate computes what its kernel says. Results at sampled points are compared
// with the oracle's arithmetic on the body; all results are compared with those of the first
// candidate that passed. How far they may be off follows from the data: as far as the oracle's own
// result moves when its inputs are changed in their last bits.
//
// A candidate runs in a child process, twice: with its tensors pushed against forbidden pages at
// the one end and at the other.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "luminal/kernel/evaluate.h"
#include "luminal/search/candidate.h"
#include "luminal/search/kernel_data.h"

namespace luminal::search {

/// How thoroughly candidates are checked.
struct CheckOptions {
  uint64_t seed = 1;
  /// Values of bodies that the oracle may compute, about: fewer points where each takes long.
  double oracle_work = 4e6;
  int least_points = 6;
  int most_points = 64;
  /// How long a candidate may run.
  std::chrono::milliseconds limit{10'000};
};

/// See above.
class KernelCheck {
 public:
  /// The arena and kernel must outlive the check.
  KernelCheck(const kernel::Arena& arena, const kernel::Kernel& kernel, graph::DimValues dims,
              const CheckOptions& options = {});
  ~KernelCheck();

  /// Why a candidate does not count; nothing if it does.
  std::optional<Rejected> check(const Candidate& candidate);

  /// The ordinary data, for timing.
  const kernel::Tensors& data() const;

 private:
  struct Expectation;
  std::optional<Rejected> check_on(const Candidate& candidate, Expectation& expected);

  const kernel::Arena& arena_;
  const kernel::Kernel& kernel_;
  graph::DimValues dims_;
  CheckOptions options_;
  std::vector<Expectation> expectations_;
};

}  // namespace luminal::search
