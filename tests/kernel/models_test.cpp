// Networks under random cuts: bodies, loop nests and laws against the oracle.
#include <gtest/gtest.h>

#include "luminal/kernel/laws.h"
#include "models.h"

namespace luminal::kernel {
namespace {

using models::IR;
using test::Closeness;

constexpr Closeness kClose{1e-5, 1e-4};

std::vector<std::pair<std::string, IR>> small_models() {
  const Dim seq = Dim::variable("seq", {1, 4});
  models::BlockSizes decode;
  decode.tokens = 1;
  models::BlockSizes grouped{.tokens = seq, .heads = 4, .kv_heads = 2};
  return {{"softmax", models::softmax(3, seq)},
          {"log_softmax", models::log_softmax(2, 5)},
          {"layer_norm", models::layer_norm(3, 5)},
          {"rms_norm", models::rms_norm(seq, 4)},
          {"mlp", models::mlp(2, 3, 4, 2)},
          {"cnn", models::cnn(1, 4, 2)},
          {"attention", models::attention(2, 2, 3, 3, 2)},
          {"gpt", models::gpt_block({.tokens = seq})},
          {"llama_decode", models::llama_block(decode)},
          {"llama_prefill", models::llama_block(grouped)}};
}

/// Every model under several random cuts.
void check_models(const test::RunKernel& run, int cuts, double most = 1.0) {
  for (const auto& [name, graph] : small_models()) {
    SCOPED_TRACE(name);
    const test::Sample sample = models::sample_of(graph, 7);
    const GraphProgram program(sample.graph);
    const std::vector<NodeId> order = *topological_order(program);
    const Tensors oracle = test::oracle_values(sample, program, order);
    std::mt19937_64 random(11);
    for (int k = 0; k < cuts; ++k) {
      Arena arena;
      const double probability = 0.25 + (most - 0.25) * k / cuts;
      const Cut cut = test::random_cut(program, order, random, probability);
      test::check_cut(arena, sample, program, order, cut, oracle, run, kClose);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(KernelModels, BodiesUnderRandomCutsEqualTheOracle) { check_models(test::run_by_body, 8); }

TEST(KernelModels, NestsUnderRandomCutsEqualTheOracle) {
  check_models(test::run_by_nest({.online = false}), 8);
}

TEST(KernelModels, OnlineNestsUnderRandomCutsEqualTheOracle) {
  check_models(test::run_by_nest({}), 8);
}

TEST(KernelModels, NestsThatKeepRowsEqualTheOracle) {
  check_models(test::run_by_nest({.keep_rows = true}), 8);
}

TEST(KernelModels, EveryLawKeepsWhatKernelsCompute) {
  for (const Law& law : all_laws()) {
    SCOPED_TRACE(law.name);
    const auto run = [&](Arena& arena, const Kernel& kernel, const graph::DimValues& dims,
                         Tensors& tensors) {
      const Kernel changed = law.apply(arena, kernel).value_or(kernel);
      run_nest(arena, build_nest(arena, changed), dims, tensors);
    };
    check_models(run, 3);
  }
}

}  // namespace
}  // namespace luminal::kernel
