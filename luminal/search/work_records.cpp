#include "luminal/search/work_records.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "luminal/support/text.h"

namespace luminal::search {
namespace {

using kernel::Work;

constexpr std::string_view kFirstWord = "work1";

constexpr std::array kTerms = {&Work::launches,     &Work::passes,       &Work::memory_bytes,
                               &Work::cache_bytes,  &Work::vector_flops, &Work::functions,
                               &Work::matrix_flops, &Work::used};

}  // namespace

std::string to_text(const Work& work) {
  std::string text(kFirstWord);
  for (const auto term : kTerms) text += fmt::format(" {}", work.*term);
  return text;
}

std::optional<Work> parse_work(std::string_view text) {
  const std::vector<std::string_view> words = support::split_words(text);
  if (words.size() != kTerms.size() + 1 || words[0] != kFirstWord) return std::nullopt;
  Work work;
  for (size_t k = 0; k < kTerms.size(); ++k) {
    const auto number = support::parse_double(words[k + 1]);
    if (!number || !std::isfinite(*number) || *number < 0) return std::nullopt;
    work.*kTerms[k] = *number;
  }
  if (work.used <= 0) return std::nullopt;
  return work;
}

std::vector<KnownWork> known_works(const TuningDatabase& database, const std::string& device,
                                   const std::string& compiler) {
  // By kernel and dims, so that what is fitted does not depend on the order of measurements.
  std::map<std::pair<support::Hash128, std::string>, const TimedRow*> chosen;
  const std::vector<TimedRow> rows = database.timed_works(device);
  for (const TimedRow& row : rows) {
    const TimedRow*& place = chosen[{row.kernel, row.shapes}];
    const bool is_own = row.compiler == compiler;
    if (place == nullptr || is_own ||
        (place->compiler != compiler && row.measured_at > place->measured_at))
      place = &row;
  }
  std::vector<KnownWork> result;
  for (const auto& [key, row] : chosen)
    if (const auto work = parse_work(row->work))
      result.push_back({row->label, {*work, row->best_us}});
  return result;
}

Calibration calibrated(const std::vector<KnownWork>& works, const kernel::Machine& machine) {
  std::vector<TimedWork> timed;
  for (const KnownWork& each : works) timed.push_back(each.timed);
  Calibration result{machine};
  if (timed.empty()) return result;
  result.before = quality_of(timed, machine);
  result.machine = fitted(timed, machine);
  result.after = quality_of(timed, result.machine);
  return result;
}

}  // namespace luminal::search
