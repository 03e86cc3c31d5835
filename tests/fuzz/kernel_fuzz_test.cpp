// Random graphs of every primitive, dtype and view under random cuts: what kernels compute must be
// what the oracle gives. The settings are those of fuzz_test.cpp.
#include <gtest/gtest.h>

#include <cstdlib>

#include "luminal/kernel/test_kernels.h"
#include "luminal/support/error.h"
#include "random_graph.h"

namespace luminal::fuzz {
namespace {

namespace kt = kernel::test;

int64_t setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody writes it
  return text == nullptr ? otherwise : std::atoll(text);
}

kt::Sample sample_of(uint64_t seed, int steps) {
  kt::Sample sample{random_graph(seed, steps), {}, {}};
  Random random(seed);
  sample.dims = random_dims(random, sample.graph);
  sample.inputs = random_inputs(random, sample.graph, sample.dims);
  return sample;
}

/// Checks every kernel of a few cuts of many graphs.
void fuzz_kernels(const kt::RunKernel& run, int64_t standard) {
  const int64_t first = setting("FUZZ_SEED", 1);
  int64_t kernels = 0, graphs = 0;
  for (int64_t i = 0; i < setting("FUZZ_ITERATIONS", standard); ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    SCOPED_TRACE(fmt::format("FUZZ_SEED={}", seed));
    const kt::Sample sample = sample_of(seed, 24);
    const kernel::GraphProgram program(sample.graph);
    const auto order = *kernel::topological_order(program);
    kernel::Tensors oracle;
    try {
      oracle = kt::oracle_values(sample, program, order);
    } catch (const UserError&) {
      continue;  // the graph itself fails for these dims, as the oracle may
    }
    ++graphs;
    std::mt19937_64 random(seed);
    for (double probability : {0.0, 0.5}) {
      kernel::Arena arena({.merge_reductions = false});
      const kernel::Cut cut = kt::random_cut(program, order, random, probability);
      kernels += kt::check_cut(arena, sample, program, order, cut, oracle, run, {});
      if (::testing::Test::HasFailure()) return;
    }
  }
  EXPECT_GT(kernels, 3 * graphs);
  EXPECT_GT(2 * graphs, setting("FUZZ_ITERATIONS", standard));
}

TEST(KernelFuzz, BodiesEqualTheOracle) { fuzz_kernels(kt::run_by_body, 150); }

// Online sums are rounded elsewhere, so they have tests of their own.
TEST(KernelFuzz, LoopNestsEqualTheOracle) { fuzz_kernels(kt::run_by_nest({.online = false}), 150); }

TEST(KernelFuzz, LoopNestsWithKeptRowsEqualTheOracle) {
  fuzz_kernels(kt::run_by_nest({.online = false, .interchange = false, .keep_rows = true}), 100);
}

}  // namespace
}  // namespace luminal::fuzz
