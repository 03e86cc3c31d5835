// The ways in which a kernel could be computed, with what each costs and why all but one are not
// used. A reason is what decided: the model where nothing was measured, times where they were.
#pragma once

#include <string>
#include <vector>

#include "luminal/compiler/explanation.h"

namespace luminal::compiler {

/// The ways of a kernel besides the one that is used, which is not known yet: those that were noted
/// with the plan, and those that a search has measured, if there is a database.
std::vector<ExplainedWay> other_ways(const KernelNote& note, const ExplainOptions& options);

/// Marks the way that is used, which is added if it is new, and gives all others a reason. The used
/// one comes first, then what was measured, then what was estimated, each the quickest first, then
/// what does not count. `searched`: the plan comes of a search.
void mark_used(std::vector<ExplainedWay>& ways, const std::string& schedule, double estimated_us,
               bool searched);

/// Templates that were passed over for a better one have not refused: if they have a way, it is
/// told there what they were passed over for, and only those stay that cannot compute the kernel.
void tell_refused_from_possible(std::vector<plan::RefusedTemplate>& refused,
                                std::vector<ExplainedWay>& ways);

/// The plans that a search looked at, each with its reason.
std::vector<ExplainedWay> compared_plans(const SearchReport& report);

}  // namespace luminal::compiler
