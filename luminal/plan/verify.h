// The verifier of plans: that every number refers to something that is there and fits, so that
// loading and running a plan reads and writes its own memory only. What code does is not looked at.
#pragma once

#include <string>
#include <vector>

#include "luminal/plan/plan.h"

namespace luminal::plan {

/// One sentence per broken law; empty if all is well.
///
/// The laws: the graph is sound; sizes are expressions of the plan's dims; a buffer's number is
/// that of a result, slot or prepared buffer that there is, an input's type is that of the graph's
/// input, and a constant's data is of its type; a thread's own buffer is written by what a launch
/// runs first and used by that launch alone; launches give an entry of their kernel the buffers
/// and scalars it takes, and nothing writes to inputs and constants; outputs are inputs, constants
/// or results, one for each of the graph's.
std::vector<std::string> problems(const Plan& plan);

}  // namespace luminal::plan
