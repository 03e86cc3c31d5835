#include <gtest/gtest.h>

#include "luminal/codegen/llvm/attention_for_tests.h"
#include "luminal/codegen/llvm/attention_kernel.h"
#include "luminal/codegen/llvm/launches_for_tests.h"
#include "luminal/kernel/test_kernels.h"

namespace luminal::codegen {
namespace {

using graph::Array;
using graph::DType;
using kernel::Tensors;
using kernel::test::Closeness;
using kernel::test::Sample;
using symbolic::Expr;

struct Outcome {
  bool matched = false;
  Tensors tensors;
  Tensors oracle;
  graph::NodeId result;
};

/// Runs an example as one kernel by the template, and by the oracle.
Outcome run(const AttentionExample& example, const graph::DimValues& dims, const CpuTarget& target,
            const std::function<void(std::map<std::string, Array>&)>& change = {},
            const std::optional<Schedule>& schedule = std::nullopt) {
  AttentionWriter writer(example);
  Outcome outcome;
  outcome.result = writer.write();
  Sample sample;
  sample.graph = writer.graph;
  sample.dims = dims;
  const symbolic::Values values(dims.begin(), dims.end());
  std::mt19937_64 random(7);
  for (const char* name : {"q", "k", "v", "mask"}) {
    const auto input = sample.graph.find_input(name);
    if (!input) continue;
    const graph::TensorType& type = sample.graph.node(*input).type;
    graph::Extents extents;
    for (const Expr& extent : type.shape) extents.push_back(symbolic::evaluate(extent, values));
    Array array(type.dtype, extents);
    for (int64_t i = 0; i < array.size(); ++i)
      kernel::store(array, i, {std::uniform_real_distribution<>(-2, 2)(random), 0});
    sample.inputs.emplace(name, std::move(array));
  }
  if (change) change(sample.inputs);
  const kernel::GraphProgram program(sample.graph);
  const auto order = *kernel::topological_order(program);
  outcome.oracle = kernel::test::oracle_values(sample, program, order);
  kernel::Arena arena;
  const auto derived =
      kernel::derive(arena, program, kernel::smallest_cut(program, order), outcome.result);
  const auto& kernel = std::get<kernel::Kernel>(derived);
  const auto code = attention_kernel(arena, kernel, target, {.dims = dims, .schedule = schedule});
  if (!code) return outcome;
  outcome.matched = true;
  for (const auto& [tensor, value] : outcome.oracle)
    if (tensor != outcome.result) outcome.tensors.emplace(tensor, value);
  run_launches(arena, kernel, *code, target, dims, outcome.tensors);
  return outcome;
}

void check(const AttentionExample& example, const Closeness& closeness = {2e-6, 2e-5},
           const graph::DimValues& dims = {}, const CpuTarget& target = host_target()) {
  const Outcome outcome = run(example, dims, target);
  ASSERT_TRUE(outcome.matched);
  EXPECT_TRUE(kernel::test::near(outcome.tensors.at(outcome.result),
                                 outcome.oracle.at(outcome.result), closeness));
}

TEST(Attention, EqualsTheOracleForOddSizes) {
  for (const int64_t queries : {6, 31, 100})
    for (const int64_t keys : {2, 7, 40, 300})
      for (const int64_t depth : {8, 16, 40, 64}) {
        SCOPED_TRACE(fmt::format("{} queries, {} keys, depth {}", queries, keys, depth));
        check({.queries = queries, .keys = keys, .depth = depth});
        if (HasFatalFailure()) return;
      }
}

TEST(Attention, EqualsTheOracleOnEveryTarget) {
  for (const char* name : {"x86-64", "haswell", "skylake-avx512"})
    if (runs_here(cpu_target(name)))
      for (const DType dtype : {DType::kF32, DType::kBF16})
        check({.dtype = dtype, .queries = 21, .keys = 35, .depth = 24, .causal = true},
              dtype == DType::kF32 ? Closeness{2e-6, 2e-5} : Closeness{0.03, 0.03}, {},
              cpu_target(name));
}

TEST(Attention, MasksWindowsAndCaps) {
  for (const int64_t groups : {1, 3})
    for (const bool causal : {false, true})
      for (const int64_t window : {0, 9})
        for (const double soft_cap : {0.0, 5.0})
          for (const bool mask : {false, true}) {
            SCOPED_TRACE(fmt::format("{} {} {} {} {}", groups, causal, window, soft_cap, mask));
            check({.groups = groups,
                   .queries = 70,
                   .keys = 90,
                   .past = 20,
                   .causal = causal,
                   .window = window,
                   .soft_cap = soft_cap,
                   .mask = mask});
            if (HasFatalFailure()) return;
          }
}

TEST(Attention, LongRowsTakeSeveralBlocks) {
  check({.kv_heads = 1, .queries = 130, .keys = 1000, .depth = 32});
  check({.kv_heads = 1, .queries = 400, .keys = 700, .depth = 32, .past = 300, .causal = true});
}

TEST(Attention, NarrowFloats) {
  for (const DType dtype : {DType::kBF16, DType::kF16})
    for (const bool f32_softmax : {false, true})
      for (const int64_t keys : {33, 300})
        check({.dtype = dtype,
               .groups = 2,
               .queries = 40,
               .keys = keys,
               .depth = 64,
               .past = keys - 40 > 0 ? keys - 40 : 0,
               .causal = true,
               .f32_softmax = f32_softmax},
              {0.03, 0.03});
}

TEST(Attention, SymbolicSizes) {
  const Expr s = Expr::variable("s", {0, 4096});
  const Expr p = Expr::variable("p", {0, 4096});
  for (const auto& [seq, past] : {std::pair<int64_t, int64_t>{7, 0}, {50, 13}, {1, 300}, {0, 4}})
    check({.queries = s, .keys = p + s, .past = p, .causal = true}, {2e-6, 2e-5},
          {{"s", seq}, {"p", past}});
}

TEST(Attention, RowsWithoutAnyKeyAreNan) {
  // With a window of 1 behind the last key, later queries see none.
  const Outcome outcome =
      run({.queries = 40, .keys = 20, .causal = true, .window = 3}, {}, host_target());
  ASSERT_TRUE(outcome.matched);
  EXPECT_TRUE(kernel::test::near(outcome.tensors.at(outcome.result),
                                 outcome.oracle.at(outcome.result), {2e-6, 2e-5}));
  EXPECT_TRUE(std::isnan(outcome.tensors.at(outcome.result).at(39 * 16).as_double()));
}

TEST(Attention, NanInOneKeyReachesTheQueriesThatSeeIt) {
  const Outcome outcome = run({.queries = 30, .keys = 30, .causal = true}, {}, host_target(),
                              [](std::map<std::string, Array>& inputs) {
                                kernel::store(inputs.at("k"), 10 * 16, {std::nan(""), 0});
                              });
  ASSERT_TRUE(outcome.matched);
  EXPECT_TRUE(kernel::test::near(outcome.tensors.at(outcome.result),
                                 outcome.oracle.at(outcome.result), {2e-6, 2e-5}));
  EXPECT_FALSE(std::isnan(outcome.tensors.at(outcome.result).at(9 * 16).as_double()));
  EXPECT_TRUE(std::isnan(outcome.tensors.at(outcome.result).at(10 * 16).as_double()));
}

TEST(Attention, ALargeScoreCountsWhereverItsKeyLies) {
  // Relative to any smaller score its weight would be infinite.
  for (const int64_t key : {0, 1, 6, 7, 8, 255, 256, 263, 299}) {
    const AttentionExample example{.kv_heads = 1, .queries = 70, .keys = 300};
    const Outcome outcome = run(example, {}, host_target(), [&](auto& inputs) {
      Array& queries = inputs.at("q");
      for (int64_t i = 0; i < queries.size(); ++i) kernel::store(queries, i, {1, 0});
      for (int64_t i = 0; i < example.depth; ++i)
        kernel::store(inputs.at("k"), key * example.depth + i, {100, 0});
    });
    ASSERT_TRUE(outcome.matched);
    EXPECT_TRUE(kernel::test::near(outcome.tensors.at(outcome.result),
                                   outcome.oracle.at(outcome.result), {2e-6, 2e-5}))
        << "key " << key;
  }
}

TEST(Attention, FewQueriesReadKeysInRuns) {
  for (const int64_t queries : {1, 3})
    for (const int64_t keys : {2, 63, 64, 511, 1200})
      for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16})
        for (const int64_t groups : {1, 4})
          for (const bool causal : {false, true}) {
            SCOPED_TRACE(fmt::format("{} queries, {} keys {} {}", queries, keys, groups, causal));
            check({.dtype = dtype,
                   .groups = groups,
                   .queries = queries,
                   .keys = keys,
                   .depth = 64,
                   .past = keys - 1,
                   .causal = causal,
                   .window = causal ? 700 : 0},
                  dtype == DType::kF32 ? Closeness{2e-6, 2e-5} : Closeness{0.03, 0.03});
            if (HasFatalFailure()) return;
          }
}

