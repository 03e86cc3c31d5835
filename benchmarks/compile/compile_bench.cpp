// What compiling takes as networks grow deeper: a GPT in prefill and a Llama in decode, of 2 to 64
// layers, stage by stage, with repeated layers looked at once and without. Counters say how much
// work there is; they must not grow with the layers. `plan` compiles every kernel, `warm` finds
// them on disk. `--layers 2,32` chooses depths, `--direct` adds the rows without outlining.
#include <fmt/format.h>

#include <chrono>
#include <cstring>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/outline_expand.h"
#include "luminal/rules/choices.h"
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

void report(bool decode, int layers, bool outline) {
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
}

}  // namespace
}  // namespace luminal::benchmarks

int main(int argc, char** argv) {
  std::vector<int> layers{2, 4, 8, 16, 32, 64};
  bool direct = false;
  for (int k = 1; k < argc; ++k) {
    if (std::strcmp(argv[k], "--direct") == 0) direct = true;
    if (std::strcmp(argv[k], "--layers") != 0 || k + 1 == argc) continue;
    layers.clear();
    for (const char* at = argv[++k]; at != nullptr; at = std::strchr(at, ',')) {
      if (*at == ',') ++at;
      layers.push_back(std::atoi(at));
    }
  }
  luminal::benchmarks::print_header();
  for (const bool decode : {false, true})
    for (const int count : layers) {
      luminal::benchmarks::report(decode, count, true);
      if (direct) luminal::benchmarks::report(decode, count, false);
    }
  return 0;
}
