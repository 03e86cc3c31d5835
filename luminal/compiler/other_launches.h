// The launches of a structure as a choice: what else its kernels may be joined to, as texts that a
// draft is made from (choice_cache.h). A search costs and times them as it does other structures.
#pragma once

#include <string>
#include <vector>

#include "luminal/compiler/planned_program.h"

namespace luminal::compiler {

/// A structure with other launches.
struct OtherLaunches {
  std::string choice;  ///< what is chosen
  std::string how;     ///< for people: "launches joined", "launches apart", ...
  double saved = 0.0;  ///< launches of a run that it has less; below 0: more
};

/// Those of a program: joined as far as may be, none joined, then all that are one step away
/// (kernel/launch_groups.h). Each is another one than the program has.
std::vector<OtherLaunches> other_launches(const PlannedProgram& planned,
                                          const kernel::Machine& machine);

}  // namespace luminal::compiler
