// The finalists of a search, whole plans that are timed against each other and against the plan of
// the cost model, which wins unless another one proves that it is quicker (search/duel.h). A plan
// with a kernel that is known to be wrong is none of them as long as there is another; if that is
// the plan of the cost model, the one that an earlier search proved takes its place, or the one
// whose kernels are quickest.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "luminal/compiler/search_time.h"
#include "luminal/compiler/searched_program.h"
#include "luminal/compiler/structure_set.h"
#include "luminal/search/tuner.h"

namespace luminal::compiler {

/// What comparing plans gave.
struct ContestResult {
  Finalist winner;                     ///< with a fault only if all plans have one
  Plan plan;                           ///< of the winner
  std::string fast_fault;              ///< what is wrong with the plan of the cost model
  double fast_us = 0.0;                ///< a run of the plan of the cost model; 0: not timed
  double best_us = 0.0;                ///< a run of the winner
  bool finished = true;                ///< no plan is left that was not timed
  bool unreliable = false;             ///< other work on the machine disturbed the times
  bool was_refused = false;            ///< the machine did not let plans be compared
  std::vector<StructureTrial> trials;  ///< what is to be told of all structures
};

/// See above.
class PlanContest {
 public:
  /// Chooses the finalists among structures, with the plan that an earlier search has proved, if
  /// there is one. All must outlive it.
  PlanContest(const SearchedProgram& program, const SearchTime& time, StructureSet& structures,
              const std::optional<Finalist>& earlier_plan);

  /// How many plans are compared.
  size_t size() const { return finalists_.size(); }
  /// Compares them. A graph that calls functions of the user's own is not run: it keeps the first.
  ContestResult run();

 private:
  /// Times the plans, and gives the name of the winner.
  std::string timed(ContestResult& result);
  search::TuneOptions how_to_time(bool& is_first) const;
  /// The best of plans by their times, which are told.
  std::string best_of(const search::TuneResult& tuned, ContestResult& result) const;
  /// What times of plans are kept by.
  search::TuningKey key() const;
  size_t number_of(const std::string& name) const;
  const Plan& plan_of(const std::string& name);
  Plan built(const Finalist& finalist);
  Plan with_plain_estimates(const Finalist& finalist, const Plan& plan) const;
  void tell(const search::TuningRecord& plan) const;

  const SearchedProgram& program_;
  const SearchTime& time_;
  StructureSet& structures_;
  const bool is_hurried_;  // who interrupts a search wants its result soon, but the best
  std::string fast_fault_;
  bool has_stand_in_ = false;  // another plan is the first, in the place of that of the cost model
  std::vector<Finalist> finalists_;
  std::vector<std::string> names_;  // of these
  std::vector<Finalist> left_out_;  // for their faults
  std::set<size_t> used_;           // structures whose draft has become a plan
  std::map<std::string, Plan> plans_;
};

}  // namespace luminal::compiler
