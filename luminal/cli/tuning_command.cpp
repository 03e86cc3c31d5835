#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "luminal/cli/arguments.h"
#include "luminal/cli/commands.h"
#include "luminal/cli/json_text.h"
#include "luminal/cli/option_values.h"
#include "luminal/search/kernel_bench.h"
#include "luminal/search/schedule_hints.h"
#include "luminal/search/tuning_database.h"
#include "luminal/search/work_records.h"
#include "luminal/support/error.h"
#include "luminal/support/file.h"
#include "luminal/support/text.h"

namespace luminal::cli {
namespace {

using nlohmann::ordered_json;
using search::TunedKernel;
using search::TuningDatabase;
using search::TuningRecord;

/// What the options of all tuning commands say.
struct TuningArguments {
  std::string database;
  bool json = false;
  std::string kernel;
  std::string file;
  bool all = false;
  bool schedules = false;
  std::string other_compiler_than;
  std::string device;
  int older_than_days = -1;
};

/// The database that was named, or the one of this machine. It must be there.
TuningDatabase open(const TuningArguments& arguments, search::Access access) {
  const std::string path =
      arguments.database.empty() ? search::default_tuning_path() : arguments.database;
  if (path.empty())
    throw UserError("tuning", "there is no cache directory; --database FILE names a database");
  if (!may_exist(path))
    throw UserError("tuning",
                    "there is no database {} yet; compiling with mode search makes one, and "
                    "--database FILE names another",
                    path);
  return TuningDatabase(path, access);
}

std::string date(int64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts)};
}

/// The one kernel whose hash begins so, or whose label has this text.
TunedKernel find_kernel(const char* operation, const TuningDatabase& database,
                        const std::string& wanted) {
  std::vector<TunedKernel> found;
  for (const TunedKernel& kernel : database.kernels()) {
    const std::string hash = support::to_hex(kernel.kernel);
    if (kernel.label == wanted || hash == wanted) return kernel;
    if (hash.starts_with(wanted) || kernel.label.find(wanted) != std::string::npos)
      found.push_back(kernel);
  }
  if (found.empty())
    throw UsageError(operation, "no kernel of {} is called '{}'; `luminal tuning list` names them",
                     database.path(), wanted);
  if (found.size() == 1) return found[0];
  std::string names;
  for (size_t k = 0; k < found.size() && k < 8; ++k)
    names +=
        fmt::format("\n  {} {}", support::to_hex(found[k].kernel).substr(0, 12), found[k].label);
  throw UsageError(operation, "'{}' fits {} kernels; say more of one of them:{}", wanted,
                   found.size(), names);
}

void list(const TuningArguments& arguments, std::ostream& out) {
  const TuningDatabase database = open(arguments, search::Access::kRead);
  const std::vector<TunedKernel> kernels = database.kernels();
  if (arguments.json) {
    ordered_json rows = ordered_json::array();
    for (const TunedKernel& kernel : kernels)
      rows.push_back({{"kernel", support::to_hex(kernel.kernel)},
                      {"label", kernel.label},
                      {"records", kernel.records},
                      {"rejected", kernel.rejected},
                      {"best_us", kernel.best_us}});
    print_json(rows, out);
    return;
  }
  fmt::print(out, "{:<12}  {:>8}  {:>8}  {:>12}  {}\n", "kernel", "tried", "rejected", "best us",
             "label");
  for (const TunedKernel& kernel : kernels)
    fmt::print(out, "{:<12}  {:>8}  {:>8}  {:>12.2f}  {}\n",
               support::to_hex(kernel.kernel).substr(0, 12), kernel.records, kernel.rejected,
               kernel.best_us, kernel.label);
  fmt::print(out, "{} kernels in {}\n", kernels.size(), database.path());
}

ordered_json json_of(const TuningRecord& record) {
  ordered_json row = {{"schedule", record.schedule},
                      {"shapes", record.key.shapes},
                      {"device", record.key.device},
                      {"compiler", record.key.compiler},
                      {"measured_at", record.measured_at}};
  if (const auto* timing = std::get_if<search::Timing>(&record.result)) {
    row["median_us"] = timing->median_us;
    row["spread_us"] = timing->spread_us;
    row["samples"] = timing->samples;
    row["disturbed"] = timing->disturbed;
  } else {
    const auto& rejected = std::get<search::Rejected>(record.result);
    row["rejected"] = search::to_string(rejected.why);
    row["detail"] = rejected.detail;
  }
  return row;
}

