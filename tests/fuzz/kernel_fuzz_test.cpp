// Random graphs of every primitive, dtype and view under random cuts: what kernels compute must be
// what the oracle gives. The settings are those of fuzz_test.cpp.
#include <gtest/gtest.h>

#include "luminal/kernel/cut_search.h"
#include "luminal/kernel/test_kernels.h"
#include "luminal/support/error.h"
#include "random_graph.h"
#include "settings.h"

namespace luminal::fuzz {
namespace {

namespace kt = kernel::test;

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

// Without laws that round elsewhere a plan is exact, whatever it fuses.
TEST(KernelFuzz, EveryGraphHasAPlanThatEqualsTheOracle) {
  const int64_t first = setting("FUZZ_SEED", 1);
  for (int64_t i = 0; i < setting("FUZZ_ITERATIONS", 60); ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    SCOPED_TRACE(fmt::format("FUZZ_SEED={}", seed));
    const kt::Sample sample = sample_of(seed, 20);
    const kernel::GraphProgram program(sample.graph);
    const auto order = *kernel::topological_order(program);
    kernel::Tensors tensors;
    try {
      tensors = kt::oracle_values(sample, program, order);
    } catch (const UserError&) {
      continue;
    }
    const kernel::Tensors oracle = tensors;
    kernel::Arena arena({.merge_reductions = false});
    kernel::CutSearchOptions options;
    options.estimate.reassociate = false;
    options.machine = seed % 2 == 0 ? kernel::Machine::h200() : kernel::Machine::cpu(2);
    const kernel::CutPlan plan = kernel::search_cut(arena, program, options);
    for (const kernel::PlannedKernel& planned : plan.kernels) {
      const kernel::Estimate& estimate = planned.estimate;
      const kernel::Kernel& body = estimate.in_place_of ? planned.kernel : estimate.kernel;
      kt::run_by_nest(estimate.nest)(arena, body, sample.dims, tensors);
      for (kernel::NodeId node : planned.nodes)
        ASSERT_TRUE(kt::near(tensors.at(node), oracle.at(node), {}))
            << to_string(arena, body) << graph::to_text(sample.graph);
    }
  }
}

}  // namespace
}  // namespace luminal::fuzz
