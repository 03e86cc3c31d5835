#include "luminal/search/schedule_hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "luminal/search/shipped_text.h"
#include "luminal/search/tuner.h"
#include "luminal/support/error.h"
#include "luminal/support/text.h"

namespace luminal::search {
namespace {

constexpr std::string_view kFirstLine = "luminal schedule hints 1";
constexpr size_t kFields = 6;

/// A field of a line: a tab or a line end would end it.
std::string field(std::string text) {
  for (char& each : text)
    if (each == '\t' || each == '\n' || each == '\r') each = ' ';
  return text;
}

ScheduleHint parse_hint(std::string_view line, size_t number) {
  const std::vector<std::string_view> fields = support::split(line, '\t');
  const auto refuse = [&](std::string_view what) {
    return UserError("schedule hints", "line {}: {}", number, what);
  };
  if (fields.size() != kFields)
    throw refuse(fmt::format("{} fields instead of {}", fields.size(), kFields));
  const auto gain = support::parse_double(fields[0]);
  const auto kernel = support::parse_hash128(fields[1]);
  if (!gain || !(*gain > 0)) throw refuse(fmt::format("'{}' is no gain", fields[0]));
  if (!kernel) throw refuse(fmt::format("'{}' is no hash of a kernel", fields[1]));
  if (fields[4].empty()) throw refuse("there is no schedule");
  return {std::string(fields[5]), *kernel, std::string(fields[2]), std::string(fields[3]),
          std::string(fields[4]), *gain};
}

auto order_of(const ScheduleHint& hint) {
  return std::tie(hint.device, hint.label, hint.kernel, hint.shapes, hint.schedule);
}

/// Values of dims by name.
using Sizes = std::map<std::string, int64_t>;

/// What TuningKey::shapes says.
std::optional<Sizes> parsed_shapes(std::string_view text) {
  Sizes sizes;
  if (text.empty()) return sizes;
  for (const std::string_view each : support::split(text, ' ')) {
    const size_t sign = each.find('=');
    if (sign == std::string_view::npos) return std::nullopt;
    const auto value = support::parse_int64(each.substr(sign + 1));
    if (!value || *value < 1) return std::nullopt;
    sizes[std::string(each.substr(0, sign))] = *value;
  }
  return sizes;
}

/// How far sizes are apart: the logarithm of the largest factor. Nothing if they are of other dims.
std::optional<double> distance(const Sizes& one, const Sizes& other) {
  double result = 0;
  if (one.size() != other.size()) return std::nullopt;
  for (const auto& [name, value] : one) {
    const auto found = other.find(name);
    if (found == other.end()) return std::nullopt;
    result = std::max(result, std::abs(std::log2(static_cast<double>(value)) -
                                       std::log2(static_cast<double>(found->second))));
  }
  return result;
}

}  // namespace

std::string to_text(std::vector<ScheduleHint> hints) {
  std::sort(hints.begin(), hints.end(),
            [](const ScheduleHint& a, const ScheduleHint& b) { return order_of(a) < order_of(b); });
  std::string text =
      fmt::format("{}\n# gain, kernel, dims, device, schedule, what it computes\n", kFirstLine);
  for (const ScheduleHint& hint : hints)
    text += fmt::format("{:.2f}\t{}\t{}\t{}\t{}\t{}\n", hint.gain, support::to_hex(hint.kernel),
                        field(hint.shapes), field(hint.device), field(hint.schedule),
                        field(hint.label));
  return text;
}

std::vector<ScheduleHint> parse_hints(std::string_view text) {
  const std::vector<std::string_view> lines = support::split_lines(text);
  if (lines.empty() || lines[0] != kFirstLine)
    throw UserError("schedule hints", "the text does not begin with '{}'", kFirstLine);
  std::vector<ScheduleHint> result;
  for (size_t k = 1; k < lines.size(); ++k)
    if (!lines[k].empty() && !lines[k].starts_with('#'))
      result.push_back(parse_hint(lines[k], k + 1));
  return result;
}

std::vector<ScheduleHint> hints_of(const TuningDatabase& database, double least_gain) {
  std::vector<ScheduleHint> result;
  for (const std::string& device : database.devices()) {
    // Of several versions of the code generator the newest counts.
    std::map<std::pair<support::Hash128, std::string>, TimedRow> newest;
    for (TimedRow& row : database.timed_works(device)) {
      TimedRow& place = newest[{row.kernel, row.shapes}];
      if (place.compiler.empty() || row.measured_at > place.measured_at) place = std::move(row);
    }
    for (const auto& [key, row] : newest) {
      const TunedChoice choice =
          choose(database.records({row.kernel, row.shapes, device, row.compiler}), row.standard);
      if (choice.default_us <= 0 || choice.schedule == row.standard) continue;
      const double gain = choice.default_us / choice.best_us;
      if (gain >= 1 + least_gain)
        result.push_back({row.label, row.kernel, row.shapes, device, choice.schedule, gain});
    }
  }
  return result;
}

std::vector<std::string> hinted_schedules(const std::vector<ScheduleHint>& hints,
                                          const TuningKey& key) {
  std::vector<std::string> here;
  std::vector<std::string> elsewhere;
  for (const ScheduleHint& hint : hints)
    if (hint.kernel == key.kernel && hint.shapes == key.shapes)
      (hint.device == key.device ? here : elsewhere).push_back(hint.schedule);
  here.insert(here.end(), elsewhere.begin(), elsewhere.end());
  return here;
}

std::vector<std::string> near_schedules(const TuningDatabase& database, const TuningKey& key) {
  constexpr size_t kMost = 2;
  constexpr double kRange = 1.0;  // as a logarithm
  const std::optional<Sizes> own = parsed_shapes(key.shapes);
  if (!own || own->empty()) return {};
  std::vector<std::pair<double, std::string>> near;
  for (const TuningRecord& record : database.best_elsewhere(key))
    if (const auto other = parsed_shapes(record.key.shapes))
      if (const auto apart = distance(*own, *other); apart && *apart <= kRange)
        near.emplace_back(*apart, record.schedule);
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (const auto& [apart, schedule] : near)
    if (result.size() < kMost && std::find(result.begin(), result.end(), schedule) == result.end())
      result.push_back(schedule);
  return result;
}

const std::vector<ScheduleHint>& shipped_hints() {
  static const std::vector<ScheduleHint> hints = [] {
    std::vector<ScheduleHint> all;
    for (const std::string_view text : shipped_texts()) {
      std::vector<ScheduleHint> some = parse_hints(text);
      all.insert(all.end(), std::make_move_iterator(some.begin()),
                 std::make_move_iterator(some.end()));
    }
    return all;
  }();
  return hints;
}

}  // namespace luminal::search
