// Mistakes that builders of kernels have made before us, each as a graph on which it shows.
#include <gtest/gtest.h>

#include "checks.h"

namespace luminal::kernel {
namespace {

using luminal::Graph;

constexpr test::Closeness kClose{1e-5, 1e-4};

void expect_right(const std::vector<Tensor>& outputs, graph::DimValues dims = {}) {
  expect_every_way_right(models::sample_of(graph_of(outputs), 21, std::move(dims)), kClose);
}

TEST(KernelPitfalls, AValueProjectionInsideOfAttentionIsNotCaptured) {
  Graph g;
  Tensor q = g.input("q", {2, 3, 4}), k = g.input("k", {2, 3, 4});
  Tensor v = matmul(g.input("x", {2, 3, 5}), g.input("wv", {5, 4}));
  expect_right({luminal::attention(q, k, v, {.causal = true})});
}

TEST(KernelPitfalls, AReductionOfOneLoopIsNotReadInTheNext) {
  Graph g;
  Tensor d = matmul(g.input("a", {3, 4}), g.input("b", {4, 3}));
  Tensor most = max(d, 1);
  Tensor spread = sum(exp(d - unsqueeze(most, 1)) * d, 1);
  expect_right({spread + sum(d * d, 1) * max(abs(d), 1)});
}

TEST(KernelPitfalls, AReductionUnderAPadReadsNothingOutside) {
  Graph g;
  Tensor s = sum(g.input("x", {3, 4}), 1);
  expect_right({pad(s, 0, {2, 1}) * g.input("y", {6}), exp(pad(exp(s), 0, {1, 1}))});
}

TEST(KernelPitfalls, AGatherOfAPaddedViewKeepsTheMask) {
  Graph g;
  Tensor padded = pad(g.input("x", {3, 4}), 0, {1, 2});
  Tensor index = iota(g, {6}, [](std::span<const Dim> i) { return 5 - i[0]; });
  // An index that is data, so that it stays a value.
  Tensor data =
      g.constant(graph::Array::from<int64_t>(DType::kI64, {4}, std::vector<int64_t>{0, 5, 2, 3}));
  expect_right({gather_nd(padded, unsqueeze(index, 1)), gather_nd(padded, unsqueeze(data, 1))});
}

TEST(KernelPitfalls, WhatIsGatheredDoesNotCaptureTheAxesOfItsPosition) {
  Graph g;
  // The position is found by reductions, and so is what is read there.
  Tensor x = g.input("x", {3, 3, 2});
  Tensor position =
      fmod(cast(abs(sum(x)), i64), 3) * 0 + iota(g, {3}, [](auto i) { return 2 - i[0]; });
  Tensor rows = max(sum(x, 2), 1);
  expect_right(
      {sum(index_select(rows, 0, position) * 0.5), max(sum(index_select(x, 1, position), 2))});
}

TEST(KernelPitfalls, DivisionsOfNegativeNumeratorsRoundDown) {
  Graph g;
  Tensor x = g.input("x", {3, 4});
  Tensor merged = flip(merge_dims(x, 0, 2), {0});
  Tensor both = concat({merged, merge_dims(transpose(x), 0, 2)}, 0);
  expect_right({exp(merged), sum(split_dims(both, 0, {4, 6}), 1), roll(merged, 5, 0) * 2.0});
}

TEST(KernelPitfalls, AxesOfExtentOneLeaveNoTrace) {
  for (int64_t n : {1, 2}) {
    Graph g;
    const Dim s = g.dim("s", 1, 4);
    Tensor x = g.input("x", {s, 3});
    Tensor joined = concat({x, x * 2.0}, 0);
    expect_right({sum(joined, 0), luminal::softmax(joined, 0), max(merge_dims(joined, 0, 2))},
                 {{"s", n}});
  }
}

TEST(KernelPitfalls, ALongSharedChainStaysLinear) {
  Graph g;
  Tensor x = g.input("x", {2, 3});
  for (int k = 0; k < 40; ++k) x = tanh(x + x * x);
  expect_right({x, sum(x, 1)});
}

TEST(KernelPitfalls, EmptyExtentsRunNothing) {
  Graph g;
  const Dim n = g.dim("n", 0, 4);
  Tensor x = g.input("x", {n, 3});
  expect_right({sum(x, 0), max(x, 1), concat({x, g.input("y", {2, 3})}, 0) + 1.0}, {{"n", 0}});
}

TEST(KernelRoots, AValueThatAnotherOneReadsIsStoredOnTheWay) {
  Graph g;
  Tensor x = g.input("x", {3, 4}) + g.input("y", {3, 4});
  Tensor n = luminal::rms_norm(x);
  const test::Sample sample = models::sample_of(graph_of({x, n}), 2);
  const GraphProgram program(sample.graph);
  const std::vector<NodeId> order = *topological_order(program);
  const Tensors oracle = test::oracle_values(sample, program, order);
  Arena arena;
  const std::vector<NodeId> roots{program.output(0), program.output(1)};
  const Kernel kernel =
      std::get<Kernel>(derive_together(arena, program, smallest_cut(program, order), roots));
  Tensors tensors;
  for (NodeId id : order)
    if (is_source(program.node(id))) tensors.emplace(id, oracle.at(id));
  run_nest(arena, build_nest(arena, kernel), sample.dims, tensors);
  for (NodeId root : roots)
    EXPECT_TRUE(test::near(tensors.at(root), oracle.at(root), {1e-6, 1e-6}));
}

TEST(KernelRoots, ShapesOfOneKernelMustAgree) {
  Graph g;
  Tensor x = g.input("x", {3, 4});
  const graph::Graph ir = graph_of({x * 2.0, sum(x, 1)});
  const GraphProgram program(ir);
  Arena arena;
  const std::vector<NodeId> roots{program.output(0), program.output(1)};
  const auto derived =
      derive_together(arena, program, smallest_cut(program, *topological_order(program)), roots);
  EXPECT_EQ(std::get<Rejected>(derived).why, "shapes [3, 4] and [3] of one kernel differ");
}

}  // namespace
}  // namespace luminal::kernel
