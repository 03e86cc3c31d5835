// From a graph to a plan: what is materialised (kernel/cut_search.h), code for each kernel, the
// order of steps and the memory. No data is needed and nothing is measured.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "luminal/compiler/choice_cache.h"
#include "luminal/compiler/options.h"
#include "luminal/compiler/other_launches.h"
#include "luminal/compiler/plan.h"
#include "luminal/support/hash.h"

namespace luminal::compiler {

struct FoundDefinitions;
class KernelCosts;
class KernelSet;

/// The plan of a graph. With `found`, further plans of the same graph use the definitions that
/// rules found for the first (planned_program.h); only what the options say of dims may differ.
Plan build_plan(graph::Graph graph, const Options& options = {}, FoundDefinitions* found = nullptr);

/// A plan whose structure is chosen while none of its code is made yet: for those who compare
/// structures.
class PlanDraft {
 public:
  /// With `costs`, kernels whose times are known count as much as those; with `recall`, what that
  /// knows is not searched for (planned_program.h).
  PlanDraft(graph::Graph graph, Options options, FoundDefinitions* found = nullptr,
            const KernelCosts* costs = nullptr, const ChoiceRecall& recall = nullptr);
  ~PlanDraft();
  PlanDraft(PlanDraft&&) noexcept;
  PlanDraft& operator=(PlanDraft&&) noexcept;

  /// The distinct kernels.
  KernelSet& kernels() const;
  /// How often a run uses each of them. What is made ahead is not counted.
  const std::vector<double>& uses() const;
  /// Equal for drafts of one graph that compute the same values with the same kernels.
  support::Hash128 structure() const;
  /// What was chosen, for those who recall it later; by which key; and whether it was recalled.
  const std::string& choice() const;
  support::Hash128 choice_key() const;
  bool is_recalled() const;

  /// The same structure with other launches.
  std::vector<OtherLaunches> other_launches() const;
  /// Starts of threads that a run saves because kernels share launches, if each kernel is one.
  double saved_launches() const;

  /// Makes the code and the plan; the draft is done then.
  Plan finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace luminal::compiler
