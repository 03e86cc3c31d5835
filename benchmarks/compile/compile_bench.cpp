// What compiling takes as networks grow deeper: a GPT in prefill and a Llama in decode, of 2 to 64
// layers, stage by stage, with repeated layers looked at once and without. Counters say how much
// work there is; they must not grow with the layers. `plan` compiles every kernel, `warm` finds
// them on disk. `--layers 2,32` chooses depths, `--direct on` adds the rows without outlining,
// `--json FILE` and `--commit TEXT` write rows as the other suites do.
#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <map>
#include <sstream>

#include "benchmarks/result_rows.h"
#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/outline_expand.h"
#include "luminal/rules/choices.h"
#include "luminal/support/error.h"
#include "tests/outline/networks.h"

namespace luminal::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;
using networks::IR;

/// Runs a stage and gives its time in milliseconds.
template <typename Function>
double milliseconds(const Function& function) {
  const Clock::time_point begin = Clock::now();
  function();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

IR written(bool decode, int layers, double& build, double& passes) {
  networks::Sizes sizes{.tokens = decode ? 1 : 128,
                        .heads = 12,
                        .kv_heads = 12,
                        .d = 64,
                        .hidden = 3072,
                        .vocabulary = 50257,
                        .cache = 1024};
  IR raw, ir;
  build = milliseconds([&] {
    raw = decode ? networks::written_llama(layers, sizes) : networks::written_gpt(layers, sizes);
  });
  passes = milliseconds([&] { ir = graph::default_passes().run(raw).graph; });
  return ir;
}

void print_header() {
  fmt::print(
      "{:<6} {:>6} {:<8} {:>6} {:>8} {:>6} {:>7} {:>8} {:>7} {:>7} {:>7} {:>9} {:>8} {:>7} {:>8} "
      "{:>6}\n",
      "model", "layers", "", "nodes", "searched", "write", "passes", "outline", "rules", "e-nodes",
      "search", "estimated", "plan", "warm", "compiled", "steps");
}

/// Prints one line and gives its rows.
std::vector<ResultRow> report(bool decode, int layers, bool outline) {
  double write = 0, passes = 0;
  const IR graph = written(decode, layers, write, passes);
  compiler::Outline found;
  compiler::ReducedGraph reduced;
  const double find = milliseconds([&] {
    if (outline) found = compiler::find_outline(graph);
    reduced = compiler::reduce(graph, found);
  });
  std::optional<rules::Choices> choices;
  const double rules = milliseconds([&] { choices.emplace(rules::choices(reduced.graph)); });
  const size_t e_nodes = choices->stats.nodes;
  size_t estimated = 0;
  const double search = milliseconds([&] {
    compiler::assign_parts(choices->program, found, reduced, {choices->place, choices->outputs});
    kernel::Arena arena;
    kernel::CutSearchOptions options;
    options.machine = kernel::Machine::cpu(2);
    estimated = kernel::search_choice(arena, choices->program, options).estimated;
  });
  compiler::Plan plan;
  const double total = milliseconds(
      [&] { plan = compiler::build_plan(graph, {.outline = outline, .cache = false}); });
  compiler::build_plan(graph, {.outline = outline});
  const double warm = milliseconds([&] { compiler::build_plan(graph, {.outline = outline}); });
  fmt::print(
      "{:<6} {:>6} {:<8} {:>6} {:>8} {:>6.1f} {:>7.1f} {:>8.2f} {:>7.1f} {:>7} {:>7.1f} {:>9} "
      "{:>8.1f} {:>7.1f} {:>8} {:>6}\n",
      decode ? "llama" : "gpt", layers, outline ? "outlined" : "direct", graph.size(),
      reduced.graph.size(), write, passes, find, rules, e_nodes, search, estimated, total, warm,
      plan.kernels.size(), plan.steps.size());
  std::fflush(stdout);
  const std::string name = fmt::format("{} {} layers{}", decode ? "llama decode" : "gpt prefill",
                                       layers, outline ? "" : " direct");
  ResultRow first{.suite = "compile", .name = name + " first plan", .dtype = "f32"};
  first.e_nodes = e_nodes;
  first.ours = first.fast = first.compile = total * 1e3;
  ResultRow again = first;
  again.name = name + " warm plan";
  again.ours = again.fast = again.compile = warm * 1e3;
  return {first, again};
}

/// "2,32" as numbers.
std::vector<int> parse_layers(const std::string& text) {
  std::vector<int> layers;
  std::stringstream stream(text);
  for (std::string each; std::getline(stream, each, ',');) {
    const int count = std::atoi(each.c_str());
    if (count < 1) throw UserError("bench", "'{}' is no number of layers; --layers 2,32", each);
    layers.push_back(count);
  }
  return layers;
}

void run(int argc, char** argv) {
  std::map<std::string, std::string> options = {
      {"--layers", "2,4,8,16,32,64"}, {"--direct", ""}, {"--json", ""}, {"--commit", ""}};
  for (int k = 1; k < argc; k += 2) {
    const auto found = options.find(argv[k]);
    if (found == options.end() || k + 1 == argc)
      throw UserError("bench",
                      "cannot understand '{}'\nusage: compile_bench [--layers 2,32] [--direct on] "
                      "[--json FILE] [--commit TEXT]",
                      argv[k]);
    found->second = argv[k + 1];
  }
  std::vector<ResultRow> rows;
  const auto add = [&](bool decode, int layers, bool outline) {
    for (ResultRow& row : report(decode, layers, outline)) rows.push_back(std::move(row));
  };
  print_header();
  for (const bool decode : {false, true})
    for (const int layers : parse_layers(options["--layers"])) {
      add(decode, layers, true);
      if (!options["--direct"].empty()) add(decode, layers, false);
    }
  if (!options["--json"].empty()) write_rows(options["--json"], rows, "cpu", options["--commit"]);
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
