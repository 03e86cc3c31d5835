#include "luminal/compiler/remembered_plan.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "luminal/support/text.h"

namespace luminal::compiler {
namespace {

constexpr std::string_view kFirstLine = "searched plan 1";

/// The lines "name value" of a text, by name; those of schedules in their order.
struct Lines {
  std::map<std::string_view, std::string_view> values;
  std::vector<std::string_view> schedules;

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

bool read_report(const Lines& lines, SearchReport& report) {
  return lines.read("fast_us", report.fast_us) && lines.read("best_us", report.best_us) &&
         lines.read("structures", report.structures) && lines.read("kernels", report.kernels) &&
         lines.read("known", report.known) && lines.read("rejected", report.rejected) &&
         lines.read("rank", report.model.rank_correlation) &&
         lines.read("factor", report.model.typical_factor) &&
         lines.read("fitted_rank", report.fitted_model.rank_correlation) &&
         lines.read("fitted_factor", report.fitted_model.typical_factor) &&
         lines.read("finished", report.finished) && lines.read("unreliable", report.unreliable);
}

}  // namespace

std::string to_text(const RememberedPlan& plan) {
  const SearchReport& report = plan.report;
  std::string text = fmt::format(
      "{}\nchoice {}\ndraft {}\nbest {}\nfast_us {}\nbest_us {}\nstructures {}\nkernels {}\n"
      "known {}\nrejected {}\nrank {}\nfactor {}\nfitted_rank {}\nfitted_factor {}\n"
      "finished {:d}\nunreliable {:d}\nseconds {}\n",
      kFirstLine, plan.choice, support::to_hex(plan.draft), support::to_hex(plan.best),
      report.fast_us, report.best_us, report.structures, report.kernels, report.known,
      report.rejected, report.model.rank_correlation, report.model.typical_factor,
      report.fitted_model.rank_correlation, report.fitted_model.typical_factor, report.finished,
      report.unreliable, plan.seconds);
  for (const RememberedSchedule& each : plan.schedules)
    text += fmt::format("schedule {} {} {} {}\n", each.kernel, each.default_us, each.best_us,
                        each.schedule);
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
  return plan;
}

}  // namespace luminal::compiler
