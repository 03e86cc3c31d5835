#include "luminal/kernel/derive.h"

#include <gtest/gtest.h>

#include "luminal/kernel/test_kernels.h"

namespace luminal::kernel {
namespace {

using graph::Edge;
using graph::Graph;
using graph::View;
using test::Sample;

/// softmax over the last axis of a [rows, columns] input, written in primitives.
struct Softmax {
  Graph graph;
  NodeId x, most, shifted, total, result;
  Softmax(const Expr& rows, const Expr& columns) {
    x = graph.add_input("x", DType::kF32, {rows, columns});
    most = graph.add(Op::kReduceMax, {graph.whole(x)}, graph::ReduceAttribute{1});
    const NodeId minus = graph.add_constant(Scalar::of(DType::kF32, -1));
    const NodeId negated = graph.add(Op::kMul, {graph.whole(most), {View({}, {rows}, {}), minus}});
    const Edge row{graph.whole(negated).view.insert_axis(1, columns), negated};
    const NodeId sum = graph.add(Op::kAdd, {graph.whole(x), row});
    shifted = graph.add(Op::kExp, {graph.whole(sum)});
    total = graph.add(Op::kSum, {graph.whole(shifted)}, graph::ReduceAttribute{1});
    const Edge all{graph.whole(total).view.insert_axis(1, columns), total};
    result = graph.add(Op::kDiv, {graph.whole(shifted), all});
    graph.add_output("y", graph.whole(result));
  }
};

std::vector<BodyId> reductions(const Arena& arena, const Kernel& kernel) {
  std::vector<BodyId> result;
  for (BodyId id : arena.reachable(std::vector{kernel.roots[0].value}))
    if (arena[id].kind == BodyKind::kReduce) result.push_back(id);
  return result;
}

TEST(Derive, TheMaxOfASoftmaxIsOneNodeForTheSumAndForTheResult) {
  const Softmax softmax(4, 8);
  const GraphProgram program(softmax.graph);
  Arena arena;
  const Cut cut = smallest_cut(program, *topological_order(program));
  const Kernel kernel = std::get<Kernel>(derive(arena, program, cut, softmax.result));
  EXPECT_EQ(reductions(arena, kernel).size(), 2U);
  EXPECT_EQ(to_string(arena, kernel),
            "s1 = max r1<8: t0[i0, r1]\n"
            "t2 = (s1 * -1)\n"
            "s3 = sum r2<8: exp((t2 + t0[i0, r2]))\n"
            "t7[i0, i1] = (exp((t0[i0, i1] + t2)) / s3)\n");
}

TEST(Derive, ABodyDoesNotDependOnItsConsumer) {
  const Softmax softmax(4, 8);
  const GraphProgram program(softmax.graph);
  Arena arena;
  const Cut cut = smallest_cut(program, *topological_order(program));
  const Kernel whole = std::get<Kernel>(derive(arena, program, cut, softmax.result));
  Cut with_max = cut;
  with_max.insert(softmax.most);
  const Kernel most = std::get<Kernel>(derive(arena, program, with_max, softmax.most));
  EXPECT_EQ(reductions(arena, whole)[0], most.roots[0].value);
}

TEST(Derive, AxesOfExtentOneVanish) {
  const Softmax softmax(1, 8);
  const GraphProgram program(softmax.graph);
  Arena arena;
  const Cut cut = smallest_cut(program, *topological_order(program));
  const Kernel kernel = std::get<Kernel>(derive(arena, program, cut, softmax.result));
  ASSERT_EQ(kernel.axes.size(), 1U);
  EXPECT_EQ(kernel.roots[0].store[0], Expr(0));
}

TEST(Derive, MergedAxesAreSplitWhereTheyAreRead) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {4, 6});
  const NodeId y = graph.add_input("y", DType::kF32, {24});
  const NodeId sum = graph.add(Op::kAdd, {{graph.whole(x).view.merge(0, 2), x}, graph.whole(y)});
  const NodeId total = graph.add(Op::kSum, {graph.whole(sum)}, graph::ReduceAttribute{1});
  graph.add_output("sum", graph.whole(sum));
  graph.add_output("total", graph.whole(total));
  const GraphProgram program(graph);
  Arena arena;
  Cut cut = smallest_cut(program, *topological_order(program));
  EXPECT_EQ(to_string(arena, std::get<Kernel>(derive(arena, program, cut, sum))),
            "t2[6*i0 + i1] = (t0[i0, i1] + t1[6*i0 + i1])\n");
  cut.erase(sum);
  EXPECT_EQ(to_string(arena, std::get<Kernel>(derive(arena, program, cut, total))),
            "s1 = sum r1<4, r1_1<6: (t0[r1, r1_1] + t1[6*r1 + r1_1])\n"
            "t3[] = s1\n");
}