/// What is comparable stands under one heading.
std::string heading_of(const search::TuningKey& key) {
  return fmt::format("{} | {} | {}", key.device, key.compiler,
                     key.shapes.empty() ? "no dims" : key.shapes);
}

/// What was tried, under its heading; what did not come to an end follows what did.
std::vector<std::pair<std::string, std::string>> lines_of(
    const std::vector<TuningRecord>& records,
    const std::vector<search::InterruptedTrial>& interrupted) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const TuningRecord& record : records)
    lines.emplace_back(heading_of(record.key),
                       fmt::format("{}  {}  {}", date(record.measured_at), record.schedule,
                                   search::to_string(record.result)));
  for (const search::InterruptedTrial& trial : interrupted) {
    const std::string heading = heading_of(trial.key);
    const auto last = std::find_if(lines.rbegin(), lines.rend(),
                                   [&](const auto& line) { return line.first == heading; });
    const auto place = last == lines.rend() ? lines.end() : last.base();
    const std::string how_often = trial.times == 1 ? "" : fmt::format(", {} times", trial.times);
    lines.emplace(
        place, heading,
        fmt::format("interrupted       {}  did not end in time{}", trial.schedule, how_often));
  }
  return lines;
}

void show(const TuningArguments& arguments, std::ostream& out) {
  const TuningDatabase database = open(arguments, search::Access::kRead);
  const TunedKernel kernel = find_kernel("tuning show", database, arguments.kernel);
  const std::vector<TuningRecord> records = database.records(kernel.kernel);
  const std::vector<search::InterruptedTrial> interrupted = database.interrupted(kernel.kernel);
  const std::string text = database.kernel_text(kernel.kernel).value_or("");
  if (arguments.json) {
    ordered_json rows = ordered_json::array();
    for (const TuningRecord& record : records) rows.push_back(json_of(record));
    ordered_json others = ordered_json::array();
    for (const search::InterruptedTrial& trial : interrupted)
      others.push_back({{"schedule", trial.schedule},
                        {"shapes", trial.key.shapes},
                        {"device", trial.key.device},
                        {"compiler", trial.key.compiler},
                        {"times", trial.times}});
    print_json(ordered_json{{"kernel", support::to_hex(kernel.kernel)},
                            {"label", kernel.label},
                            {"text", text},
                            {"records", rows},
                            {"interrupted", others}},
               out);
    return;
  }
  fmt::print(out, "{} {}\n{}\n", support::to_hex(kernel.kernel), kernel.label, text);
  std::string group;
  for (const auto& [heading, line] : lines_of(records, interrupted)) {
    if (heading != group) fmt::print(out, "\n{}\n", heading);
    group = heading;
    fmt::print(out, "  {}\n", line);
  }
}

/// A device that nothing was measured on is one that was misspelt.
void check_device(const char* operation, const TuningDatabase& database,
                  const std::string& device) {
  const std::vector<std::string> known = database.devices();
  if (std::find(known.begin(), known.end(), device) != known.end()) return;
  throw UsageError(operation, "--device {}: nothing of {} was measured on it; {}", device,
                   database.path(),
                   known.empty() ? "it holds no measurements"
                                 : fmt::format("its devices are '{}'", fmt::join(known, "', '")));
}

/// All but one version go: if there was no such version it was misspelt, and everything would.
void check_compiler(const TuningDatabase& database, const std::string& compiler) {
  std::set<std::string> known;
  for (const TunedKernel& kernel : database.kernels())
    for (const TuningRecord& record : database.records(kernel.kernel))
      known.insert(record.key.compiler);
  if (known.empty() || known.contains(compiler) || compiler == search::compiler_text()) return;
  throw UsageError("tuning prune",
                   "--other-compiler-than {}: nothing of {} is of that version, so that everything "
                   "would go; its versions are '{}', and --all removes everything",
                   compiler, database.path(), fmt::join(known, "', '"));
}

/// The device that was named, or all that something was measured on.
std::vector<std::string> devices_of(const TuningArguments& arguments,
                                    const TuningDatabase& database) {
  if (arguments.device.empty()) return database.devices();
  check_device("tuning model", database, arguments.device);
  return {arguments.device};
}

/// The cores of a device by its name, which ends with its threads (search::device_text).
int64_t cores_of(const std::string& device) {
  const std::vector<std::string_view> words = support::split_words(device);
  if (words.size() < 2) return 1;
  return std::max<int64_t>(support::parse_int64(words[words.size() - 2]).value_or(1), 1);
}

