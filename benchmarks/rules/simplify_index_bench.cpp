// What simplifying index expressions gains and what it takes, over the index expressions of real
// views (tests/rules/view_corpus.h). The counters are operations per entry before and after, in
// units of an addition; --benchmark_filter=report prints the table entry by entry.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include "luminal/rules/index_text.h"
#include "luminal/rules/plain_program.h"
#include "luminal/rules/simplify_index.h"
#include "tests/rules/view_corpus.h"

namespace luminal::rules {
namespace {

void simplify_corpus(benchmark::State& state) {
  const std::vector<CorpusEntry> entries = view_corpus();
  IndexSimplifier simplifier;
  int64_t before = 0, after = 0, runs = 0;
  uint64_t rows = 0;
  for (auto _ : state) {
    const CorpusEntry& entry = entries[static_cast<size_t>(runs++) % entries.size()];
    const Simplified result = simplifier.simplify(entry.exprs);
    before += result.cost_before;
    after += result.cost_after;
    rows += result.rows;
  }
  const auto per_run = [&](double sum) { return sum / static_cast<double>(runs); };
  state.counters["cost_before"] = per_run(static_cast<double>(before));
  state.counters["cost_after"] = per_run(static_cast<double>(after));
  state.counters["rows"] = per_run(static_cast<double>(rows));
}
BENCHMARK(simplify_corpus)->Unit(benchmark::kMicrosecond);

/// More terms than any view has: what the budget allows at most.
void simplify_wide_sum(benchmark::State& state) {
  Expr sum = 0;
  for (int k = 0; k < 14; ++k)
    sum += Expr::axis(k, 6 + k) * corpus::width() * (k % 4 + 1) * (k % 3 == 0 ? corpus::seq() : 4);
  const std::array exprs{sum + floor_div(sum, 12) * 5 + mod(sum, 7)};
  IndexSimplifier simplifier;
  for (auto _ : state) benchmark::DoNotOptimize(simplifier.simplify(exprs));
}
BENCHMARK(simplify_wide_sum)->Unit(benchmark::kMicrosecond);

void plain_corpus(benchmark::State& state) {
  const std::vector<CorpusEntry> entries = view_corpus();
  size_t runs = 0;
  for (auto _ : state)
    benchmark::DoNotOptimize(plain_program(entries[runs++ % entries.size()].exprs));
}
BENCHMARK(plain_corpus)->Unit(benchmark::kMicrosecond);

void load_rules(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(IndexSimplifier());
}
BENCHMARK(load_rules)->Unit(benchmark::kMicrosecond);

void print_code(const IndexProgram& program) {
  const IndexCode code = c_code(program);
  for (const auto& [name, text] : code.temporaries) fmt::print("      {} = {};\n", name, text);
  for (const std::string& text : code.results) fmt::print("      {}\n", text);
}

void report(benchmark::State& state) {
  for (auto _ : state) {
    IndexSimplifier simplifier;
    for (const CorpusEntry& entry : view_corpus()) {
      const Simplified result = simplifier.simplify(entry.exprs);
      fmt::print("{}: cost {} -> {}, {} rows, {}\n", entry.name, result.cost_before,
                 result.cost_after, result.rows, egraph::to_text(result.stop));
      fmt::print("    before\n");
      print_code(plain_program(entry.exprs));
      fmt::print("    after\n");
      print_code(result.program);
    }
    fmt::print("matches per rule\n{}", simplifier.statistics());
  }
}
BENCHMARK(report)->Iterations(1);

}  // namespace
}  // namespace luminal::rules