TEST(Attention, DecodingWithSymbolicPast) {
  const Expr p = Expr::variable("p", {0, 4096});
  for (const int64_t past : {0, 1, 77, 600})
    check({.groups = 2, .queries = 1, .keys = p + 1, .depth = 32, .past = p, .causal = true},
          {2e-6, 2e-5}, {{"p", past}});
}

/// By matrix registers, or by loops that do as they do.
void check_matrices(AttentionExample example, const graph::DimValues& dims = {},
                    const std::function<void(std::map<std::string, Array>&)>& change = {}) {
  example.dtype = DType::kBF16;
  for (const char* blocks : {"query_block=64 key_block=64", "query_block=96 key_block=128"}) {
    SCOPED_TRACE(blocks);
    const auto schedule =
        Schedule::parse(fmt::format("attention_matrices chunk=1 {} threads=0", blocks));
    const Outcome outcome = run(example, dims, host_target(), change, schedule);
    ASSERT_TRUE(outcome.matched);
    EXPECT_TRUE(kernel::test::near(outcome.tensors.at(outcome.result),
                                   outcome.oracle.at(outcome.result), {0.03, 0.03}));
  }
}

class MatrixAttention : public testing::Test {
 protected:
  void SetUp() override {
    if (!host_target().has(runtime::CpuFeature::kAvx512bf16))
      GTEST_SKIP() << "this processor does not multiply pairs of bf16";
  }
};