TEST(Derive, APaddedViewKeepsItsMaskAboveTheOp) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {4});
  const NodeId e = graph.add(Op::kExp, {graph.whole(x)});
  const View padded = *graph.whole(e).view.pad(0, 1, 0, Scalar::of(DType::kF32, 7));
  const NodeId y = graph.add(Op::kSqrt, {{padded, e}});
  graph.add_output("y", graph.whole(y));
  const GraphProgram program(graph);
  Arena arena;
  const Cut cut = smallest_cut(program, *topological_order(program));
  EXPECT_EQ(to_string(arena, std::get<Kernel>(derive(arena, program, cut, y))),
            "t2[i0] = sqrt((i0 >= 1 ? exp(t0[i0 - 1]) : 7))\n");
}

TEST(Derive, AGatherIndexesByValue) {
  Graph graph;
  const NodeId k = graph.add_input("k", DType::kI32, {3});
  const NodeId x = graph.add_input("x", DType::kF32, {10, 4});
  const Edge index{graph.whole(k).view.insert_axis(1, 4), k};
  const int swap[] = {1, 0};
  const View columns = graph.whole(x).view.permute(swap).insert_axis(0, 3);
  const NodeId y = graph.add(Op::kGather, {index, {columns, x}});
  graph.add_output("y", graph.whole(y));
  const GraphProgram program(graph);
  Arena arena;
  const Cut cut = smallest_cut(program, *topological_order(program));
  const Kernel kernel = std::get<Kernel>(derive(arena, program, cut, y));
  EXPECT_EQ(to_string(arena, kernel), "t2[i0, i1] = t1[t0[i0], i1]\n");
  EXPECT_EQ(arena[kernel.roots[0].value].free, make_axis_set(kernel.axes));
}

TEST(Derive, ABodyThatIsTooBigIsRejected) {
  Graph graph;
  NodeId x = graph.add_input("x", DType::kF32, {8});
  for (int k = 0; k < 50; ++k) {
    const NodeId sum = graph.add(Op::kSum, {graph.whole(x)}, graph::ReduceAttribute{1});
    x = graph.add(Op::kAdd, {graph.whole(x), {graph.whole(sum).view.insert_axis(0, 8), sum}});
  }
  graph.add_output("y", graph.whole(x));
  const GraphProgram program(graph);
  Arena arena;
  const Cut cut = smallest_cut(program, *topological_order(program));
  const auto derived = derive(arena, program, cut, x, {.most_nodes = 40});
  ASSERT_TRUE(std::holds_alternative<Rejected>(derived));
  EXPECT_NE(std::get<Rejected>(derived).why.find("more than 40"), std::string::npos);
}

TEST(Derive, CyclicDefinitionsAreRefused) {
  class Loop : public Program {
   public:
    Loop() {
      node_.op = Op::kCopy;
      node_.type = {DType::kF32, {2}};
      node_.operands = {{View::identity({2}), NodeId{0}}};
    }
    size_t size() const override { return 1; }
    const graph::Node& node(NodeId) const override { return node_; }
    std::span<const NodeId> roots() const override { return roots_; }

   private:
    graph::Node node_;
    std::vector<NodeId> roots_{NodeId{0}};
  };
  EXPECT_FALSE(topological_order(Loop()).has_value());
}

TEST(Derive, RandomGraphsUnderRandomCutsEqualTheOracleBitForBit) {
  int kernels = 0;
  for (uint64_t seed = 1; seed <= 1500 && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Sample sample = test::random_sample(seed, 22);
    const GraphProgram program(sample.graph);
    const std::vector<NodeId> order = *topological_order(program);
    const Tensors oracle = test::oracle_values(sample, program, order);
    std::mt19937_64 random(seed);
    for (double probability : {0.0, 0.4}) {
      Arena arena({.merge_reductions = false});
      const Cut cut = test::random_cut(program, order, random, probability);
      kernels += test::check_cut(arena, sample, program, order, cut, oracle, test::run_by_body, {});
    }
  }
  EXPECT_GT(kernels, 9000);
}

}  // namespace
}  // namespace luminal::kernel
