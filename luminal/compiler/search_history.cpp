#include "luminal/compiler/search_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "luminal/compiler/kernel_set.h"
#include "luminal/compiler/kernel_tuning.h"

namespace luminal::compiler {
namespace {

support::Hash128 best_schedules(const KernelTuning& tuning, const std::vector<size_t>& kernels) {
  support::Hasher hasher;
  for (const size_t kernel : kernels) hasher.add(std::string_view(tuning.choice(kernel).schedule));
  return hasher.finish128();
}

/// The plan that was remembered, and what was told of it.
SearchedPlan as_it_was(RememberedPlan before, PlanDraft draft) {
  SearchedPlan result{{}, std::move(before.report)};
  result.report.recalled = true;
  for (RememberedSchedule& each : before.schedules) {
    draft.kernels().set_schedule(each.kernel, each.schedule);
    result.report.gains.push_back({draft.kernels().label(each.kernel), std::move(each.schedule),
                                   each.default_us, each.best_us, draft.uses()[each.kernel]});
  }
  sort_gains(result.report.gains);
  result.plan = draft.finish();
  return result;
}

}  // namespace

/// What the result of a search is kept by: all that it follows from but the times.
search::TuningKey SearchHistory::result_key(support::Hash128 choice) const {
  const SearchOptions& search = program_.search;
  support::Hasher hasher;
  hasher.add(choice).add(search.seed).add(search.strategy).add(search.most_trials);
  hasher.add(search.structures);
  hasher.add(program_.options.reassociate).add(program_.options.round_each);
  return program_.key(fmt::format("search {}", support::to_hex(hasher.finish128())));
}

std::optional<SearchedPlan> SearchHistory::recall(StructureSet& structures) {
  std::optional<RememberedPlan> before;
  PlanDraft draft(program_.graph, program_.options, program_.found, nullptr,
                  [&](support::Hash128 key) -> std::optional<std::string> {
                    const auto text = program_.database.recall(result_key(key));
                    if (text) before = parse_remembered(*text);
                    if (!before) return std::nullopt;
                    seconds_before_ = before->seconds;
                    if (!is_enough(*before)) return std::nullopt;
                    return before->choice;
                  });
  choice_key_ = draft.choice_key();
  if (draft.is_recalled() && still_holds(*before, draft))
    return as_it_was(std::move(*before), std::move(draft));
  structures.add(draft.is_recalled() ? program_.first_draft() : std::move(draft));
  if (before) keep_as_finalist(*before, structures);
  return std::nullopt;
}

void SearchHistory::keep_as_finalist(const RememberedPlan& before, StructureSet& structures) {
  if (!structures.contains(before.draft)) {
    PlanDraft draft = program_.draft_of(before.choice);
    if (!draft.is_recalled() || draft.structure() != before.draft) return;
    structures.add(std::move(draft));
  }
  Finalist finalist = structures.plain(before.draft);
  for (const RememberedSchedule& each : before.schedules) {
    if (each.kernel >= finalist.schedules.size()) return;
    finalist.schedules[each.kernel] = each.schedule;
  }
  finalist.from_before = finalist.is_tuned();
  earlier_plan_ = std::move(finalist);
}

/// Whether there is nothing left to try, or no more time for it than was spent already.
bool SearchHistory::is_enough(const RememberedPlan& before) const {
  const bool is_spent = !program_.search.go_on && part_.share <= before.seconds;
  return before.report.finished || program_.search.seconds <= 0 || is_spent;
}

/// Whether the draft is the one that was remembered, no better schedules became known since, and
/// nothing that is wrong with those of the plan, defaults included.
bool SearchHistory::still_holds(const RememberedPlan& before, const PlanDraft& draft) const {
  if (draft.structure() != before.draft) return false;
  const size_t count = draft.kernels().size();
  std::vector<std::string> schedules(count);
  for (const RememberedSchedule& each : before.schedules) {
    if (each.kernel >= count) return false;
    schedules[each.kernel] = each.schedule;
  }
  KernelTuning known(program_.database, program_.device, program_.search, nullptr, nullptr);
  std::vector<size_t> kernels;
  for (size_t k = 0; k < count; ++k) kernels.push_back(known.add(draft.kernels().task(k)));
  for (size_t k = 0; k < count; ++k)
    if (known.fault(kernels[k], schedules[k])) return false;
  return best_schedules(known, kernels) == before.best;
}

void SearchHistory::remember(const SearchReport& report, const Structure& structure,
                             const Finalist& chosen, const KernelTuning& tuning,
                             bool was_refused) const {
  RememberedPlan result;
  result.choice = structure.choice;
  result.draft = structure.id;
  result.best = best_schedules(tuning, structure.kernels);
  for (size_t k = 0; k < structure.kernels.size(); ++k) {
    if (chosen.schedules[k].empty()) continue;
    const search::TunedChoice choice =
        tuning.choice_with(structure.kernels[k], chosen.schedules[k]);
    result.schedules.push_back({k, choice.default_us, choice.best_us, choice.schedule});
  }
  result.report = report;
  // What was disturbed is worth another search.
  const bool undisturbed = !report.interrupted && !report.unreliable && !was_refused;
  result.report.finished = report.finished && undisturbed;
  // Once: where something always runs beside it, a program that starts often would search for ever.
  constexpr double kPartOfDisturbed = 0.5;
  result.seconds = seconds_before_;
  if (undisturbed && !report.finished)
    result.seconds += part_.spent();
  else if (report.unreliable && !report.interrupted && !was_refused)
    result.seconds += kPartOfDisturbed * std::max(part_.spent(), part_.share);
  program_.database.remember(result_key(choice_key_), to_text(result));
}

}  // namespace luminal::compiler
