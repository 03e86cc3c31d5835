#include "luminal/support/env.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "luminal/support/check.h"

namespace luminal::support {
namespace {

constexpr bool table_follows_enum() {
  for (std::size_t i = 0; i < kEnvironmentTable.size(); ++i)
    if (kEnvironmentTable[i].id != static_cast<EnvVar>(i)) return false;
  return true;
}
static_assert(table_follows_enum(), "one row per EnvVar, in the same order");

constexpr std::array<std::pair<std::string_view, bool>, 8> kFlagTexts{{{"on", true},
                                                                       {"off", false},
                                                                       {"1", true},
                                                                       {"0", false},
                                                                       {"true", true},
                                                                       {"false", false},
                                                                       {"yes", true},
                                                                       {"no", false}}};

std::string allowed_values(const EnvInfo& info) {
  switch (info.kind) {
    case EnvKind::kText:
      return "any text";
    case EnvKind::kInteger:
      return fmt::format("a whole number from {} to {}", info.least, info.most);
    case EnvKind::kFlag:
      return "on, off, 1, 0, true, false, yes or no";
    case EnvKind::kChoice: {
      std::string list = "one of ";
      for (char c : info.choices) list += c == '|' ? std::string(", ") : std::string(1, c);
      return list;
    }
  }
  return {};
}

[[noreturn]] void refuse(const EnvInfo& info, std::string_view text) {
  throw UserError("environment", "{} is \"{}\"; it must be {}", info.name, text,
                  allowed_values(info));
}

bool is_choice(std::string_view choices, std::string_view text) {
  while (!choices.empty()) {
    const std::size_t bar = std::min(choices.find('|'), choices.size());
    if (choices.substr(0, bar) == text) return true;
    choices.remove_prefix(std::min(bar + 1, choices.size()));
  }
  return false;
}

std::int64_t parse_integer(const EnvInfo& info, std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < info.least || value > info.most)
    refuse(info, text);
  return value;
}

bool parse_flag(const EnvInfo& info, std::string_view text) {
  for (const auto& [name, value] : kFlagTexts)
    if (name == text) return value;
  refuse(info, text);
}

}  // namespace

Environment::Environment(const Lookup& lookup) {
  for (const EnvInfo& info : kEnvironmentTable) {
    Value& value = values_[static_cast<std::size_t>(info.id)];
    const std::optional<std::string> given = lookup(info.name);
    value.is_set = given && !given->empty();
    value.text = value.is_set ? *given : std::string(info.default_value);
    if (info.kind == EnvKind::kInteger)
      value.integer = parse_integer(info, value.text);
    else if (info.kind == EnvKind::kFlag)
      value.integer = parse_flag(info, value.text) ? 1 : 0;
    else if (info.kind == EnvKind::kChoice && !is_choice(info.choices, value.text))
      refuse(info, value.text);
  }
}

const Environment::Value& Environment::value(EnvVar variable,
                                             std::initializer_list<EnvKind> kinds) const {
  const EnvInfo& info = env_info(variable);
  LUMINAL_CHECK(std::find(kinds.begin(), kinds.end(), info.kind) != kinds.end(),
                "{} is read as another kind than its row says", info.name);
  return values_[static_cast<std::size_t>(variable)];
}

bool Environment::is_set(EnvVar variable) const {
  return values_[static_cast<std::size_t>(variable)].is_set;
}

const std::string& Environment::text(EnvVar variable) const {
  return value(variable, {EnvKind::kText, EnvKind::kChoice}).text;
}

std::int64_t Environment::integer(EnvVar variable) const {
  return value(variable, {EnvKind::kInteger}).integer;
}

bool Environment::flag(EnvVar variable) const {
  return value(variable, {EnvKind::kFlag}).integer != 0;
}

std::string Environment::cache_dir() const {
  if (!flag(EnvVar::kCache)) return {};
  if (is_set(EnvVar::kCacheDir)) return text(EnvVar::kCacheDir);
  // The standard says that a relative XDG_CACHE_HOME is to be ignored.
  if (text(EnvVar::kXdgCacheHome).starts_with('/')) return text(EnvVar::kXdgCacheHome) + "/luminal";
  if (is_set(EnvVar::kHome)) return text(EnvVar::kHome) + "/.cache/luminal";
  return {};
}

const Environment& environment() {
  static const Environment kProcess([](std::string_view name) -> std::optional<std::string> {
    const char* text = std::getenv(std::string(name).c_str());
    if (text == nullptr) return std::nullopt;
    return std::string(text);
  });
  return kProcess;
}

std::string environment_table_text() {
  std::string out = "| variable | default | values | meaning |\n| --- | --- | --- | --- |\n";
  for (const EnvInfo& info : kEnvironmentTable) {
    const std::string shown =
        info.default_value.empty() ? "unset" : fmt::format("`{}`", info.default_value);
    out +=
        fmt::format("| `{}` | {} | {} | {} |\n", info.name, shown, allowed_values(info), info.doc);
  }
  return out;
}

}  // namespace luminal::support
