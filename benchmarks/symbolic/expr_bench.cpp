// The questions that view algebra puts to symbolic expressions, and the evaluation of the answers.
// Normalising and proving must stay within microseconds, compiled evaluation within nanoseconds.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>

#include "luminal/symbolic/evaluate.h"
#include "luminal/symbolic/expr.h"
#include "luminal/symbolic/text.h"

namespace luminal::symbolic {
namespace {

const Expr kSeq = Expr::variable("seq", {1, 1 << 20});
const Expr kPast = Expr::variable("past", {0, 1 << 20});

/// The index of a head in a merged (seq, heads * width) tensor that is split and merged again.
Expr split_and_merge(const Expr& flat) {
  const Expr row = floor_div(flat, 4096);
  const Expr head = floor_div(mod(flat, 4096), 128);
  return row * 4096 + head * 128 + mod(flat, 128);
}

void normalise_split_and_merge(benchmark::State& state) {
  const Expr flat = Expr::axis(0, kSeq * 4096);
  for (auto _ : state) benchmark::DoNotOptimize(split_and_merge(flat));
}
BENCHMARK(normalise_split_and_merge);

void normalise_symbolic_concat(benchmark::State& state) {
  const Expr row = Expr::axis(0, kPast + kSeq);
  for (auto _ : state) {
    benchmark::DoNotOptimize((row - kPast) * 128 + (kPast + kSeq) * 64 - kSeq * 64);
  }
}
BENCHMARK(normalise_symbolic_concat);

void prove_padding_covers(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(provably_ge(ceil_div(kSeq, 8) * 8, kSeq));
}
BENCHMARK(prove_padding_covers);

void parse_text(benchmark::State& state) {
  const std::array symbols{kSeq, kPast};
  for (auto _ : state) benchmark::DoNotOptimize(parse("(past + seq) / 8 * 8 + seq % 8", symbols));
}
BENCHMARK(parse_text);

/// An index that no normal form removes: a window over a tensor with a symbolic row length.
Expr window_index() {
  const Expr row = Expr::axis(0, kSeq);
  const Expr column = Expr::axis(1, kSeq);
  return floor_div(row * kSeq + column, 16) * 32 + mod(row * 3 + column, 16);
}

void evaluate_by_name(benchmark::State& state) {
  const Values values{{"i0", 5}, {"i1", 7}, {"seq", 100}};
  const Expr index = window_index();
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(index, values));
}
BENCHMARK(evaluate_by_name);

void evaluate_compiled(benchmark::State& state) {
  const std::array slots{Expr::axis(0, kSeq), Expr::axis(1, kSeq), kSeq};
  const CompiledExpr index(window_index(), slots);
  std::array<int64_t, 3> values{5, 7, 100};
  for (auto _ : state) {
    benchmark::DoNotOptimize(values.data());
    benchmark::DoNotOptimize(index(values));
  }
}
BENCHMARK(evaluate_compiled);

// The peer: the same arithmetic as the compiler writes it, without checks.
void evaluate_native(benchmark::State& state) {
  std::array<int64_t, 3> values{5, 7, 100};
  for (auto _ : state) {
    benchmark::DoNotOptimize(values.data());
    const auto [row, column, seq] = values;
    benchmark::DoNotOptimize((row * seq + column) / 16 * 32 + (row * 3 + column) % 16);
  }
}
BENCHMARK(evaluate_native);

}  // namespace
}  // namespace luminal::symbolic
