#include "luminal/codegen/llvm/schedule.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "luminal/support/check.h"
#include "luminal/support/error.h"
#include "luminal/support/hash.h"

namespace luminal::codegen {
namespace {

constexpr std::string_view kParse = "schedule";

/// Choices whose values have words. Words are never renumbered: texts are kept.
struct Words {
  std::string_view name;
  std::vector<std::string_view> words;
};

const std::vector<Words>& all_words() {
  static const std::vector<Words> words = {
      {"a", {"in-place", "rows", "packed", "rows-ahead"}},
      {"along", {"pixels", "filters"}},
      {"b", {"prepacked", "packed", "in-place"}},
      {"mode", {"fma", "dot-bf16", "dot-i8", "amx-bf16", "amx-i8"}},
      {"order", {"pixels-outer", "filters-outer"}},
      {"outer", {"panels", "rows"}},
      {"streaming", {"never", "large", "always"}},
  };
  return words;
}

const std::vector<std::string_view>* words_of(std::string_view name) {
  for (const Words& each : all_words())
    if (each.name == name) return &each.words;
  return nullptr;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", word);
  return text;
}

int64_t parse_value(std::string_view name, std::string_view text) {
  if (const std::vector<std::string_view>* words = words_of(name)) {
    const auto found = std::find(words->begin(), words->end(), text);
    if (found == words->end())
      throw UserError(kParse, "'{}' is no value of '{}'; it is one of {}", text, name,
                      joined(*words));
    return found - words->begin();
  }
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw UserError(kParse, "'{}' is no value of '{}'; it takes an integer", text, name);
  return value;
}

Choice parse_choice(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  if (equals == std::string_view::npos || !is_name(name))
    throw UserError(kParse, "'{}' is no choice; write name=value", text);
  return {std::string(name), parse_value(name, text.substr(equals + 1))};
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return parts;
    text.remove_prefix(begin);
    const size_t end = std::min(text.find(' '), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

void sort_choices(std::vector<Choice>& choices) {
  std::sort(choices.begin(), choices.end(),
            [](const Choice& a, const Choice& b) { return a.name < b.name; });
}

/// A name that occurs twice, in sorted choices.
const Choice* repeated(const std::vector<Choice>& choices) {
  const auto found =
      std::adjacent_find(choices.begin(), choices.end(),
                         [](const Choice& a, const Choice& b) { return a.name == b.name; });
  return found == choices.end() ? nullptr : &*found;
}

}  // namespace

std::string choice_text(std::string_view name, int64_t value) {
  const std::vector<std::string_view>* words = words_of(name);
  if (words == nullptr) return fmt::format("{}", value);
  LUMINAL_CHECK(value >= 0 && value < static_cast<int64_t>(words->size()), "{} is no word of '{}'",
                value, name);
  return std::string((*words)[static_cast<size_t>(value)]);
}

Schedule::Schedule(std::string family, std::vector<Choice> choices)
    : family_(std::move(family)), choices_(std::move(choices)) {
  sort_choices(choices_);
  LUMINAL_CHECK(repeated(choices_) == nullptr, "a choice of '{}' is made twice", family_);
}

Schedule Schedule::parse(std::string_view text) {
  const std::vector<std::string_view> parts = split(text);
  if (parts.empty()) throw UserError(kParse, "there is nothing to read; write 'family name=value'");
  if (!is_name(parts[0]))
    throw UserError(kParse, "'{}' is no family; write 'family name=value', such as 'nest unroll=2'",
                    parts[0]);
  Schedule schedule(std::string{parts[0]});
  for (size_t k = 1; k < parts.size(); ++k) schedule.choices_.push_back(parse_choice(parts[k]));
  sort_choices(schedule.choices_);
  if (const Choice* twice = repeated(schedule.choices_))
    throw UserError(kParse, "'{}' is given twice in '{}'", twice->name, text);
  return schedule;
}

std::optional<int64_t> Schedule::find(std::string_view name) const {
  for (const Choice& choice : choices_)
    if (choice.name == name) return choice.value;
  return std::nullopt;
}

int64_t Schedule::at(std::string_view name) const {
  if (const auto value = find(name)) return *value;
  throw UserError(kParse, "'{}' is not chosen in '{}'", name, to_string());
}

Schedule Schedule::with(std::string_view name, int64_t value) const {
  Schedule result = *this;
  for (Choice& choice : result.choices_)
    if (choice.name == name) {
      choice.value = value;
      return result;
    }
  result.choices_.push_back({std::string(name), value});
  sort_choices(result.choices_);
  return result;
}

std::string Schedule::to_string() const {
  std::string text = family_;
  for (const Choice& choice : choices_)
    text += fmt::format(" {}={}", choice.name, choice_text(choice.name, choice.value));
  return text;
}

uint64_t Schedule::hash() const {
  support::Hasher hasher;
  hasher.add(std::string_view(family_));
  for (const Choice& choice : choices_) hasher.add(std::string_view(choice.name)).add(choice.value);
  return hasher.finish64();
}

const ScheduleAxis* ScheduleSpace::axis(std::string_view name) const {
  for (const ScheduleAxis& each : axes)
    if (each.name == name) return &each;
  return nullptr;
}

bool ScheduleSpace::contains(const Schedule& schedule) const {
  if (schedule.family() != start.family() || schedule.choices().size() != start.choices().size())
    return false;
  for (size_t k = 0; k < start.choices().size(); ++k) {
    const Choice& own = start.choices()[k];
    const Choice& other = schedule.choices()[k];
    if (own.name != other.name) return false;
    const ScheduleAxis* along = axis(own.name);
    const bool known = along == nullptr ? own.value == other.value
                                        : std::find(along->values.begin(), along->values.end(),
                                                    other.value) != along->values.end();
    if (!known) return false;
  }
  return !refusal || !refusal(schedule);
}

double ScheduleSpace::size() const {
  double size = 1;
  for (const ScheduleAxis& each : axes) size *= static_cast<double>(each.values.size());
  return size;
}

std::vector<Schedule> neighbours(const ScheduleSpace& space, const Schedule& schedule) {
  std::vector<Schedule> result;
  for (const ScheduleAxis& axis : space.axes) {
    const auto begin = axis.values.begin();
    const auto at = std::find(begin, axis.values.end(), schedule.at(axis.name)) - begin;
    std::vector<std::pair<int64_t, int64_t>> others;  // distance and value
    for (int64_t k = 0; k < static_cast<int64_t>(axis.values.size()); ++k)
      if (k != at) others.emplace_back(std::abs(k - at), axis.values[static_cast<size_t>(k)]);
    std::stable_sort(others.begin(), others.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [distance, value] : others) {
      Schedule next = schedule.with(axis.name, value);
      if (space.contains(next)) result.push_back(std::move(next));
    }
  }
  return result;
}

}  // namespace luminal::codegen
