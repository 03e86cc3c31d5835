// The interpreter as a whole: dims, inputs, what is stored and what is computed on the way, reports
// and effects.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "luminal/graph/interpreter_harness.h"
#include "luminal/graph/interpreter_steps.h"

namespace luminal::graph {
namespace {

/// Sum over k of a[i, k] * b[k, j], from two expanded edges. `stored` keeps the product as an
/// output, so that it must exist as a whole.
Graph matmul_graph(DType dtype, const Expr& m, const Expr& k, const Expr& n, bool stored = false) {
  Graph graph;
  const Edge a = graph.whole(graph.add_input("x0", dtype, {m, k}));
  const Edge b = graph.whole(graph.add_input("x1", dtype, {k, n}));
  const int swapped[] = {1, 0};
  const View left = a.view.insert_axis(1, n);
  const View right = b.view.permute(swapped).insert_axis(0, m);
  const NodeId product = graph.add(Op::kMul, {{left, a.node}, {right, b.node}});
  graph.add_output("y", graph.whole(graph.add(Op::kSum, {graph.whole(product)})));
  if (stored) graph.add_output("product", graph.whole(product));
  return graph;
}

Array random_array(DType dtype, Extents extents, uint32_t seed) {
  std::vector<double> values(static_cast<size_t>(element_count(extents)));
  for (double& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<double>(seed >> 8) / (1 << 23) - 1.0;
  }
  return Array::from<double>(dtype, std::move(extents), values);
}

TEST(Interpreter, MatmulIsQuick) {
  const Array a = random_array(DType::kF32, {256, 256}, 1);
  const Array b = random_array(DType::kF32, {256, 256}, 2);
  const Graph graph = matmul_graph(DType::kF32, 256, 256, 256);
  const auto start = std::chrono::steady_clock::now();
  const Array c = run_graph(graph, {a, b})[0];
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  RecordProperty("seconds", std::to_string(elapsed.count()));
  for (const auto& [i, j] : {std::pair{0, 0}, std::pair{17, 200}, std::pair{255, 255}}) {
    double sum = 0;
    for (int k = 0; k < 256; ++k)
      sum += static_cast<double>(
          static_cast<float>(a.at(i * 256 + k).as_double() * b.at(k * 256 + j).as_double()));
    EXPECT_EQ(c.at(i * 256 + j), Scalar::of(DType::kF32, sum));
  }
  // 0.15 s on an idle machine; sanitizers and busy neighbours cost.
  EXPECT_LT(elapsed.count(), 5.0);
}

TEST(Interpreter, ProductsComputedOnTheWayGiveTheSameAsStoredOnes) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kI8,
                            DType::kU4, DType::kF64}) {
    const Array a = random_array(dtype, {5, 7}, 3);
    const Array b = random_array(dtype, {7, 300}, 4);
    const Graph fused = matmul_graph(dtype, 5, 7, 300);
    const Graph stored = matmul_graph(dtype, 5, 7, 300, true);
    EXPECT_EQ(plan_steps(fused).size(), 3U);
    EXPECT_EQ(plan_steps(fused).back().name, "mul + sum");
    EXPECT_EQ(plan_steps(stored).size(), 4U);
    EXPECT_TRUE(run_graph(fused, {a, b})[0].identical(run_graph(stored, {a, b})[0])) << name(dtype);
  }
}

}  // namespace
}  // namespace luminal::graph
