#include "luminal/graph/pass.h"

#include "luminal/graph/common_subexpressions.h"
#include "luminal/graph/constant_folding.h"
#include "luminal/graph/dead_nodes.h"
#include "luminal/graph/depth_first_order.h"
#include "luminal/graph/identities.h"
#include "luminal/graph/query.h"
#include "luminal/graph/rewriter.h"
#include "luminal/graph/test_graphs.h"

namespace luminal::graph {
namespace {

using test::seq;

std::string after(const Pass& pass, std::string_view text) {
  PassList list("test");
  list.add(pass);
  return to_text(list.run(parse_text(text), {.verify = true}).graph);
}

/// The text as to_text writes it.
std::string plain(std::string_view text) { return to_text(parse_text(text)); }

// Dead nodes

TEST(DeadNodes, NodesThatNobodyAsksForGo) {
  EXPECT_EQ(after(dead_nodes(), R"(
    %x: f32[2] = input "x"
    %a: f32[2] = exp %x
    %b: f32[2] = sin %x
    %c: f32[2] = cos %b
    output "y" = %a)"),
            plain(R"(
    %x: f32[2] = input "x"
    %a: f32[2] = exp %x
    output "y" = %a)"));
}

TEST(DeadNodes, EffectsAndWhatTheyNeedStay) {
  const std::string text = plain(R"(
    %x: f32[2] = input "x"
    %a: f32[2] = exp %x
    %p: f32[2] = print "a" %a
    %d: f32[2] = diff "a.npy" %a atol=0.5 rtol=0.5)");
  EXPECT_EQ(after(dead_nodes(), text), text);
}

TEST(DeadNodes, InputsStayUnlessAskedOtherwise) {
  const std::string text = "%0: f32[2] = input \"x\"\n";
  EXPECT_EQ(after(dead_nodes(), text), text);
  EXPECT_EQ(after(dead_nodes({.keep_inputs = false}), text), "");
}

TEST(DeadNodes, NamedDefinitionsStayIfAllOfTheirValuesDo) {
  const std::string graph = R"(
    %x: f32[2] = input "x"
    %a: f32[2] = exp %x
    %b: f32[2] = sin %a
    %unused: f32[2] = cos %a
    output "y" = %b
    named %b = kept(axis=1) %a
    named %unused = no_result() %a
    named %b = no_operand() %unused
  )";
  const std::string text = after(dead_nodes(), graph);
  EXPECT_NE(text.find("named %2 = kept(axis=1) %1"), std::string::npos) << text;
  EXPECT_EQ(text.find("no_"), std::string::npos) << text;
}

// Common subexpressions

TEST(CommonSubexpressions, EqualNodesBecomeOne) {
  EXPECT_EQ(after(common_subexpressions(), R"(
    dim seq: [1, 6]
    %x: f32[2, seq] = input "x"
    %one: f32[] = constant 1
    %another: f32[] = constant 1
    %a: f32[2, seq] = add %x, %one[]
    %b: f32[2, seq] = add %x, %another[]
    %c: f32[2, seq] = mul %a, %b
    output "y" = %c)"),
            plain(R"(
    dim seq: [1, 6]
    %x: f32[2, seq] = input "x"
    %one: f32[] = constant 1
    %a: f32[2, seq] = add %x, %one[]
    %c: f32[2, seq] = mul %a, %a
    output "y" = %c)"));
}

TEST(CommonSubexpressions, CommutativeOperandsMayBeSwapped) {
  const std::string text = after(common_subexpressions(), R"(
    %x: f32[2] = input "x"
    %y: f32[2] = input "y"
    %a: f32[2] = add %x, %y[1 - i0]
    %b: f32[2] = add %y[1 - i0], %x
    %c: f32[2] = div %x, %y
    %d: f32[2] = div %y, %x
    output "a" = %a
    output "b" = %b
    output "c" = %c
    output "d" = %d)");
  EXPECT_NE(text.find("output \"b\" = %2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("output \"d\" = %4\n"), std::string::npos) << text;
}

TEST(CommonSubexpressions, DifferentViewsAttributesTypesAndZerosAreDifferent) {
  const std::string text = plain(R"(
    %x: f32[2, 2] = input "x"
    %a: f32[2, 2] = exp %x
    %b: f32[2, 2] = exp %x[i1, i0]
    %c: f32[2] = sum %x axes=1
    %d: f32[] = sum %x axes=2
    %e: f16[2, 2] = cast %x
    %f: i8[2, 2] = cast %x
    %g: f32[] = constant 0
    %h: f32[] = constant -0
    %i: i64[2] = iota i0
    %j: i64[2] = iota i0 + 1
    %k: i64[2, 2] = argsort %x descending=true
    %l: i64[2, 2] = argsort %x descending=false)");
  EXPECT_EQ(after(common_subexpressions(), text), text);
}

TEST(CommonSubexpressions, EffectsAndCustomFunctionsAreNeverMerged) {
  Graph g;
  const NodeId x = g.add_input("x", DType::kF32, {2});
  for (int k = 0; k < 2; ++k) {
    g.add(Op::kPrint, {g.whole(x)}, PrintAttribute{"x"});
    g.add_custom(test::custom_negate(), {g.whole(x)}, {DType::kF32, {2}});
  }
  EXPECT_TRUE(identical(common_subexpressions().run(g).graph, g));
}

TEST(CommonSubexpressions, ANameIsNotLost) {
  EXPECT_EQ(after(common_subexpressions(), R"(
    %x: f32[2] = input "x"
    %a: f32[2] = exp %x
    %b: f32[2] = exp %x name="b")"),
            plain(R"(
    %x: f32[2] = input "x"
    %a: f32[2] = exp %x name="b")"));
}

// Constant folding

TEST(ConstantFolding, OpsOfConstantsBecomeConstants) {
  EXPECT_EQ(after(constant_folding(), R"(
    %a: i32[3] = constant [1, 2, 3]
    %b: i32[3] = constant [10, 20, 30]
    %c: i32[3] = add %a, %b[2 - i0]
    %d: i32[] = sum %c axes=1
    output "y" = %c
    output "z" = %d)"),
            plain(R"(
    %a: i32[3] = constant [1, 2, 3]
    %b: i32[3] = constant [10, 20, 30]
    %c: i32[3] = constant [31, 22, 13]
    %d: i32[] = constant 66
    output "y" = %c
    output "z" = %d)"));
}

TEST(ConstantFolding, UniformOperandsFoldWhateverTheShape) {
  EXPECT_EQ(after(constant_folding(), R"(
    dim n: [0, inf]
    %x: f32[n, 1000000] = input "x"
    %a: f32[] = constant 3
    %b: f32[] = constant 4
    %c: f32[n, 1000000] = mul %a[], %b[]
    %d: f32[n, 1000000] = add %x, %c
    output "y" = %d)"),
            plain(R"(
    dim n: [0, inf]
    %x: f32[n, 1000000] = input "x"
    %a: f32[] = constant 3
    %b: f32[] = constant 4
    %c: f32[] = constant 12
    %d: f32[n, 1000000] = add %x, %c[]
    output "y" = %d)"));
}

TEST(ConstantFolding, EqualElementsBecomeAScalar) {
  EXPECT_EQ(after(constant_folding(), R"(
    %a: f16[2, 2] = constant [nan, nan, nan, nan]
    %b: i64[2, 3] = iota 5
    output "a" = %a
    output "b" = %b)"),
            plain(R"(
    %a: f16[] = constant nan
    %b: i64[] = constant 5
    output "a" = %a[2, 2 -> ]
    output "b" = %b[2, 3 -> ])"));
}

TEST(ConstantFolding, NansWithAPayloadKeepTheirBits) {
  const std::string mixed = plain(R"(
    %a: f32[2] = constant hex"4523c17f4623c17f"
    output "a" = %a)");
  EXPECT_EQ(after(constant_folding(), mixed), mixed);
  EXPECT_EQ(after(constant_folding(), R"(
    %a: f32[2] = constant hex"4523c17f4523c17f"
    output "a" = %a)"),
            plain(R"(
    %a: f32[] = constant hex"4523c17f"
    output "a" = %a[2 -> ])"));
}

TEST(ConstantFolding, IotasOfTheirPositionStayExpressions) {
  const std::string text = plain(R"(
    %a: i64[4] = iota 2*i0
    %k: i64[] = constant 1
    %b: i64[4] = add %a, %k[]
    output "b" = %b)");
  EXPECT_EQ(after(constant_folding(), text), text);
}

TEST(ConstantFolding, LargeResultsAndMuchWorkAreLeft) {
  const std::string text = plain(R"(
    %a: i32[3] = constant [1, 2, 3]
    %b: i32[3, 2000] = copy %a[i0]
    %c: i32[3] = sum %a[3, 1000000 -> i0] axes=1
    output "b" = %b
    output "c" = %c)");
  EXPECT_EQ(after(constant_folding(), text), text);
  EXPECT_NE(after(constant_folding({.max_elements = 6000}), text), text);
}

TEST(ConstantFolding, BarriersEffectsCustomFunctionsAndErrorsAreLeft) {
  Graph g;
  const NodeId a = g.add_constant(Array::from<int>(DType::kI32, {2}, std::vector<int>{1, 7}));
  g.add(Op::kGraphBreak, {g.whole(a)});
  g.add(Op::kPrint, {g.whole(a)}, PrintAttribute{"x"});
  g.add_custom(test::custom_negate(), {g.whole(a)}, {DType::kI32, {2}});
  // 7 is out of range: that shall be said when the graph runs.
  g.add(Op::kGather, {g.whole(a), {g.whole(a).view.insert_axis(0, 2), a}});
  EXPECT_TRUE(identical(constant_folding().run(g).graph, g));
}

TEST(ConstantFolding, EveryOpOfEveryDtypeFoldsToWhatItComputes) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    test::Random random(seed);
    Graph g;
    for (const DTypeInfo& row : kDTypes) {
      const NodeId a = g.add_constant(test::random_array(random, row.dtype, {3, 2}));
      const NodeId b = g.add_constant(test::random_array(random, row.dtype, {3, 2}));
      for (const OpInfo& op : kOps) {
        if (op.op == Op::kBitcast || op.op == Op::kCast || op.arity < 1 || op.arity > 2) continue;
        if (op.op_class == OpClass::kBarrier || op.op == Op::kGather) continue;
        std::vector<Edge> operands{g.whole(a)};
        if (op.arity == 2) operands.push_back(g.whole(b));
        try {
          const NodeId id = g.add(op.op, operands);
          g.add_output(fmt::format("{} {} {}", row.name, op.name, id.value), g.whole(id));
        } catch (const UserError&) {
          // The op does not take this dtype.
        }
      }
    }
    PassList list("test");
    list.add(constant_folding());
    const Graph folded = list.run(g, {.verify = true}).graph;
    for (const Node& node : folded.nodes()) EXPECT_EQ(node.op, Op::kConstant);
    test::expect_same_results(g, folded, seed);
  }
}

// Depth-first order

TEST(DepthFirstOrder, ValuesAreComputedWhereTheyAreNeeded) {
  EXPECT_EQ(after(depth_first_order(), R"(
    %x: f32[2] = input "x"
    %a: f32[2] = exp %x
    %b: f32[2] = sin %x
    %c: f32[2] = cos %a
    %d: f32[2] = floor %b
    %e: f32[2] = add %d, %c
    output "y" = %e)"),
            plain(R"(
    %x: f32[2] = input "x"
    %b: f32[2] = sin %x
    %d: f32[2] = floor %b
    %a: f32[2] = exp %x
    %c: f32[2] = cos %a
    %e: f32[2] = add %d, %c
    output "y" = %e)"));
}

TEST(DepthFirstOrder, EffectsKeepTheirOrder) {
  const Graph before = parse_text(R"(
    %x: f32[2] = input "x"
    %a: f32[2] = print "first" %x
    %b: f32[2] = print "second" %x
    %c: f32[2] = print "third" %a
    output "y" = %b
    output "z" = %a)");
  test::expect_same_results(before, depth_first_order().run(before).graph, 3);
}

TEST(DepthFirstOrder, AGraphDeeperThanAnyStackIsNoProblem) {
  Graph g;
  NodeId last = g.add_input("x", DType::kF32, {});
  for (int k = 0; k < 200000; ++k) last = g.add(Op::kSin, {g.whole(last)});
  g.add_output("y", g.whole(last));
  EXPECT_EQ(depth_first_order().run(g).graph.size(), g.size());
}

// Lists

Pass count_down(std::shared_ptr<int> left) {
  // Adds a constant as long as the counter is above zero: changes the graph that often.
  return {"count_down", [left](const Graph& graph) {
            Rewriter rewriter(graph);
            for (NodeId id : graph.ids()) rewriter.keep(id);
            if ((*left)-- > 0) rewriter.to().add_constant(Scalar::of(DType::kF32, 1));
            return std::move(rewriter).finish();
          }};
}

TEST(PassList, RunsPassesInOrderAndReportsEach) {
  PassList list("mine");
  list.add(common_subexpressions()).add(dead_nodes());
  const PassListResult result = list.run(test::sample_graph(), {.verify = true});
  ASSERT_EQ(result.steps.size(), 2u);
  EXPECT_EQ(result.steps[0].name, "common_subexpressions");
  EXPECT_EQ(result.steps[1].name, "dead_nodes");
  EXPECT_EQ(result.steps[1].nodes_after, result.graph.size());
  EXPECT_GE(result.steps[0].microseconds, 0.0);
  EXPECT_NE(result.report().find("dead_nodes"), std::string::npos);
  EXPECT_NE(result.report().find("total"), std::string::npos);
}

TEST(PassList, AFixedPointStopsWhenNothingChanges) {
  PassList list("loop");
  list.add(count_down(std::make_shared<int>(3)));
  const PassListResult result = fixed_point(list, 100).run(Graph{});
  EXPECT_EQ(result.graph.size(), 3u);
  ASSERT_EQ(result.steps.size(), 4u);
  EXPECT_TRUE(result.steps[2].changed);
  EXPECT_FALSE(result.steps[3].changed);
  EXPECT_EQ(result.steps[3].round, 3);
}

TEST(PassList, AFixedPointStopsAfterTheMostRounds) {
  PassList list("loop");
  list.add(count_down(std::make_shared<int>(1000)));
  EXPECT_EQ(fixed_point(list, 5).run(Graph{}).graph.size(), 5u);
  EXPECT_THROW(fixed_point(list, 0), UserError);
}

TEST(PassList, ListsMayHoldLists) {
  PassList inner("inner");
  inner.add(count_down(std::make_shared<int>(2)));
  PassList outer("outer");
  outer.add(dead_nodes()).add(fixed_point(inner, 10)).add(dead_nodes());
  const PassListResult result = outer.run(Graph{});
  EXPECT_EQ(result.graph.size(), 0u);
  ASSERT_EQ(result.steps.size(), 5u);
  EXPECT_EQ(result.steps[1].name, "inner/count_down");
}

TEST(PassList, VerifyingNamesThePassThatBrokeTheGraph) {
  PassList list("mine");
  list.add({"vandal", [](const Graph& graph) {
              Graph broken;
              broken.add_input("x", DType::kF32, {2});
              broken.add_iota(DType::kI64, {2}, Expr::axis(5, 9));
              return PassResult{std::move(broken), NodeMap(graph.size())};
            }});
  EXPECT_NO_THROW(list.run(Graph{}));
  try {
    list.run(Graph{}, {.verify = true});
    FAIL() << "no error";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("the pass 'vandal' broke the graph"),
              std::string::npos);
    EXPECT_NE(std::string(error.what()).find("%1 (iota): its value uses axis i5"),
              std::string::npos);
  }
}

TEST(PassList, AMapOfTheWrongSizeIsAnError) {
  PassList list("mine");
  list.add({"short", [](const Graph&) { return PassResult{}; }});
  EXPECT_THROW(list.run(test::sample_graph()), InternalError);
}

TEST(PassList, TheMapFollowsValuesThroughAllPasses) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Graph before = test::random_graph(seed);
    PassListResult result = default_passes().run(before, {.verify = true});
    // Asked for through the map, every old node that is still there has its old value.
    Graph all_before = before;
    Graph all_after = result.graph;
    int asked = 0;
    for (NodeId id : before.ids()) {
      if (!result.map[id.value]) continue;
      const std::string name = fmt::format("old {}", id.value);
      all_before.add_output(name, before.whole(id));
      all_after.add_output(name, *result.map[id.value]);
      ++asked;
    }
    EXPECT_GE(asked, 3);
    test::expect_same_results(all_before, all_after, seed);
  }
}

TEST(NodeMap, ComposingLosesWhatWasDropped) {
  Graph g;
  const NodeId x = g.add_input("x", DType::kF32, {2});
  NodeMap first{g.whole(x), std::nullopt, Edge{g.whole(x).view.flip(0), x}};
  NodeMap second{Edge{g.whole(x).view.flip(0), x}};
  const NodeMap both = compose(first, second);
  EXPECT_EQ(both[0]->view, g.whole(x).view.flip(0));
  EXPECT_FALSE(both[1].has_value());
  EXPECT_TRUE(both[2]->view.is_identity());
}

// All passes on random graphs

TEST(PassFuzz, NoPassChangesResults) {
  const std::vector<Pass> passes{dead_nodes(), common_subexpressions(), constant_folding(),
                                 identities(), depth_first_order()};
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Graph before = test::random_graph(seed, 30);
    for (const Pass& pass : passes) {
      SCOPED_TRACE(pass.name);
      PassList list("one");
      list.add(pass);
      test::expect_same_results(before, list.run(before, {.verify = true}).graph, seed);
      if (testing::Test::HasFailure()) return;
    }
  }
}

TEST(PassFuzz, TheDefaultPassesChangeNoResultsAndReachAFixedPoint) {
  size_t nodes_before = 0;
  size_t nodes_after = 0;
  for (uint64_t seed = 1000; seed < 1300; ++seed) {
    SCOPED_TRACE(seed);
    const Graph before = test::random_graph(seed, 40);
    const Graph after = default_passes().run(before, {.verify = true}).graph;
    test::expect_same_results(before, after, seed);
    EXPECT_TRUE(identical(after, default_passes().run(after).graph)) << to_text(after);
    if (testing::Test::HasFailure()) return;
    nodes_before += before.size();
    nodes_after += after.size();
  }
  EXPECT_LT(nodes_after, nodes_before);
}

TEST(PassFuzz, TheSampleGraphKeepsItsResults) {
  const Graph before = test::sample_graph();
  for (uint64_t seed = 0; seed < 10; ++seed)
    test::expect_same_results(before, default_passes().run(before, {.verify = true}).graph, seed);
}

}  // namespace
}  // namespace luminal::graph
