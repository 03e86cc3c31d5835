// How well the cost model knows the machine, and constants of it that fit what was measured. Times
// come from benchmarks or from the tuning database; the model is kernel/estimate.h.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "luminal/kernel/estimate.h"

namespace luminal::search {

/// What a kernel does, and what it took.
struct TimedWork {
  kernel::Work work;         ///< what it does
  double measured_us = 0.0;  ///< of one run
};

/// How estimates and times agree.
struct ModelQuality {
  double rank_correlation = 1.0;  ///< 1: the same order; 0: none
  double typical_factor = 1.0;    ///< between estimate and time
  double pairs_in_order = 1.0;  ///< of pairs whose times differ by a tenth, the share ranked right
  size_t kernels = 0;           ///< whose times it was asked for
};

/// The constants that can be fitted, with their names.
std::span<const std::pair<std::string_view, double kernel::Machine::*>> machine_constants();

/// Spearman's coefficient; 1 for less than two values.
double rank_correlation(const std::vector<double>& a, const std::vector<double>& b);
/// The share of pairs of times that differ by a tenth at least whose guesses differ in the same
/// direction; equal guesses count half. 1 if there is no such pair.
double pairs_in_order(const std::vector<double>& guesses, const std::vector<double>& times);

/// How well a machine's constants explain times.
ModelQuality quality_of(std::span<const TimedWork> kernels, const kernel::Machine& machine);

/// Turns one constant after the other, by smaller and smaller factors, as long as that helps; at
/// most `rounds` times each.
kernel::Machine fitted(std::span<const TimedWork> kernels, kernel::Machine machine, int rounds = 6);

}  // namespace luminal::search
