#include "luminal/graph/query.h"

#include "luminal/graph/test_graphs.h"
#include "luminal/graph/verify.h"

namespace luminal::graph {
namespace {

using Ids = std::vector<NodeId>;

Ids ids(std::initializer_list<uint32_t> values) {
  Ids list;
  for (uint32_t value : values) list.push_back(NodeId{value});
  return list;
}

Graph diamond() {
  return parse_text(R"(
    %0: f32[2, 4] = input "x"
    %1: f32[2, 4] = exp %0
    %2: f32[2, 4] = sin %1
    %3: f32[2, 4] = cos %1 name="right"
    %4: f32[2, 4] = mul %2, %3
    %5: f32[2, 4] = floor %0
    output "y" = %4
    output "z" = %5)");
}

TEST(Query, UsersAreListedOnceAndAscending) {
  const Graph g = parse_text(R"(
    %0: f32[2] = input "x"
    %1: f32[2] = mul %0, %0
    %2: f32[2] = add %1, %0)");
  EXPECT_EQ(users_of(g, NodeId{0}), ids({1, 2}));
  EXPECT_EQ(users_of(g, NodeId{2}), ids({}));
  EXPECT_EQ(users(g).size(), 3u);
  EXPECT_THROW(users_of(g, NodeId{3}), UserError);
}

TEST(Query, UpstreamIsWhatAValueDependsOn) {
  EXPECT_EQ(upstream(diamond(), ids({2})), ids({0, 1, 2}));
  EXPECT_EQ(upstream(diamond(), ids({2, 5})), ids({0, 1, 2, 5}));
  EXPECT_EQ(upstream(diamond(), {}), ids({}));
  EXPECT_THROW(upstream(diamond(), ids({6})), UserError);
}

TEST(Query, DownstreamIsWhatDependsOnAValue) {
  EXPECT_EQ(downstream(diamond(), ids({1})), ids({1, 2, 3, 4}));
  EXPECT_EQ(downstream(diamond(), ids({4, 5})), ids({4, 5}));
}

TEST(Query, IdenticalSeesEveryDifference) {
  const Graph g = test::sample_graph();
  EXPECT_TRUE(identical(g, test::sample_graph()));
  Graph named = g;
  named.set_name(NodeId{0}, "other");
  EXPECT_FALSE(identical(g, named));
  Graph output = g;
  output.add_output("more", g.whole(NodeId{0}));
  EXPECT_FALSE(identical(g, output));
  Graph fact = g;
  fact.add_named({"more", {}, {}, g.whole(NodeId{0})});
  EXPECT_FALSE(identical(g, fact));
  Graph node = g;
  node.add_constant(Scalar::of(DType::kF32, 1));
  EXPECT_FALSE(identical(g, node));
}

TEST(Extract, TakesWhatTheResultsNeed) {
  const Subgraph part = extract(diamond(), ids({3}));
  EXPECT_EQ(to_text(part.graph), R"(%0: f32[2, 4] = input "x"
%1: f32[2, 4] = exp %0
%2: f32[2, 4] = cos %1 name="right"
output "right" = %2
)");
  EXPECT_EQ(part.map[3]->node, NodeId{2});
  EXPECT_FALSE(part.map[2].has_value());
}

TEST(Extract, StopsAtTheBoundary) {
  const Subgraph part = extract(diamond(), ids({4}), ids({2, 3}));
  EXPECT_EQ(to_text(part.graph), R"(%0: f32[2, 4] = input "value_2"
%1: f32[2, 4] = input "right"
%2: f32[2, 4] = mul %0, %1
output "value_4" = %2
)");
}

/// Runs the two parts one after the other and compares with the whole.
void expect_cut_computes_the_same(const Graph& graph, const Ids& nodes, uint64_t seed) {
  const CutGraph parts = cut(graph, nodes);
  EXPECT_EQ(problems(parts.first.graph), std::vector<std::string>{});
  EXPECT_EQ(problems(parts.second.graph), std::vector<std::string>{});
  test::RandomRun run(graph, seed);
  const auto whole = run.of(graph);
  const auto first = run.of(parts.first.graph);
  std::map<std::string, Array> results;
  for (size_t k = 0; k < first.first.size(); ++k)
    results.insert_or_assign(parts.first.graph.outputs()[k].name, first.first[k]);
  for (const std::string& name : parts.crossing)
    run.inputs.insert_or_assign(name, results.at(name));
  const auto second = run.of(parts.second.graph);
  for (size_t k = 0; k < second.first.size(); ++k)
    results.insert_or_assign(parts.second.graph.outputs()[k].name, second.first[k]);
  for (size_t k = 0; k < whole.first.size(); ++k)
    EXPECT_TRUE(test::same_values(whole.first[k], results.at(graph.outputs()[k].name)))
        << graph.outputs()[k].name << ", seed " << seed << "\n"
        << to_text(graph) << "\nfirst:\n"
        << to_text(parts.first.graph) << "\nsecond:\n"
        << to_text(parts.second.graph);
}

TEST(Cut, ValuesCrossAsOutputsAndInputs) {
  const CutGraph parts = cut(diamond(), ids({3}));
  // exp is needed on both sides: it crosses too, instead of being computed twice.
  EXPECT_EQ(parts.crossing, (std::vector<std::string>{"value_1", "right"}));
  EXPECT_EQ(to_text(parts.first.graph), R"(%0: f32[2, 4] = input "x"
%1: f32[2, 4] = exp %0
%2: f32[2, 4] = cos %1 name="right"
output "value_1" = %1
output "right" = %2
)");
  EXPECT_EQ(to_text(parts.second.graph), R"(%0: f32[2, 4] = input "x"
%1: f32[2, 4] = input "value_1"
%2: f32[2, 4] = sin %1
%3: f32[2, 4] = input "right"
%4: f32[2, 4] = mul %2, %3
%5: f32[2, 4] = floor %0
output "y" = %4
output "z" = %5
)");
}

TEST(Cut, OutputsAndEffectsHappenOnce) {
  const Graph g = parse_text(R"(
    %0: f32[2] = input "x"
    %1: f32[2] = print "once" %0
    %2: f32[2] = exp %1
    %3: f32[2] = sin %2
    output "early" = %1
    output "cut" = %2
    output "late" = %3)");
  const CutGraph parts = cut(g, ids({2}));
  EXPECT_EQ(statistics(parts.first.graph).ops.at(Op::kPrint), 1u);
  EXPECT_FALSE(statistics(parts.second.graph).ops.contains(Op::kPrint));
  EXPECT_EQ(parts.first.graph.outputs().size(), 3u);
  EXPECT_EQ(parts.second.graph.outputs().size(), 1u);
  expect_cut_computes_the_same(g, ids({2}), 1);
}

TEST(Cut, AnywhereInARandomGraphTheTwoPartsComputeTheWhole) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const Graph g = test::random_graph(seed);
    test::Random random(seed);
    Ids nodes;
    for (int64_t k = test::pick(random, 4); k >= 0; --k)
      nodes.push_back(
          NodeId{static_cast<uint32_t>(test::pick(random, static_cast<int64_t>(g.size())))});
    expect_cut_computes_the_same(g, nodes, seed);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Statistics, CountOpsBytesAndFlops) {
  const Graph g = parse_text(R"(
    dim n: [0, inf]
    %0: f32[n, 8] = input "x"
    %1: i4[3] = constant [1, 2, 3]
    %2: f32[n, 8, 4] = mul %0[i0, i1], %0[i0, i1]
    %3: f32[n] = sum %2 axes=2
    %4: f16[n] = cast %3
    output "y" = %4)");
  const GraphStatistics result = statistics(g);
  const Expr n = Expr::variable("n");
  EXPECT_EQ(result.nodes, 5u);
  EXPECT_EQ(result.ops.at(Op::kMul), 1u);
  EXPECT_EQ(result.input_bytes, n * 32);
  EXPECT_EQ(result.constant_bytes, Expr(2));
  EXPECT_EQ(result.computed_bytes, n * 134);
  EXPECT_EQ(result.output_bytes, n * 2);
  EXPECT_EQ(result.flops, n * 64);
  EXPECT_EQ(to_string(result),
            "5 nodes: 1 input, 1 constant, 1 cast, 1 mul, 1 sum\n"
            "bytes: 32*n inputs, 2 constants, 134*n computed, 2*n outputs\nflops: 64*n\n");
}

}  // namespace
}  // namespace luminal::graph