TEST_F(MatrixAttention, EqualsTheOracleForOddSizes) {
  for (const int64_t queries : {1, 31, 100})
    for (const int64_t keys : {2, 7, 40, 200})
      for (const int64_t depth : {8, 33, 64, 80}) {
        SCOPED_TRACE(fmt::format("{} queries, {} keys, depth {}", queries, keys, depth));
        check_matrices({.kv_heads = 1, .queries = queries, .keys = keys, .depth = depth});
        if (HasFailure()) return;
      }
}

TEST_F(MatrixAttention, MasksWindowsAndCaps) {
  for (const bool causal : {false, true})
    for (const int64_t window : {0, 9})
      for (const double soft_cap : {0.0, 5.0})
        for (const bool mask : {false, true})
          for (const bool f32_softmax : {false, true}) {
            SCOPED_TRACE(
                fmt::format("{} {} {} {} {}", causal, window, soft_cap, mask, f32_softmax));
            check_matrices({.groups = 2,
                            .queries = 70,
                            .keys = 190,
                            .past = 120,
                            .causal = causal,
                            .window = window,
                            .soft_cap = soft_cap,
                            .mask = mask,
                            .f32_softmax = f32_softmax});
            if (HasFailure()) return;
          }
}

TEST_F(MatrixAttention, SymbolicSizes) {
  const Expr s = Expr::variable("s", {0, 4096});
  const Expr p = Expr::variable("p", {0, 4096});
  for (const auto& [seq, past] : {std::pair<int64_t, int64_t>{7, 0}, {50, 13}, {1, 300}, {0, 4}})
    check_matrices({.queries = s, .keys = p + s, .past = p, .causal = true},
                   {{"s", seq}, {"p", past}});
}

TEST_F(MatrixAttention, RowsWithoutAnyKeyAreNanAndNanStaysWhereItIsSeen) {
  check_matrices({.queries = 40, .keys = 20, .causal = true, .window = 3});
  check_matrices({.queries = 70, .keys = 70, .causal = true}, {}, [](auto& inputs) {
    kernel::store(inputs.at("k"), 40 * 16, {std::nan(""), 0});
    kernel::store(inputs.at("v"), 50 * 16, {std::numeric_limits<double>::infinity(), 0});
  });
}

TEST_F(MatrixAttention, ALargeScoreCountsWhereverItsKeyLies) {
  for (const int64_t key : {0, 15, 16, 31, 32, 63, 64, 127, 128, 199})
    check_matrices({.kv_heads = 1, .queries = 70, .keys = 200}, {}, [&](auto& inputs) {
      Array& queries = inputs.at("q");
      for (int64_t i = 0; i < queries.size(); ++i) kernel::store(queries, i, {1, 0});
      for (int64_t i = 0; i < 16; ++i) kernel::store(inputs.at("k"), key * 16 + i, {100, 0});
    });
}

TEST_F(MatrixAttention, OtherDtypesAndSizesAreRefused) {
  const auto blocks = [](const char* text) { return Schedule::parse(text); };
  EXPECT_THROW(run({.queries = 40, .keys = 40}, {}, host_target(), {},
                   blocks("attention_matrices chunk=1 key_block=64 query_block=64 threads=0")),
               UserError);
  EXPECT_THROW(run({.dtype = DType::kBF16, .queries = 40, .keys = 40}, {}, host_target(), {},
                   blocks("attention_matrices chunk=1 key_block=40 query_block=64 threads=0")),
               UserError);
  EXPECT_THROW(run({.dtype = DType::kBF16, .queries = 40, .keys = 40}, {}, host_target(), {},
                   blocks("attention_matrices chunk=1 key_block=64 query_block=48 threads=0")),
               UserError);
}

TEST(Attention, OtherKernelsAreLeftAlone) {
  graph::Graph graph;
  const graph::NodeId x = graph.add_input("x", DType::kF32, {40, 50});
  const graph::NodeId y = graph.add(graph::Op::kSum, {graph.whole(x)}, graph::ReduceAttribute{1});
  graph.add_output("y", graph.whole(y));
  const kernel::GraphProgram program(graph);
  const auto order = *kernel::topological_order(program);
  kernel::Arena arena;
  const auto derived = kernel::derive(arena, program, kernel::smallest_cut(program, order), y);
  const auto plan = match_attention(arena, std::get<kernel::Kernel>(derived));
  EXPECT_FALSE(plan.has_value());
  EXPECT_EQ(plan.why(), "it is no sum of products below a softmax");
}

}  // namespace
}  // namespace luminal::codegen
