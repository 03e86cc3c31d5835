#include "luminal/cli/option_values.h"

#include <fmt/ranges.h>

#include <charconv>
#include <optional>

#include "luminal/codegen/llvm/cpu_target.h"
#include "luminal/support/text.h"

namespace luminal::cli {
namespace {

/// As much of a value as fits into a message.
std::string shown(const std::string& value) { return support::ellipsize(value, 40); }

std::optional<uint64_t> parse_whole(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace

CLI::Validator whole_number(uint64_t least, uint64_t most) {
  const auto check = [=](std::string& text) -> std::string {
    const std::optional<uint64_t> value = parse_whole(text);
    if (!value || *value < least || *value > most)
      return fmt::format("it must be a whole number from {} to {}, got '{}'", least, most,
                         shown(text));
    text = std::to_string(*value);
    return {};
  };
  return {check, fmt::format("{} to {}", least, most)};
}

CLI::Validator seconds() {
  static constexpr double kMost = 1e6;
  const auto check = [](std::string& text) -> std::string {
    const std::optional<double> value = support::parse_double(text);
    if (value && *value >= 0 && *value <= kMost) return {};
    return fmt::format("it must be a number of seconds from 0 to {:.0f}, got '{}'", kMost,
                       shown(text));
  };
  return {check, "seconds"};
}

CLI::Validator processor_names() {
  return {[](const std::string&) { return std::string(); },
          fmt::format("{{{}}}", fmt::join(codegen::cpu_target_names(), ","))};
}

void refuse_empty_values(CLI::App& command) {
  const auto check = [](const std::string& value) {
    return std::string(value.empty() ? "its value is empty; give one, or leave it out" : "");
  };
  // Before all other checks, which would say less.
  for (CLI::Option* option : command.get_options([](const CLI::Option*) { return true; }))
    if (option->get_type_size() > 0 && option->get_name() != "ARGUMENTS")
      option->transform(CLI::Validator(check, ""));
  for (CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; }))
    refuse_empty_values(*each);
}

}  // namespace luminal::cli
