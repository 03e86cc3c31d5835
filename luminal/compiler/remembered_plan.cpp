#include "luminal/compiler/remembered_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "luminal/support/text.h"

namespace luminal::compiler {
namespace {

constexpr std::string_view kFirstLine = "searched plan 3";

/// What is kept of trials, so that no result is large: the first ones, which are whole plans, and
/// the beginning of what was wrong with one.
constexpr size_t kMostTrials = 64;
constexpr size_t kLongestText = 200;

/// The lines "name value" of a text, by name; those of schedules and trials in their order.
struct Lines {
  std::map<std::string_view, std::string_view> values;
  std::vector<std::string_view> schedules;
  std::vector<std::string_view> trials;

  std::string_view value(std::string_view name) const {
    const auto found = values.find(name);
    return found == values.end() ? std::string_view() : found->second;
  }
  bool read(std::string_view name, double& to) const {
    const auto number = support::parse_double(value(name));
    if (number) to = *number;
    return number.has_value();
  }
  bool read(std::string_view name, size_t& to) const {
    const auto number = support::parse_int64(value(name));
    if (!number || *number < 0) return false;
    to = static_cast<size_t>(*number);
    return true;
  }
  bool read(std::string_view name, bool& to) const {
    size_t number = 0;
    if (!read(name, number) || number > 1) return false;
    to = number == 1;
    return true;
  }
  bool read(std::string_view name, support::Hash128& to) const {
    const auto hash = support::parse_hash128(value(name));
    if (hash) to = *hash;
    return hash.has_value();
  }
};

/// Cuts off the first word.
std::string_view next_word(std::string_view& text) {
  const size_t end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  return word;
}

/// "number default_us best_us schedule".
std::optional<RememberedSchedule> parse_schedule(std::string_view text) {
  const auto kernel = support::parse_int64(next_word(text));
  const auto default_us = support::parse_double(next_word(text));
  const auto best_us = support::parse_double(next_word(text));
  if (!kernel || *kernel < 0 || !default_us || !best_us || text.empty()) return std::nullopt;
  return RememberedSchedule{static_cast<size_t>(*kernel), *default_us, *best_us, std::string(text)};
}

/// The beginning of a text, in one line and without what ends a field.
std::string field(std::string_view text) {
  // A character of several bytes is left whole or out.
  size_t length = std::min(text.size(), kLongestText);
  while (length < text.size() && length > 0 && (static_cast<uint8_t>(text[length]) & 0xC0) == 0x80)
    --length;
  std::string result(text.substr(0, length));
  for (char& each : result)
    if (each == '\n' || each == '\r' || each == '\t') each = ' ';
  return result;
}

/// "used kernels_us measured_us name<tab>reason".
std::string to_text(const StructureTrial& trial) {
  return fmt::format("{:d} {} {} {}\t{}", trial.used, trial.kernels_us, trial.measured_us,
                     field(trial.name), field(trial.rejected));
}

std::optional<StructureTrial> parse_trial(std::string_view text) {
  const auto used = support::parse_int64(next_word(text));
  const auto kernels_us = support::parse_double(next_word(text));
  const auto measured_us = support::parse_double(next_word(text));
  const size_t tab = text.find('\t');
  if (!used || *used < 0 || *used > 1 || !kernels_us || !measured_us ||
      tab == std::string_view::npos)
    return std::nullopt;
  return StructureTrial{std::string(text.substr(0, tab)), *used == 1, *kernels_us, *measured_us,
                        std::string(text.substr(tab + 1))};
}

bool read_report(const Lines& lines, SearchReport& report) {
  return lines.read("fast_us", report.fast_us) && lines.read("best_us", report.best_us) &&
         lines.read("structures", report.structures) && lines.read("kernels", report.kernels) &&
         lines.read("known", report.known) && lines.read("rejected", report.rejected) &&
         lines.read("rank", report.model.rank_correlation) &&
         lines.read("factor", report.model.typical_factor) &&
         lines.read("fitted_rank", report.fitted_model.rank_correlation) &&
         lines.read("fitted_factor", report.fitted_model.typical_factor) &&
         lines.read("pairs", report.model.pairs_in_order) &&
         lines.read("fitted_pairs", report.fitted_model.pairs_in_order) &&
         lines.read("model_kernels", report.model.kernels) &&
         lines.read("finished", report.finished) && lines.read("unreliable", report.unreliable);
}

}  // namespace

std::string to_text(const RememberedPlan& plan) {
  const SearchReport& report = plan.report;
  std::string text = fmt::format(
      "{}\nchoice {}\ndraft {}\nbest {}\nfast_us {}\nbest_us {}\nstructures {}\nkernels {}\n"
      "known {}\nrejected {}\nrank {}\nfactor {}\nfitted_rank {}\nfitted_factor {}\n"
      "pairs {}\nfitted_pairs {}\nmodel_kernels {}\n"
      "finished {:d}\nunreliable {:d}\nseconds {}\n",
      kFirstLine, plan.choice, support::to_hex(plan.draft), support::to_hex(plan.best),
      report.fast_us, report.best_us, report.structures, report.kernels,
      report.known + report.measured,  // whoever recalls it measures nothing
      report.rejected, report.model.rank_correlation, report.model.typical_factor,
      report.fitted_model.rank_correlation, report.fitted_model.typical_factor,
      report.model.pairs_in_order, report.fitted_model.pairs_in_order, report.model.kernels,
      report.finished, report.unreliable, plan.seconds);
  for (const RememberedSchedule& each : plan.schedules)
    text += fmt::format("schedule {} {} {} {}\n", each.kernel, each.default_us, each.best_us,
                        each.schedule);
  for (size_t k = 0; k < std::min(report.trials.size(), kMostTrials); ++k)
    text += fmt::format("trial {}\n", to_text(report.trials[k]));
  return text;
}

std::optional<RememberedPlan> parse_remembered(const std::string& text) {
  Lines lines;
  bool is_first = true;
  for (std::string_view line : support::split_lines(text)) {
    if (std::exchange(is_first, false)) {
      if (line != kFirstLine) return std::nullopt;
      continue;
    }
    const std::string_view name = next_word(line);
    if (name == "schedule")
      lines.schedules.push_back(line);
    else if (name == "trial")
      lines.trials.push_back(line);
    else if (!lines.values.emplace(name, line).second)
      return std::nullopt;
  }
  RememberedPlan plan;
  plan.choice = lines.value("choice");
  if (plan.choice.empty() || !lines.read("draft", plan.draft) || !lines.read("best", plan.best) ||
      !lines.read("seconds", plan.seconds) || !read_report(lines, plan.report))
    return std::nullopt;
  for (const std::string_view each : lines.schedules) {
    auto schedule = parse_schedule(each);
    if (!schedule) return std::nullopt;
    plan.schedules.push_back(std::move(*schedule));
  }
  for (const std::string_view each : lines.trials) {
    auto trial = parse_trial(each);
    if (!trial) return std::nullopt;
    plan.report.trials.push_back(std::move(*trial));
  }
  return plan;
}

}  // namespace luminal::compiler
