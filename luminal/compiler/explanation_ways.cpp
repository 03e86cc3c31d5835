#include "luminal/compiler/explanation_ways.h"

#include <fmt/format.h>

#include <algorithm>

#include "luminal/search/kernel_bench.h"
#include "luminal/search/measurement.h"
#include "luminal/search/tuning_database.h"

namespace luminal::compiler {
namespace {

/// Estimates that differ by less say nothing: the model is not that good.
constexpr double kModelTells = 1.25;

std::string times(double ratio) { return fmt::format("{:.3g} times as long", ratio); }

std::string family_of(const std::string& schedule) {
  return schedule.substr(0, schedule.find(' '));
}

ExplainedWay& way_of(std::vector<ExplainedWay>& ways, const std::string& schedule) {
  for (ExplainedWay& way : ways)
    if (way.schedule == schedule) return way;
  ways.push_back({});
  ways.back().schedule = schedule;
  return ways.back();
}

/// Both were measured.
std::string measured_reason(const ExplainedWay& way, const ExplainedWay& used, bool searched) {
  const search::Timing other{way.measured_us, way.spread_us, way.samples};
  const search::Timing own{used.measured_us, used.spread_us, used.samples};
  const double gain = used.measured_us - way.measured_us;
  if (gain < -search::noise_us(own, other))
    return "measured slower: " + times(way.measured_us / used.measured_us);
  if (gain < search::noise_us(own, other)) return "measured within noise of the one that is used";
  return searched
             ? "measured quicker alone, but whole plans with it were not"
             : "measured quicker, but this plan was made by the model alone: a search takes it";
}

/// Nothing but estimates can be compared.
std::string estimated_reason(const ExplainedWay& way, const ExplainedWay& used) {
  const double ratio = way.estimated_us / used.estimated_us;
  if (ratio >= kModelTells) return "slower by the model: " + times(ratio);
  if (ratio * kModelTells > 1)
    return "the model cannot tell it from the one that is used, which is the rule for this form";
  return "quicker by the model, but the rule for kernels of this form decides until a search has "
         "measured both";
}

std::string reason(const ExplainedWay& way, const ExplainedWay& used, bool searched) {
  if (way.used || !way.rejected.empty()) return "";
  if (way.measured_us > 0 && used.measured_us > 0) return measured_reason(way, used, searched);
  if (way.measured_us > 0)
    return "measured by a search that did not come to the one that is used, which the model chose";
  const bool comparable = way.estimated_us > 0 && used.estimated_us > 0;
  if (used.measured_us > 0)
    return "not tried by the search" +
           (comparable ? "; " + estimated_reason(way, used) : std::string());
  return comparable ? estimated_reason(way, used) : "there is nothing to compare it by";
}

}  // namespace

std::vector<ExplainedWay> other_ways(const KernelNote& note, const ExplainOptions& options) {
  std::vector<ExplainedWay> ways;
  for (const plan::OtherWay& other : note.others) {
    ExplainedWay& way = way_of(ways, other.schedule);
    way.estimated_us = other.estimated_us;
    way.rejected = other.why;
  }
  const auto hash = support::parse_hash128(note.identity);
  if (options.database == nullptr || !hash) return ways;
  const search::TuningKey key{*hash, note.shapes, options.device, search::compiler_text()};
  for (const search::TuningRecord& record : options.database->records(key)) {
    ExplainedWay& way = way_of(ways, record.schedule);
    if (const auto* timing = std::get_if<search::Timing>(&record.result)) {
      way.measured_us = timing->median_us;
      way.spread_us = timing->spread_us;
      way.samples = timing->samples;
    } else {
      way.rejected = search::to_string(record.result);
    }
  }
  return ways;
}

void mark_used(std::vector<ExplainedWay>& ways, const std::string& schedule, double estimated_us,
               bool searched) {
  ExplainedWay& chosen = way_of(ways, schedule);
  chosen.used = true;
  chosen.estimated_us = estimated_us;
  const ExplainedWay used = chosen;
  for (ExplainedWay& way : ways) way.why = reason(way, used, searched);
  const auto rank = [](const ExplainedWay& way) {
    return std::tuple(!way.used, !way.rejected.empty(), way.measured_us == 0, way.measured_us,
                      way.estimated_us);
  };
  std::stable_sort(ways.begin(), ways.end(),
                   [&](const ExplainedWay& a, const ExplainedWay& b) { return rank(a) < rank(b); });
}

void tell_refused_from_possible(std::vector<plan::RefusedTemplate>& refused,
                                std::vector<ExplainedWay>& ways) {
  std::erase_if(refused, [&](const plan::RefusedTemplate& each) {
    bool possible = false;
    for (ExplainedWay& way : ways) {
      if (family_of(way.schedule) != each.name || !way.rejected.empty()) continue;
      possible = true;
      if (!way.used && way.measured_us == 0) way.why += "; the rule of thumb: " + each.why;
    }
    return possible;
  });
}

std::vector<ExplainedWay> compared_plans(const SearchReport& report) {
  std::vector<ExplainedWay> plans;
  const StructureTrial* used = nullptr;
  for (const StructureTrial& trial : report.trials)
    if (trial.used) used = &trial;
  for (const StructureTrial& trial : report.trials) {
    ExplainedWay way;
    way.schedule = trial.name;
    way.used = trial.used;
    way.estimated_us = trial.kernels_us;
    way.measured_us = trial.measured_us;
    way.rejected = trial.rejected;
    const bool both = used != nullptr && trial.measured_us > 0 && used->measured_us > 0;
    if (trial.used || !trial.rejected.empty())
      way.why = "";
    else if (both && trial.measured_us > used->measured_us)
      way.why = "slower: " + times(trial.measured_us / used->measured_us);
    else if (!both && used != nullptr && used->kernels_us > 0 &&
             trial.kernels_us > used->kernels_us)
      way.why =
          "not timed as a whole: its kernels take " + times(trial.kernels_us / used->kernels_us);
    else if (report.unreliable)
      way.why = "other work disturbed the times, so that the plan of the model is kept";
    else
      way.why = both ? "not quicker beyond noise" : "the search ended before it was timed";
    plans.push_back(std::move(way));
  }
  return plans;
}

}  // namespace luminal::compiler
