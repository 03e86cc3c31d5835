// What a search takes the machine for: constants of the cost model that fit the kernels it
// measured, and others near them, under which further structures look best.
#pragma once

#include <cstdint>

#include "luminal/compiler/kernel_tuning.h"
#include "luminal/compiler/options.h"
#include "luminal/search/calibration.h"

namespace luminal::compiler {

/// Constants that fit, and how well the old and the new ones do.
struct Calibration {
  kernel::Machine machine;
  search::ModelQuality before = {};
  search::ModelQuality after = {};
};

/// Fits the constants of a machine to the kernels of a search whose times are known.
Calibration calibrated(const KernelTuning& tuning, const Options& options,
                       const kernel::Machine& machine);

/// Constants under which unknown kernels look better or other than they did: the first time as
/// they fit, then quicker than that, then each constant turned by chance.
kernel::Machine guessed_machine(const kernel::Machine& fitted, uint64_t seed, int number);

}  // namespace luminal::compiler
