// How long the steps of a program take on random data.
#pragma once

#include <vector>

#include "luminal/graph/program.h"

namespace luminal::cli {

/// The steps of a run in order, each with the median of its times over some runs. What is made of
/// weights once is not among them.
std::vector<graph::StepReport> timed_run(graph::Program& program, const graph::DimValues& dims);

}  // namespace luminal::cli
