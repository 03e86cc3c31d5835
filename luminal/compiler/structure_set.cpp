#include "luminal/compiler/structure_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "luminal/compiler/kernel_set.h"
#include "luminal/support/check.h"

namespace luminal::compiler {
namespace {

using search::TunedChoice;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

std::string Finalist::name() const {
  support::Hasher hasher;
  for (const std::string& each : schedules) hasher.add(std::string_view(each));
  return fmt::format("{} {}", structure_text, support::to_hex(hasher.finish128()));
}

bool Finalist::is_tuned() const {
  return std::any_of(schedules.begin(), schedules.end(),
                     [](const std::string& each) { return !each.empty(); });
}

std::string Finalist::title() const {
  const char* whose = !is_tuned() ? "default" : from_before ? "earlier" : "tuned";
  return fmt::format("{}, {} schedules", structure_title, whose);
}

void sort_gains(std::vector<KernelGain>& gains) {
  std::stable_sort(gains.begin(), gains.end(), [](const KernelGain& a, const KernelGain& b) {
    return a.uses * (a.default_us - a.best_us) > b.uses * (b.default_us - b.best_us);
  });
}

void StructureSet::add(PlanDraft draft) {
  Structure structure{std::move(draft), {}, {}, {}};
  structure.id = structure.draft.structure();
  structure.choice = structure.draft.choice();
  for (size_t k = 0; k < structure.draft.kernels().size(); ++k)
    structure.kernels.push_back(tuning_.add(structure.draft.kernels().task(k)));
  structures_.push_back(std::move(structure));
}

void StructureSet::add_launches(size_t of, const std::string& how, PlanDraft draft) {
  add(std::move(draft));
  structures_.back().of = of;
  structures_.back().launches = how;
}

bool StructureSet::contains(support::Hash128 id) const {
  return std::any_of(structures_.begin(), structures_.end(),
                     [&](const Structure& each) { return each.id == id; });
}

double StructureSet::total(const Structure& structure, bool by_default) const {
  double sum = 0;
  for (size_t k = 0; k < structure.kernels.size(); ++k) {
    const double uses = structure.draft.uses()[k];
    if (uses == 0) continue;
    const TunedChoice& choice = tuning_.choice(structure.kernels[k]);
    const double time = by_default ? choice.default_us : choice.best_us;
    if (time == 0) return kInfinity;
    sum += uses * time;
  }
  return std::max(0.0, sum - saved(structure));
}

double StructureSet::saved(const Structure& structure) const {
  return launch_us_ * structure.draft.saved_launches();
}

double StructureSet::best_total() const {
  double best = kInfinity;
  for (const Structure& each : structures_) best = std::min(best, total(each));
  return best;
}

std::vector<size_t> StructureSet::ranked(size_t most) const {
  std::vector<std::pair<double, size_t>> order;
  for (size_t k = 0; k < structures_.size(); ++k)
    if (!structures_[k].of) order.emplace_back(total(structures_[k]), k);
  std::sort(order.begin(), order.end());
  std::vector<size_t> result;
  for (const auto& [time, k] : order)
    if (result.size() < most && (time < kInfinity || k == 0)) result.push_back(k);
  return result;
}

double StructureSet::known_part(const Structure& structure) const {
  double sum = 0;
  for (size_t k = 0; k < structure.kernels.size(); ++k)
    sum += structure.draft.uses()[k] * tuning_.choice(structure.kernels[k]).best_us;
  return sum;
}

double StructureSet::time_in(const Structure& structure, size_t kernel) const {
  double sum = 0;
  for (size_t k = 0; k < structure.kernels.size(); ++k)
    if (structure.kernels[k] == kernel)
      sum += structure.draft.uses()[k] * tuning_.choice(kernel).best_us;
  return sum;
}

bool StructureSet::needs_another(size_t kernel) const {
  return tuning_.choice(kernel).best_us == 0 && tuning_.fault(kernel, "").has_value();
}

bool StructureSet::is_worth_trials(const Structure& structure, size_t kernel) const {
  constexpr double kLeastShare = 0.005;
  if (needs_another(kernel)) return true;
  return time_in(structure, kernel) >= kLeastShare * known_part(structure);
}

Finalist StructureSet::finalist(size_t number, bool tuned) const {
  const Structure& structure = structures_[number];
  Finalist result{number, {}, support::to_hex(structure.id), title(number)};
  for (const size_t kernel : structure.kernels) {
    const TunedChoice& choice = tuning_.choice(kernel);
    const bool other =
        tuned && !choice.schedule.empty() && choice.schedule != tuning_.default_schedule(kernel);
    result.schedules.push_back(other ? choice.schedule : "");
  }
  result.fault = fault_of(result);
  return result;
}

std::string StructureSet::fault_of(const Finalist& finalist) const {
  const std::vector<size_t>& kernels = structures_[finalist.structure].kernels;
  for (size_t k = 0; k < kernels.size(); ++k)
    if (const auto fault = tuning_.fault(kernels[k], finalist.schedules[k]))
      return fmt::format("{}: {}: {}", tuning_.task(kernels[k]).label,
                         search::to_string(fault->why), fault->detail);
  return "";
}

Finalist StructureSet::plain(support::Hash128 id) const {
  const auto found = std::ranges::find(structures_, id, &Structure::id);
  LUMINAL_CHECK(found != structures_.end(), "no such structure");
  return finalist(static_cast<size_t>(found - structures_.begin()), false);
}

std::string StructureSet::title(size_t number) const {
  const Structure& structure = structures_[number];
  return structure.of ? fmt::format("structure {} with {}", *structure.of + 1, structure.launches)
                      : fmt::format("structure {}", number + 1);
}

std::vector<Finalist> StructureSet::finalists(size_t most) const {
  std::vector<Finalist> result{finalist(0, false)};
  const auto add = [&](Finalist each) {
    const auto same = [&](const Finalist& other) { return other.name() == each.name(); };
    if (std::none_of(result.begin(), result.end(), same)) result.push_back(std::move(each));
  };
  for (const size_t number : ranked(most)) add(finalist(number, true));
  if (most > 1) add(finalist(0, true));
  for (size_t k = 0; k < structures_.size(); ++k)
    if (structures_[k].of) add(finalist(k, true));
  const auto is_right = [](const Finalist& each) { return each.fault.empty(); };
  if (std::ranges::any_of(result, is_right)) return result;
  // What nobody has tried may be slow, but what is known to be wrong is worse.
  size_t others = 0;
  for (size_t k = 0; k < structures_.size() && others < most; ++k) {
    Finalist each = finalist(k, true);
    if (!is_right(each)) continue;
    add(std::move(each));
    ++others;
  }
  return result;
}

std::vector<StructureTrial> StructureSet::trials(const std::vector<Finalist>& all, size_t winner,
                                                 const search::TuningDatabase& database,
                                                 const search::TuningKey& plans) const {
  std::vector<StructureTrial> result;
  std::set<size_t> timed;
  for (size_t k = 0; k < all.size(); ++k) {
    StructureTrial trial;
    trial.name = all[k].title();
    trial.used = k == winner;
    // What is known of kernels are their best schedules, not those of earlier searches.
    const double kernels = total(structures_[all[k].structure], !all[k].is_tuned());
    trial.kernels_us = std::isfinite(kernels) && !all[k].from_before ? kernels : 0.0;
    if (const auto known = database.find(plans, all[k].name())) {
      if (const auto* timing = std::get_if<search::Timing>(&*known))
        trial.measured_us = timing->median_us;
      else
        trial.rejected = search::to_string(*known);
    }
    if (!all[k].fault.empty()) trial.rejected = all[k].fault;
    timed.insert(all[k].structure);
    result.push_back(std::move(trial));
  }
  for (size_t k = 0; k < structures_.size(); ++k) {
    if (timed.contains(k)) continue;
    const double kernels = total(structures_[k]);
    const bool known = std::isfinite(kernels);
    std::string why = finalist(k, true).fault;
    if (why.empty())
      why = known ? "its kernels take longer than those of others"
                  : "given up: kernels of it that were measured take longer than others do as a "
                    "whole";
    result.push_back({title(k), false, known ? kernels : 0.0, 0.0, std::move(why)});
  }
  return result;
}

std::vector<KernelGain> StructureSet::gains(const Finalist& finalist) const {
  const Structure& structure = structures_[finalist.structure];
  std::vector<KernelGain> result;
  for (size_t k = 0; k < structure.kernels.size(); ++k) {
    if (finalist.schedules[k].empty()) continue;
    const TunedChoice choice = tuning_.choice_with(structure.kernels[k], finalist.schedules[k]);
    result.push_back({tuning_.task(structure.kernels[k]).label, choice.schedule, choice.default_us,
                      choice.best_us, structure.draft.uses()[k]});
  }
  sort_gains(result);
  return result;
}

}  // namespace luminal::compiler
