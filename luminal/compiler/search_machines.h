// What a search takes the machine for: constants of the cost model that fit all kernels that the
// database knows the times of, and others near them, under which further structures look best.
#pragma once

#include <cstdint>

#include "luminal/compiler/kernel_tuning.h"
#include "luminal/compiler/options.h"
#include "luminal/search/work_records.h"

namespace luminal::compiler {

/// Keeps what the kernels of a search do whose times are known, so that this and later searches can
/// fit the constants of the machine to them. Attention has no such work: its own template prices
/// it.
void note_works(search::TuningDatabase& database, const KernelTuning& tuning,
                const Options& options, const kernel::Machine& machine);

/// Constants under which unknown kernels look better or other than they did: the first time as
/// they fit, then quicker than that, then each constant turned by chance.
kernel::Machine guessed_machine(const kernel::Machine& fitted, uint64_t seed, int number);

/// How one more structure is looked for: by such constants, and from some cuts by chance. Measured
/// times next to estimates make landscapes in which the standard cuts may end anywhere.
Options exploring(const Options& options, const kernel::Machine& fitted, uint64_t seed, int number);

}  // namespace luminal::compiler
