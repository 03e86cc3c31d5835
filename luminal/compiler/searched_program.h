// The program that a plan is searched for, as all parts of the search see it: what is compiled and
// how, where measurements are kept and what they are kept by, and drafts of plans.
#pragma once

#include <string>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/options.h"
#include "luminal/compiler/search_options.h"
#include "luminal/search/tuning_database.h"

namespace luminal::compiler {

/// See above. All that it refers to must outlive it.
struct SearchedProgram {
  const graph::Graph& graph;
  const Options& options;
  const SearchOptions& search;  ///< with the seconds that this program has of the search
  FoundDefinitions* found;      ///< what rules found, for all drafts
  search::TuningDatabase& database;
  std::string device;  ///< what it is to run on, threads included

  /// The structure that the cost model chooses.
  PlanDraft first_draft() const { return {graph, options, found}; }
  /// The structure that a choice stands for, if it still fits (PlanDraft::is_recalled).
  PlanDraft draft_of(const std::string& choice) const;
  /// What something that is known of the program with its typical dims is kept by.
  search::TuningKey key(std::string text) const;
};

}  // namespace luminal::compiler
