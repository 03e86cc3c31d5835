// Each body law against the oracle on the data where laws go wrong: rows of -inf, NaN, infinities,
// nothing at all.
#include <gtest/gtest.h>

#include <limits>

#include "checks.h"
#include "luminal/tensor/build.h"

namespace luminal::kernel {
namespace {

using luminal::Graph;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Rows on which a softmax has something to get wrong.
graph::Array hard_rows(int64_t columns) {
  const std::vector<std::vector<double>> patterns{
      {1, 2, 3, 4},        {-kInf, -kInf, 1, 2}, {-kInf, -kInf, -kInf, -kInf},
      {kInf, 1, 2, 3},     {1, kNaN, 2, 3},      {-kInf, kNaN, -kInf, 0},
      {-1e30, 1e30, 0, 1}, {5, -kInf, 6, -kInf}, {-kInf, kInf, -kInf, 1}};
  std::vector<double> values;
  for (const auto& pattern : patterns)
    for (int64_t k = 0; k < columns; ++k)
      values.push_back(pattern[static_cast<size_t>(k) % pattern.size()]);
  return graph::Array::from<double>(DType::kF32, {static_cast<int64_t>(patterns.size()), columns},
                                    values);
}

Kernel whole(Arena& arena, const graph::Graph& graph) {
  const GraphProgram program(graph);
  const Cut cut = smallest_cut(program, *topological_order(program));
  return std::get<Kernel>(derive(arena, program, cut, program.output(0)));
}

int online_loops(const std::vector<Statement>& block) {
  int count = 0;
  for (const Statement& statement : block)
    count += (statement.online ? 1 : 0) + online_loops(statement.body);
  return count;
}

TEST(OnlineLaw, SoftmaxEqualsTheOracleOnHardRows) {
  for (int64_t columns : {0, 1, 3, 4, 9}) {
    SCOPED_TRACE(columns);
    Graph g;
    const Dim n = g.dim("n", 0, 16);
    Tensor x = g.input("x", {9, n});
    test::Sample sample{
        graph_of({luminal::softmax(x, -1), luminal::log_softmax(x, -1)}), {{"n", columns}}, {}};
    sample.inputs.emplace("x", hard_rows(columns));
    expect_every_way_right(sample, {1e-6, 1e-5});
  }
}

TEST(OnlineLaw, TheSumItselfIsNaNForARowOfMinusInfinity) {
  Graph g;
  Tensor x = g.input("x", {9, 4});
  Tensor total = sum(exp(x - max(x, 1, true)), 1);
  test::Sample sample{graph_of({total}), {}, {}};
  sample.inputs.emplace("x", hard_rows(4));
  Arena arena;
  EXPECT_EQ(online_loops(build_nest(arena, whole(arena, sample.graph)).body), 1);
  expect_every_way_right(sample, {1e-6, 1e-5});
}

TEST(OnlineLaw, WeightedSumsJoinTheMaximum) {
  Graph g;
  Tensor x = g.input("x", {9, 4});
  Tensor w = g.input("w", {4, 3});
  Tensor e = exp(x - max(x, 1, true));
  Tensor mixed = matmul(e, w) / sum(e, 1, true);
  test::Sample sample{graph_of({mixed}), {}, {}};
  sample.inputs.emplace("x", hard_rows(4));
  sample.inputs.emplace("w", models::sample_of(sample.graph, 3).inputs.at("w"));
  Arena arena;
  const Nest nest = build_nest(arena, whole(arena, sample.graph));
  EXPECT_EQ(online_loops(nest.body), 1);
  EXPECT_EQ(nest.accumulators.size(), 3U);
  expect_every_way_right(sample, {1e-6, 1e-5});
}

TEST(OnlineLaw, AnotherExponentDoesNotMatch) {
  Graph g;
  Tensor x = g.input("x", {9, 4});
  Tensor m = max(x, 1, true);
  for (const Tensor& total : {sum(exp(x * 2.0 - m), 1), sum(exp(x - m) + x, 1),
                              sum(exp(x - m) * m, 1), sum(exp(x - m + 1.0), 1)}) {
    Arena arena;
    EXPECT_EQ(online_loops(build_nest(arena, whole(arena, graph_of({total}))).body), 0);
  }
}

TEST(FactorLaw, TheScaleOfCodesLeavesTheSum) {
  Graph g;
  Tensor q = g.input("q", {4, 8}, u8), x = g.input("x", {8});
  Tensor c = g.input("c", {4, 1}), d = g.input("d", {4, 1});
  const graph::Graph ir = graph_of({sum((cast(q, f32) - 128.0) * c / d * x, 1)});
  Arena arena;
  const std::optional<Kernel> after = factor_invariants(arena, whole(arena, ir));
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(to_string(arena, *after),
            "s1 = sum r1<8: ((f32(t0[i0, r1]) + (128 * -1)) * t1[r1])\n"
            "t12[i0] = ((t2[i0, 0] * s1) / t3[i0, 0])\n");
  EXPECT_FALSE(factor_invariants(arena, *after).has_value());
  expect_every_way_right(models::sample_of(ir, 5), {1e-5, 1e-4});
}

TEST(FactorLaw, TheTotalOfASoftmaxLeavesTheSumAndNoOtherDivisorDoes) {
  Graph g;
  Tensor x = g.input("x", {4, 8}), v = g.input("v", {4, 8}), mask = g.input("mask", {4, 8});
  const auto leaves = [&](const Tensor& y) {
    Arena arena;
    return factor_invariants(arena, whole(arena, graph_of({y}))).has_value();
  };
  Tensor weights = exp(x - max(x, 1, true));
  EXPECT_TRUE(leaves(sum(softmax(x) * v, 1)));
  EXPECT_TRUE(leaves(sum(weights * recip(sum(weights, 1, true)) * v, 1)));
  // These totals may be far below 1, or as large as f32 can be.
  EXPECT_FALSE(leaves(sum(weights * v / sum(weights * mask, 1, true), 1)));
  EXPECT_FALSE(leaves(sum(exp(x) / sum(exp(x), 1, true) * v, 1)));
  expect_every_way_right(models::sample_of(graph_of({sum(softmax(x) * v, 1)}), 5), {1e-5, 1e-4});
}

TEST(FactorLaw, WhatMayKeepASumWithinRangeStays) {
  Graph g;
  Tensor x = g.input("x", {4, 8}), w = g.input("w", {8}), c = g.input("c", {4, 1});
  Tensor word = g.input("word", {4, 8}, i32);
  Tensor rms = sqrt(mean(square(x), 1, true));
  for (const Tensor& y : {sum(x * c, 1), sum(x / c, 1), sum(x * 0.1, 1), sum(x / rms * w, 1),
                          sum(square(x / c), 1), sum(cast(word, f32) * c * w, 1)}) {
    Arena arena;
    EXPECT_FALSE(factor_invariants(arena, whole(arena, graph_of({y}))).has_value());
  }
  Arena arena;
  Tensor digits = cast(word & 15, f32);
  EXPECT_TRUE(factor_invariants(arena, whole(arena, graph_of({sum(digits * c * w, 1)}))));
}

TEST(FactorLaw, TheScaleOfANormLeavesAProductUnlessItMayBeHugeOrThereAreTwo) {
  Graph g;
  Tensor x = g.input("x", {4, 8}), z = g.input("z", {4, 8}), w = g.input("w", {8});
  const auto leaves = [&](const Tensor& y) {
    Arena arena;
    return factor_invariants(arena, whole(arena, graph_of({y}))).has_value();
  };
  const auto scale = [](const Tensor& t, double epsilon) {
    return rsqrt(mean(square(t), 1, true) + epsilon);
  };
  EXPECT_TRUE(leaves(sum(rms_norm(x, w, 1e-6) * w, 1)));
  EXPECT_TRUE(leaves(sum(x * scale(x, 1e-12) * w, 1)));
  EXPECT_TRUE(leaves(sum(x / sqrt(sum(square(x), 1, true) + 1e-5) * w, 1)));
  EXPECT_FALSE(leaves(sum(x * scale(x, 1e-20) * w, 1)));
  EXPECT_FALSE(leaves(sum(x * scale(z, 1e-6) * w, 1)));
  EXPECT_FALSE(leaves(sum(x * scale(square(x), 1e-6) * w, 1)));
  EXPECT_FALSE(leaves(sum(x * scale(x, 1e-6) * (z * scale(z, 1e-6)), 1)));
  EXPECT_FALSE(leaves(sum(square(x * scale(x, 1e-6)), 1)));
  expect_every_way_right(models::sample_of(graph_of({sum(rms_norm(x, w, 1e-6) * w, 1)}), 5),
                         {1e-5, 1e-4});
}

TEST(FactorLaw, NothingLeavesASumThatMayBeEmpty) {
  Graph g;
  const auto leaves = [&](const Dim& n) {
    Arena arena;
    Tensor codes = cast(g.input("q" + to_string(n), {4, n}, i8), f32);
    Tensor y = sum(codes * g.input("c" + to_string(n), {4, 1}), 1);
    return factor_invariants(arena, whole(arena, graph_of({y}))).has_value();
  };
  EXPECT_TRUE(leaves(g.dim("some", 1, 8)));
  EXPECT_FALSE(leaves(g.dim("maybe", 0, 8)));
}

TEST(FactorLaw, IntegersAreFactoredThroughProductsButNotThroughDivisions) {
  Graph g;
  Tensor x = g.input("x", {4, 8}, i32);
  Tensor c = g.input("c", {4, 1}, i32);
  const auto total = [](const Tensor& t) {
    return build::apply(graph::Op::kSum, {t}, graph::ReduceAttribute{1});
  };
  Arena arena;
  EXPECT_TRUE(factor_invariants(arena, whole(arena, graph_of({total(x * c)}))).has_value());
  const Tensor quotient = build::apply(graph::Op::kDiv, build::broadcast("div", {x, c}));
  EXPECT_FALSE(factor_invariants(arena, whole(arena, graph_of({total(quotient)}))).has_value());
  test::Sample sample{graph_of({total(x * c)}), {}, {}};
  std::mt19937_64 random(3);
  sample.inputs.emplace("x", graph::test::random_array(random, DType::kI32, {4, 8}));
  sample.inputs.emplace("c", graph::test::random_array(random, DType::kI32, {4, 1}));
  expect_every_way_right(sample, {});
}

TEST(BlockLaw, TheScaleOfABlockLeavesItsSum) {
  Graph g;
  Tensor x = g.input("x", {64});
  Tensor q = g.input("q", {3, 4, 16}, i8), scale = g.input("scale", {3, 4});
  Tensor weight = merge_dims(cast(q, f32) * unsqueeze(scale, 2), 1, 2);
  const graph::Graph ir = graph_of({matmul(weight, x)});
  Arena arena;
  const auto after = factor_blocks(arena, whole(arena, ir));
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(to_string(arena, *after),
            "s1 = sum r1<16: (f32(t1[i0, r2, r1]) * t0[r1 + 16*r2])\n"
            "s2 = sum r2<4: (t2[i0, r2] * s1)\n"
            "t7[i0] = s2\n");
  expect_every_way_right(models::sample_of(ir, 5), {1e-3, 1e-3});
}

TEST(BroadcastLaw, ASumOfOneValueIsAProductWhereItRunsAtAll) {
  Graph g;
  const Dim some = g.dim("some", 1, 9), maybe = g.dim("maybe", 0, 9);
  Tensor x = g.input("x", {4});
  const auto repeated = [&](const Dim& n) { return expand(unsqueeze(x, 1), {4, n}); };
  Arena arena;
  const auto after = reduce_broadcasts(arena, whole(arena, graph_of({sum(repeated(some), 1)})));
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(arena[after->roots[0].value].height, 0);
  EXPECT_FALSE(reduce_broadcasts(arena, whole(arena, graph_of({sum(repeated(maybe), 1)}))));
  for (int64_t n : {0, 1, 5}) {
    test::Sample sample{graph_of({sum(repeated(some), 1), sum(repeated(maybe), 1),
                                  max(repeated(some), 1), max(repeated(maybe), 1)}),
                        {{"some", std::max<int64_t>(n, 1)}, {"maybe", n}},
                        {}};
    sample.inputs.emplace(
        "x", graph::Array::from<double>(DType::kF32, {4}, std::vector<double>{1, kInf, kNaN, -2}));
    expect_every_way_right(sample, {1e-6, 1e-6});
  }
}

TEST(UnrollLaw, TheHalvesOfARotaryEmbeddingShareTheirSums) {
  Graph g;
  Tensor x = g.input("x", {1, 8});
  Tensor w = g.input("w", {32, 8});
  Tensor q = split_dims(matmul(x, transpose(w)), -1, {2, 16});
  const graph::Graph ir = graph_of({rope(transpose(q, 0, 1), arange(g, 1))});
  Arena arena;
  const Kernel before = whole(arena, ir);
  const auto after = unroll_output(arena, before);
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(after->axes.size() + 1, before.axes.size());
  ASSERT_EQ(after->roots.size(), 2U);
  // Two sums serve both halves; apart they would be four.
  EXPECT_EQ(build_nest(arena, *after).accumulators.size(), 2U);
  expect_every_way_right(models::sample_of(ir, 9), {1e-5, 1e-4});
}

TEST(MergeLaw, ASumOfSumsIsOneSum) {
  Graph g;
  const graph::Graph ir = graph_of({sum(sum(g.input("x", {2, 3, 4}), 2), 1)});
  Arena arena({.merge_reductions = false});
  const Kernel before = whole(arena, ir);
  const auto after = merge_reductions(arena, before);
  ASSERT_TRUE(after.has_value());
  EXPECT_EQ(arena[before.roots[0].value].height, 2);
  EXPECT_EQ(arena[after->roots[0].value].height, 1);
}

}  // namespace
}  // namespace luminal::kernel
