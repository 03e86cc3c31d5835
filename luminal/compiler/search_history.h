// What earlier searches of a program left in the database, and what this one leaves. A search that
// could find nothing more ends at once with what was found; any other begins with it.
#pragma once

#include <optional>

#include "luminal/compiler/remembered_plan.h"
#include "luminal/compiler/search_plan.h"
#include "luminal/compiler/searched_program.h"
#include "luminal/compiler/structure_set.h"

namespace luminal::compiler {

/// See above.
class SearchHistory {
 public:
  /// The program must outlive it.
  SearchHistory(const SearchedProgram& program, const SearchPart& part)
      : program_(program), part_(part) {}

  /// What an earlier search ended with, if this one could not go on from there or has no time to.
  /// Else the first of the structures is that of the cost model, and what was found before one of
  /// the others.
  std::optional<SearchedPlan> recall(StructureSet& structures);
  /// The plan that an earlier search found, as one of these structures. It was proved quicker, and
  /// stays until another one is; a better schedule of one of its kernels makes another plan, of
  /// which nothing is known as a whole.
  const std::optional<Finalist>& earlier_plan() const { return earlier_plan_; }

  /// Keeps what this search ended with, for the next one: the plan of a structure with chosen
  /// schedules. `was_refused`: the machine did not let something be tried.
  void remember(const SearchReport& report, const Structure& structure, const Finalist& chosen,
                const KernelTuning& tuning, bool was_refused) const;

 private:
  search::TuningKey result_key(support::Hash128 choice) const;
  bool is_enough(const RememberedPlan& before) const;
  bool still_holds(const RememberedPlan& before, const PlanDraft& draft) const;
  void keep_as_finalist(const RememberedPlan& before, StructureSet& structures);

  const SearchedProgram& program_;
  const SearchPart part_;
  support::Hash128 choice_key_;
  double seconds_before_ = 0;  // RememberedPlan::seconds of earlier searches
  std::optional<Finalist> earlier_plan_;
};

}  // namespace luminal::compiler