ordered_json json_of(const search::ModelQuality& quality) {
  return {{"rank_correlation", quality.rank_correlation},
          {"pairs_in_order", quality.pairs_in_order},
          {"typical_factor", quality.typical_factor}};
}

std::string text_of(const search::ModelQuality& quality) {
  return fmt::format("rank correlation {:.3f}, {:.1f} % of pairs in order, typical factor {:.2f}",
                     quality.rank_correlation, 100 * quality.pairs_in_order,
                     quality.typical_factor);
}

/// The kernels whose estimate is farthest from their time, the worst first.
std::vector<const search::KnownWork*> worst_of(const std::vector<search::KnownWork>& works,
                                               const kernel::Machine& machine) {
  const auto error = [&](const search::KnownWork* each) {
    return std::abs(
        std::log(kernel::microseconds(each->timed.work, machine) / each->timed.measured_us));
  };
  std::vector<const search::KnownWork*> result;
  for (const search::KnownWork& each : works) result.push_back(&each);
  std::stable_sort(result.begin(), result.end(),
                   [&](const auto* a, const auto* b) { return error(a) > error(b); });
  constexpr size_t kShown = 8;
  if (result.size() > kShown) result.resize(kShown);
  return result;
}

void model(const TuningArguments& arguments, std::ostream& out) {
  const TuningDatabase database = open(arguments, search::Access::kRead);
  ordered_json rows = ordered_json::array();
  for (const std::string& device : devices_of(arguments, database)) {
    const std::vector<search::KnownWork> works =
        search::known_works(database, device, search::compiler_text());
    if (works.empty()) continue;
    const kernel::Machine before = kernel::Machine::cpu(cores_of(device));
    const search::Calibration found = search::calibrated(works, before);
    ordered_json constants = ordered_json::object();
    for (const auto& [name, constant] : search::machine_constants())
      constants[std::string(name)] = {before.*constant, found.machine.*constant};
    rows.push_back({{"device", device},
                    {"kernels", works.size()},
                    {"as_it_is", json_of(found.before)},
                    {"fitted", json_of(found.after)},
                    {"constants", constants}});
    if (arguments.json) continue;
    fmt::print(out, "{}: {} kernels\n  as it is: {}\n  fitted:   {}\n", device, works.size(),
               text_of(found.before), text_of(found.after));
    for (const auto& [name, constant] : search::machine_constants())
      fmt::print(out, "    {:<22} {:>10.4g} fits as {:.4g}\n", name, before.*constant,
                 found.machine.*constant);
    fmt::print(out, "  farthest from their estimates:\n");
    for (const search::KnownWork* each : worst_of(works, before))
      fmt::print(out, "    {:>10.2f} us, estimated {:>10.2f}: {}\n", each->timed.measured_us,
                 kernel::microseconds(each->timed.work, before), each->label);
  }
  if (arguments.json)
    print_json(rows, out);
  else if (rows.empty())
    fmt::print(out, "no kernel of {} has a time and a work; searches measure some\n",
               database.path());
}

/// The best schedules as text, which is what the project ships.
void export_schedules(const TuningArguments& arguments, const TuningDatabase& database,
                      std::ostream& out) {
  const std::vector<search::ScheduleHint> hints = search::hints_of(database);
  support::write_file_atomic(arguments.file, search::to_text(hints), "tuning export");
  fmt::print(out, "schedules of {} kernels written to {}\n", hints.size(), arguments.file);
}

void export_all(const TuningArguments& arguments, std::ostream& out) {
  const TuningDatabase database = open(arguments, search::Access::kRead);
  if (arguments.schedules) return export_schedules(arguments, database, out);
  database.export_to(arguments.file);
  fmt::print(out, "{} kernels written to {}\n", database.kernels().size(), arguments.file);
}

void merge(const TuningArguments& arguments, std::ostream& out) {
  const std::string path =
      arguments.database.empty() ? search::default_tuning_path() : arguments.database;
  if (path.empty())
    throw UserError("tuning merge",
                    "there is no cache directory; --database FILE names a database");
  if (!may_exist(arguments.file))
    throw UserError("tuning merge", "there is no file {}", arguments.file);
  // Read first: a file that cannot be must leave no new database behind.
  const TuningDatabase other(arguments.file, search::Access::kRead);
  // The first thing a database gets may come from elsewhere.
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty()) support::create_directories(folder.string());
  TuningDatabase database(path);
  const search::MergeCounts counts = database.merge_from(other);
  if (arguments.json) {
    print_json(
        ordered_json{{"added", counts.added}, {"replaced", counts.replaced}, {"kept", counts.kept}},
        out);
    return;
  }
  fmt::print(out, "{} added, {} replaced, {} kept as they were\n", counts.added, counts.replaced,
             counts.kept);
}

