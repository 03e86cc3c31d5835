// Plans of one graph, made for different values of its dims. Every one of them is right for all
// values; which one runs is a question of speed.
#pragma once

#include <memory>

#include "luminal/plan/compiled_program.h"

namespace luminal::plan {

/// The plan or variant to run for some dims: for each dim that it was made for the smallest value
/// that is not below the dim's own, or the largest there is. 0 is the plan itself, variants follow.
size_t variant_for(const Plan& plan, const graph::DimValues& dims);

/// Loads a plan with variants: load_plan() does it for those that have any. A run that is watched
/// runs the plan itself, whose steps plan() has.
std::unique_ptr<CompiledProgram> load_variants(Plan plan, int threads = 0);

}  // namespace luminal::plan
