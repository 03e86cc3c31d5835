#include "luminal/kernel/compared_sums.h"

#include <gtest/gtest.h>

namespace luminal::kernel {
namespace {

using graph::Graph;
using graph::ReduceAttribute;

/// A sum of floats or integers, its maximum and what is left of it, both outputs.
struct SumAndMaximum {
  explicit SumAndMaximum(DType dtype, Op between = Op::kCopy) {
    const NodeId x = graph.add_input("x", dtype, {8, 8});
    sum = graph.add(Op::kSum, {graph.whole(x)}, ReduceAttribute{1});
    const NodeId seen = graph.add(between, {graph.whole(sum)});
    maximum = graph.add(Op::kReduceMax, {graph.whole(seen)}, ReduceAttribute{1});
    rest = graph.add(Op::kMul, {graph.whole(sum), graph.whole(sum)});
    graph.add_output("maximum", graph.whole(maximum));
    graph.add_output("rest", graph.whole(rest));
  }

  /// The smallest cut, in which two kernels add up, and what has to be stored besides.
  bool stores_sum() const {
    const GraphProgram program(graph);
    Arena arena;
    const CutSearchOptions options;  // which the costs refer to
    CutCosts costs(arena, program, options);
    const Cut cut = smallest_cut(program, costs.order());
    EXPECT_FALSE(cut.contains(sum));
    const Cut with = with_compared_sums(program, cut, costs);
    EXPECT_TRUE(with.contains(maximum) && with.contains(rest));
    return with.contains(sum);
  }

  Graph graph;
  NodeId sum, maximum, rest;
};

TEST(ComparedSums, WhatTwoKernelsAddUpAndOneComparesIsStored) {
  EXPECT_TRUE(SumAndMaximum(DType::kF32).stores_sum());
  EXPECT_TRUE(SumAndMaximum(DType::kBF16, Op::kExp).stores_sum());
}

TEST(ComparedSums, IntegersAreTheSameInAnyOrder) {
  EXPECT_FALSE(SumAndMaximum(DType::kI32).stores_sum());
}

TEST(ComparedSums, WhatNobodyComparesMayBeAddedUpAgain) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {8, 8});
  const NodeId sum = graph.add(Op::kSum, {graph.whole(x)}, ReduceAttribute{1});
  const NodeId root = graph.add(Op::kSqrt, {graph.whole(sum)});
  const NodeId power = graph.add(Op::kExp, {graph.whole(sum)});
  graph.add_output("root", graph.whole(root));
  graph.add_output("power", graph.whole(power));
  const GraphProgram program(graph);
  Arena arena;
  const CutSearchOptions options;  // which the costs refer to
  CutCosts costs(arena, program, options);
  const Cut cut = smallest_cut(program, costs.order());
  EXPECT_EQ(with_compared_sums(program, cut, costs), cut);
}

}  // namespace
}  // namespace luminal::kernel
