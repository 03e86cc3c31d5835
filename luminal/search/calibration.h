// How well the cost model knows the machine, and constants of it that fit what was measured. Times
// come from benchmarks or from the tuning database; the model is kernel/estimate.h.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "luminal/kernel/estimate.h"

namespace luminal::search {

/// A kernel that was measured. The arena gets bodies when the kernel is estimated.
struct TimedKernel {
  kernel::Arena* arena = nullptr;          ///< holds its bodies
  const kernel::Kernel* kernel = nullptr;  ///< what was measured
  double measured_us = 0.0;                ///< of one run
  kernel::EstimateOptions options = {};    ///< what an estimate of it assumes
};

/// How estimates and times agree.
struct ModelQuality {
  double rank_correlation = 1.0;  ///< 1: the same order; 0: none
  double typical_factor = 1.0;    ///< between estimate and time
};

/// The constants that can be fitted, with their names.
std::span<const std::pair<std::string_view, double kernel::Machine::*>> machine_constants();

/// Spearman's coefficient; 1 for less than two values.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);

/// How well a machine's constants explain times.
ModelQuality quality_of(std::span<const TimedKernel> kernels, const kernel::Machine& machine);

/// Turns one constant after the other, by smaller and smaller factors, as long as that helps; at
/// most `rounds` times each.
kernel::Machine fitted(std::span<const TimedKernel> kernels, kernel::Machine machine,
                       int rounds = 6);

}  // namespace luminal::search
