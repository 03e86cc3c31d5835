#include "luminal/cli/arguments.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "luminal/search/tuning_database.h"
#include "luminal/support/file.h"
#include "luminal/support/log.h"
#include "luminal/support/text.h"

namespace luminal::cli {
namespace {

/// How many letters are missing, too many, wrong or in the place of their neighbour.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> steps(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        steps[i][j] = i + j;
        continue;
      }
      const size_t wrong = a[i - 1] == b[j - 1] ? 0 : 1;
      steps[i][j] =
          std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, steps[i - 1][j - 1] + wrong});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
    }
  }
  return steps[a.size()][b.size()];
}

std::string names_of(std::initializer_list<Option> options, std::string_view between) {
  std::vector<std::string_view> names;
  for (const Option& option : options) names.push_back(option.name);
  return fmt::format("{}", fmt::join(names, between));
}

/// What an error says, for another operation to say it.
std::string_view without_operation(const UserError& error) {
  std::string_view text = error.what();
  text.remove_prefix(std::min(text.size(), error.operation().size() + std::strlen(": ")));
  return text;
}

}  // namespace

std::map<std::string, std::string> parse_settings(std::string_view operation,
                                                  std::string_view option,
                                                  const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> settings;
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == argument.size())
      throw UsageError(operation, "{} takes NAME=VALUE, got '{}'", option, argument);
    const std::string name = argument.substr(0, equals), value = argument.substr(equals + 1);
    const auto [place, is_new] = settings.emplace(name, value);
    if (!is_new)
      throw UsageError(operation, "{} {} is given twice, as {} and as {}; give it once", option,
                       name, place->second, value);
  }
  return settings;
}

graph::DimValues parse_dims(std::string_view operation, const std::vector<std::string>& arguments) {
  graph::DimValues dims;
  for (const auto& [name, text] : parse_settings(operation, "--dim", arguments)) {
    const std::optional<int64_t> value = support::parse_int64(text);
    if (!value || *value < 0)
      throw UsageError(operation, "--dim {} must be a whole number of at least 0, got '{}'", name,
                       text);
    dims[name] = *value;
  }
  return dims;
}

void check_dims(std::string_view operation, const graph::Graph& graph,
                const graph::DimValues& dims) {
  for (const auto& [name, value] : dims) {
    const auto found = graph.dims().find(name);
    if (found == graph.dims().end()) {
      std::vector<std::string> known;
      for (const auto& [each, interval] : graph.dims()) known.push_back(each);
      throw UsageError(operation, "--dim {}: the graph has no dim '{}'; {}", name, name,
                       known.empty() ? "all its extents are numbers"
                                     : fmt::format("its dims are {}", fmt::join(known, ", ")));
    }
    const symbolic::Interval& interval = found->second;
    if (value < interval.lo || value > interval.hi)
      throw UsageError(operation, "--dim {}={}: the graph allows {}", name, value,
                       interval.hi == symbolic::Interval::kPosInf
                           ? fmt::format("{} or more", interval.lo)
                           : fmt::format("{} to {}", interval.lo, interval.hi));
  }
}

void at_most_one(std::string_view operation, std::initializer_list<Option> options) {
  std::string_view first;
  for (const Option& option : options) {
    if (!option.given) continue;
    if (!first.empty())
      throw UsageError(operation, "{} and {} ask for different answers; give one of them", first,
                       option.name);
    first = option.name;
  }
}

void only_with(std::string_view operation, Option option, std::initializer_list<Option> others) {
  const auto given = [](const Option& other) { return other.given; };
  if (option.given && std::none_of(others.begin(), others.end(), given))
    throw UsageError(operation, "{} says nothing without {}; add that, or leave it out",
                     option.name, names_of(others, " or "));
}

void nothing_with(std::string_view operation, Option mode, std::initializer_list<Option> options) {
  if (!mode.given) return;
  for (const Option& option : options)
    if (option.given)
      throw UsageError(operation, "{} says nothing with {}; leave out one of them", option.name,
                       mode.name);
}

std::string search_database(std::string_view operation, const std::string& named) {
  const std::string path = named.empty() ? search::default_tuning_path() : named;
  if (path.empty())
    throw UserError(operation,
                    "a search needs a database: there is no cache directory, and --database FILE "
                    "names none");
  // The first search of a machine may be the first of all things that are kept there.
  const std::string folder = std::filesystem::path(path).parent_path().string();
  try {
    if (named.empty() && !folder.empty()) support::create_directories(folder);
  } catch (const UserError& error) {
    throw UserError(operation, "no folder for {}: {}; --database FILE names another file", path,
                    without_operation(error));
  }
  return path;
}

codegen::CpuTarget named_target(std::string_view operation, const std::string& name) {
  try {
    return codegen::cpu_target(name);
  } catch (const UserError& error) {
    throw UsageError(operation, "--target {}: {}", name, without_operation(error));
  }
}

std::unique_ptr<search::TuningDatabase> known_measurements(std::string_view operation,
                                                           const std::string& named) {
  const std::string path = named.empty() ? search::default_tuning_path() : named;
  if (path.empty() || (named.empty() && !may_exist(path))) return nullptr;
  if (!may_exist(path))
    throw UserError(operation, "there is no database {}; with --search one is made", path);
  try {
    return std::make_unique<search::TuningDatabase>(path, search::Access::kRead);
  } catch (const UserError& error) {
    // Nobody asked for what lies at the usual place, and everything works without it.
    if (!named.empty()) throw;
    support::log_warn("no measurements: {}", error.what());
    return nullptr;
  }
}

bool may_exist(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::exists(path, unknown) || unknown;
}

std::string nearest(std::string_view word, const std::vector<std::string>& words) {
  // Two mistakes in a long word are likely, in a short one they make it another.
  size_t least = word.size() < 5 ? 2 : 3;
  std::string result;
  for (const std::string& each : words) {
    if (word.size() > 2 && each.starts_with(word)) return each;
    const size_t far = distance(word, each);
    if (far >= least) continue;
    least = far;
    result = each;
  }
  return result;
}

}  // namespace luminal::cli
