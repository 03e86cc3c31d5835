// The measured search for a plan: structures (what is fused, which definitions are used) and the
// schedules of their kernels. A structure costs what its kernels are known to take, so a new one
// needs measurements only of kernels that are new, and equal layers count once. The best structures
// are then timed as a whole against the plan of the cost model, and the winner is never slower.
//
// What comes out follows from the seed and the times in the database.
#pragma once

#include <optional>

#include "luminal/compiler/options.h"
#include "luminal/compiler/search_options.h"
#include "luminal/compiler/search_time.h"

namespace luminal::compiler {

struct FoundDefinitions;

/// What a search gave.
struct SearchedPlan {
  Plan plan;
  SearchReport report;
};

/// Searches for the plan of a graph. `found` as for build_plan. Without a part, it has all of the
/// time that the options give.
SearchedPlan search_plan(const graph::Graph& graph, const Options& options,
                         const SearchOptions& search, FoundDefinitions* found = nullptr,
                         const std::optional<SearchPart>& part = std::nullopt);

}  // namespace luminal::compiler
