// What compiling takes, stage by stage, as networks grow: a first plan with nothing on disk, the
// same with compiled kernels on disk, a plan loaded from its file, a search, and one that finds
// everything measured. The options are in the usage text.
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>

#include "benchmarks/bench_options.h"
#include "benchmarks/compile/compile_cases.h"
#include "benchmarks/result_rows.h"
#include "luminal/codegen/llvm/cpu_target.h"
#include "luminal/codegen/llvm/kernel_compiler.h"
#include "luminal/compiler/choice_cache.h"
#include "luminal/compiler/make_compiled.h"
#include "luminal/graph/pass.h"
#include "luminal/plan/plan_file.h"
#include "luminal/search/tuning_database.h"
#include "luminal/support/error.h"
#include "luminal/support/stats.h"
#include "luminal/support/text.h"
#include "luminal/support/trace.h"

namespace luminal::benchmarks {
namespace {

using support::TraceEvent;

/// Runs something and gives its time in milliseconds.
template <typename Function>
double milliseconds(const Function& function) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  function();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

/// Times of one compilation.
struct Times {
  double passes = 0, total = 0;  // ms
  double repeats = 0, rules = 0, choose = 0, code = 0;
  std::vector<double> kernels;  // of each kernel that was compiled
  size_t e_nodes = 0;
};

/// Compiles a network as a user does, from what was written to what can run.
std::unique_ptr<plan::CompiledProgram> compiled(const graph::Graph& written, Times& times) {
  const support::TraceRecording recording;
  std::unique_ptr<plan::CompiledProgram> program;
  times.total = milliseconds([&] {
    graph::Graph graph;
    times.passes = milliseconds([&] { graph = graph::default_passes().run(written).graph; });
    program = compiler::make_compiled(graph);
  });
  const auto stage = [&](std::string_view name) {
    return recording.total_us("compile", name) / 1e3;
  };
  times.repeats = stage("find repeats") + stage("copy to repeats");
  times.rules = stage("rules");
  times.choose = stage("choose kernels");
  times.code = stage("code");
  for (const TraceEvent& event : recording.events()) {
    for (const auto& [key, value] : event.notes) {
      if (key == "e-nodes") times.e_nodes = static_cast<size_t>(*support::parse_int64(value));
      if (key == "from" && value == "compiler") times.kernels.push_back(event.duration_us / 1e3);
    }
  }
  return program;
}

/// The folder of this process, gone with it.
struct Folder {
  std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("luminal-compile-bench-{}", ::getpid()))
          .string();
  Folder() {
    std::filesystem::create_directories(path);
    // The user's cache is not ours to empty.
    ::setenv("LUMINAL_CACHE_DIR", path.c_str(), 1);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

constexpr const char* kUsage =
    "usage: compile_bench [--device D] [--filter TEXT] [--layers 2,32] [--search [SECONDS]]\n"
    "                     [--json FILE] [--commit TEXT]\n"
    "  --device D      what plans are made for: cpu\n"
    "  --filter TEXT   only networks whose name has this text\n"
    "  --layers 2,32   depths of language models (2,12,32)\n"
    "  --search [S]    how long each network is searched (10; 0: not at all)\n"
    "  --json FILE     write the rows there as well\n"
    "  --commit TEXT   what the rows say they were measured of\n";

constexpr const char* kColumns =
    "{:<28} {:>6} {:>8} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>8} "
    "{:>7} {:>6}\n";

void print_header() {
  fmt::print(kColumns, "network (times in ms)", "nodes", "first", "passes", "repeats", "rules",
             "e-nodes", "choose", "code", "kernels", "median", "warm", "reload", "prepare",
             "search", "again", "steps");
}

std::string shown(std::optional<double> ms) { return ms ? fmt::format("{:.1f}", *ms) : "-"; }

/// What a first run does once: packing weights and making what follows from them.
double prepare_time(plan::CompiledProgram& program) {
  graph::RunRequest request;
  std::map<std::string, graph::Array> inputs;
  for (const graph::Node& node : program.graph().nodes()) {
    if (node.op != graph::Op::kInput) continue;
    graph::Extents extents;
    for (const graph::Expr& extent : node.shape()) extents.push_back(*extent.constant_value());
    const std::string& name = node.attribute<graph::InputAttribute>().name;
    inputs.emplace(name, graph::Array(node.dtype(), extents));
    request.inputs[name] = &inputs.at(name);
  }
  const double first = milliseconds([&] { program.run(request); });
  return first - milliseconds([&] { program.run(request); });
}

/// What searching takes, as a user compiles: with nothing known, and to find it again.
struct SearchTimes {
  std::optional<double> search, again;
};

SearchTimes search_times(const graph::Graph& written, double seconds) {
  search::TuningDatabase database = search::TuningDatabase::in_memory();
  compiler::SearchOptions options{.seconds = seconds, .database = &database, .progress = false};
  const auto searched = [&] {
    compiler::make_searched(graph::default_passes().run(written).graph, {}, options);
  };
  SearchTimes times;
  times.search = milliseconds(searched);
  options.seconds = 0;
  times.again = milliseconds(searched);
  return times;
}

/// Prints one line and gives its rows.
std::vector<ResultRow> report(const CompileCase& network, const Folder& folder,
                              double search_seconds) {
  const graph::Graph written = network.write();
  codegen::default_kernel_cache().clear();
  compiler::default_choice_cache().clear();
  Times first, warm;
  compiled(written, first);
  const auto program = compiled(written, warm);
  const std::string file = folder.path + "/plan";
  plan::save_plan(program->plan(), file);
  const double reload = milliseconds([&] { plan::load_plan(plan::load_plan_file(file)); });
  std::optional<double> prepare;
  SearchTimes search;
  if (network.has_data) prepare = prepare_time(*program);
  if (search_seconds > 0 && !network.has_data) search = search_times(written, search_seconds);
  const double median = first.kernels.empty() ? 0 : support::median(first.kernels);
  fmt::print(kColumns, network.name, written.size(), shown(first.total), shown(first.passes),
             shown(first.repeats), shown(first.rules), first.e_nodes, shown(first.choose),
             shown(first.code), first.kernels.size(), shown(median), shown(warm.total),
             shown(reload), shown(prepare), shown(search.search), shown(search.again),
             program->plan().steps.size());
  std::fflush(stdout);
  std::vector<ResultRow> rows;
  const auto add = [&](const char* what, std::optional<double> ms) {
    if (!ms) return;
    ResultRow row{.suite = "compile", .name = network.name + ", " + what, .dtype = "f32"};
    row.e_nodes = first.e_nodes;
    row.ours = row.fast = row.compile = *ms * 1e3;
    rows.push_back(std::move(row));
  };
  add("first plan", first.total);
  add("warm plan", warm.total);
  add("plan file", reload);
  add("median kernel", median);
  add("prepare weights", prepare);
  add("search", search.search);
  add("search again", search.again);
  return rows;
}

/// "2,32" as numbers.
std::vector<int> parse_layers(const std::string& text) {
  std::vector<int> layers;
  for (const std::string_view each : support::split(text, ',')) {
    const auto count = support::parse_int64(each);
    if (!count || *count < 1 || *count > 1000)
      throw UserError("bench", "'{}' is no number of layers; --layers 2,32", each);
    layers.push_back(static_cast<int>(*count));
  }
  return layers;
}

void run(int argc, char** argv) {
  std::map<std::string, std::string> options = {{"--layers", "2,12,32"}, {"--device", "cpu"},
                                                {"--filter", ""},        {"--search", "10"},
                                                {"--json", ""},          {"--commit", ""}};
  for (int k = 1; k < argc; k += 2) {
    const bool has_value = k + 1 < argc && !std::string_view(argv[k + 1]).starts_with("--");
    if (argv[k] == std::string_view("--search") && !has_value) {
      --k;  // for as long as there is nothing said
      continue;
    }
    if (argv[k] == std::string_view("--help") || argv[k] == std::string_view("-h")) {
      fmt::print("{}", kUsage);
      return;
    }
    if (argv[k] == std::string_view("--peers"))
      throw UserError("bench",
                      "compile has no --peers: it times stages of our compiler on networks that no "
                      "peer has; ./run bench nets --peers compares what they run");
    const auto found = options.find(argv[k]);
    if (found == options.end() || !has_value)
      throw UserError("bench", "cannot understand '{}'\n{}", argv[k], kUsage);
    found->second = argv[k + 1];
  }
  check_device(options["--device"]);
  const double seconds = seconds_of("--search", options["--search"]);
  const std::vector<CompileCase> cases = compile_cases(parse_layers(options["--layers"]));
  std::vector<std::string> names;
  for (const CompileCase& each : cases) names.push_back(each.name);
  const std::vector<std::string> wanted = filtered(names, options["--filter"]);
  RowFile file(options["--json"], {.device = options["--device"],
                                   .processor = codegen::host_target().name,
                                   .commit = options["--commit"]});
  const Folder folder;
  print_header();
  for (const CompileCase& network : cases) {
    if (std::find(wanted.begin(), wanted.end(), network.name) == wanted.end()) continue;
    for (const ResultRow& each : report(network, folder, seconds)) file.add(each);
  }
}

}  // namespace
}  // namespace luminal::benchmarks

int main(int argc, char** argv) {
  try {
    luminal::benchmarks::run(argc, argv);
    return 0;
  } catch (const luminal::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