void prune(const TuningArguments& arguments, std::ostream& out) {
  const Option kernel{"--kernel", !arguments.kernel.empty()},
      device{"--device", !arguments.device.empty()},
      older{"--older-than", arguments.older_than_days >= 0},
      other{"--other-compiler-than", !arguments.other_compiler_than.empty()};
  const Option all{"--all", arguments.all};
  for (const Option& option : {kernel, device, older, other})
    at_most_one("tuning prune", {all, option});
  if (!kernel.given && !device.given && !older.given && !other.given && !all.given)
    throw UsageError("tuning prune",
                     "say what goes: --older-than DAYS, --device D, --other-compiler-than V, "
                     "--kernel K or --all");
  search::PruneFilter filter{.other_compiler_than = arguments.other_compiler_than,
                             .device = arguments.device};
  if (arguments.older_than_days >= 0)
    filter.measured_before = std::time(nullptr) - int64_t{86400} * arguments.older_than_days;
  TuningDatabase database = open(arguments, search::Access::kWrite);
  if (kernel.given) filter.kernel = find_kernel("tuning prune", database, arguments.kernel).kernel;
  if (device.given) check_device("tuning prune", database, arguments.device);
  if (other.given) check_compiler(database, arguments.other_compiler_than);
  if (arguments.all) filter.measured_before = std::time(nullptr) + 1;
  const int64_t gone = database.prune(filter);
  if (arguments.json)
    print_json(ordered_json{{"removed", gone}}, out);
  else
    fmt::print(out, "{} measurements removed\n", gone);
}

using Action = void (*)(const TuningArguments&, std::ostream&);

}  // namespace

void add_tuning_command(CLI::App& app, std::ostream& out) {
  auto arguments = std::make_shared<TuningArguments>();
  CLI::App* tuning = app.add_subcommand("tuning", "The database of measured kernels");
  tuning->require_subcommand(1);
  tuning->footer(R"(
Examples:
  luminal tuning list
  luminal tuning show softmax --json
  luminal tuning model
  luminal tuning export everything.db
  luminal tuning export --schedules data/tuning/znver4.txt
  luminal tuning merge everything.db
  luminal tuning prune --older-than 90)");
  const auto add = [&](const char* name, const char* what, Action action) {
    CLI::App* command = tuning->add_subcommand(name, what);
    command->add_option("--database", arguments->database,
                        "The file (the one of this machine's cache, if not named)");
    command->callback([=, &out] { action(*arguments, out); });
    return command;
  };
  add("list", "Kernels with their best times", list)
      ->add_flag("--json", arguments->json, "As JSON");

  CLI::App* shown = add("show", "Everything that was tried for one kernel", show);
  shown->add_option("KERNEL", arguments->kernel, "The start of its hash, or text of its label")
      ->required();
  shown->add_flag("--json", arguments->json, "As JSON");

  CLI::App* ranked = add("model", "How well the cost model ranks what was measured", model);
  ranked->add_option("--device", arguments->device, "Of this device (all, if not named)");
  ranked->add_flag("--json", arguments->json, "As JSON");

  CLI::App* exported = add("export", "Write everything to another file", export_all);
  exported->add_option("FILE", arguments->file, "Must not be there yet")->required();
  exported->add_flag("--schedules", arguments->schedules,
                     "Only schedules that are better than those without search, as text; written "
                     "over what is there");

  CLI::App* merged = add("merge", "Take over what another file has", merge);
  merged->add_option("FILE", arguments->file, "What `export` wrote")->required();
  merged->add_flag("--json", arguments->json, "As JSON");

  CLI::App* pruned = add("prune", "Remove measurements that fit all that is said", prune);
  pruned->add_option("--older-than", arguments->older_than_days, "Measured before so many days")
      ->transform(whole_number(0, 1'000'000));
  pruned->add_option("--device", arguments->device, "Of this device");
  pruned->add_option("--other-compiler-than", arguments->other_compiler_than,
                     "Of code that other versions made");
  pruned->add_option("--kernel", arguments->kernel, "Of one kernel");
  pruned->add_flag("--all", arguments->all, "Everything");
  pruned->add_flag("--json", arguments->json, "As JSON");
}

}  // namespace luminal::cli
