// What a search of a program ended with, as the tuning database keeps it: the structure, the
// schedules of its kernels and what the search told. The next search of the same program with the
// same options begins with it, and needs no others if there is nothing left to try.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "luminal/compiler/search_options.h"
#include "luminal/support/hash.h"

namespace luminal::compiler {

/// One kernel of a plan that runs by another schedule than it would without a search.
struct RememberedSchedule {
  size_t kernel = 0;  ///< by number in the draft
  double default_us = 0.0;
  double best_us = 0.0;
  std::string schedule;
  bool operator==(const RememberedSchedule&) const = default;
};

/// See above.
struct RememberedPlan {
  std::string choice;      ///< definitions and what is materialised (choice_cache.h)
  support::Hash128 draft;  ///< PlanDraft::structure() of that
  support::Hash128 best;   ///< the best schedules that were known of its kernels, as one hash
  std::vector<RememberedSchedule> schedules;
  double seconds = 0.0;  ///< budgets that were used up, added up
  SearchReport report;   ///< without gains, which follow from the schedules; trials may be cut
};

/// Some lines.
std::string to_text(const RememberedPlan& plan);
/// Reads what to_text wrote; nothing if the text is anything else.
std::optional<RememberedPlan> parse_remembered(const std::string& text);

}  // namespace luminal::compiler
