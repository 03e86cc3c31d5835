// A single step in a file: the plan of one kernel or host node with the data it read, so that a
// fault found by step_check.h is run again alone, in another process and without a compiler. The
// file is a zip archive that NumPy reads as .npz: the inputs under their names, beside them the
// plan, the dims and the report. Loading runs the code of the file later: load only files that you
// would run.
#pragma once

#include <map>
#include <string>

#include "luminal/plan/step_check.h"

namespace luminal::plan {

/// A step that can be run alone.
struct StepReplay {
  Plan plan;
  std::map<std::string, graph::Array> inputs;
  graph::DimValues dims;
  std::string report;  ///< what was said of it when it was saved
};

/// The step of a fault, with the launches that prepare its data. Nothing for a step that cannot be
/// run alone: a copy, or a function of the user's own.
std::optional<StepReplay> replay_of(const Plan& plan, const StepFault& fault,
                                    const graph::DimValues& dims);

/// Writes the step; the name of the file follows from what is in it.
std::string save_step(const StepReplay& replay, const std::string& directory);
/// Reads what save_step wrote; UserError naming the file if it is anything else.
StepReplay load_step(const std::string& path);

/// Runs the step on its data and compares again.
StepCheckReport run_step(const StepReplay& replay);

}  // namespace luminal::plan
