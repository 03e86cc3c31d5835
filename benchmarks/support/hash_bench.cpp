// Throughput of stable hashing: bytes per second for long inputs, time per key for short ones.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "luminal/support/hash.h"

namespace luminal::support {
namespace {

void hash_bytes(benchmark::State& state) {
  const std::string bytes(static_cast<size_t>(state.range(0)), '\7');
  for (auto _ : state) benchmark::DoNotOptimize(hash64(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(hash_bytes)->RangeMultiplier(16)->Range(16, 1 << 20);

// The peer: the standard library's unstable hash of the same bytes.
void hash_bytes_std(benchmark::State& state) {
  const std::string bytes(static_cast<size_t>(state.range(0)), '\7');
  for (auto _ : state) benchmark::DoNotOptimize(std::hash<std::string_view>()(bytes));
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(hash_bytes_std)->RangeMultiplier(16)->Range(16, 1 << 20);

void hash_combine_key(benchmark::State& state) {
  uint64_t key = 1;
  for (auto _ : state) benchmark::DoNotOptimize(key = hash_combine(key, 42));
}
BENCHMARK(hash_combine_key);

}  // namespace
}  // namespace luminal::support
