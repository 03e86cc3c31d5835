#include "luminal/graph/pattern.h"

#include "luminal/graph/dead_nodes.h"
#include "luminal/graph/query.h"
#include "luminal/graph/test_graphs.h"

namespace luminal::graph::pattern {
namespace {

std::vector<uint32_t> matched(std::string_view text, const Pattern& pattern) {
  std::vector<uint32_t> ids;
  for (const FoundMatch& found : find_matches(parse_text(text), pattern))
    ids.push_back(found.node.value);
  return ids;
}

using Ids = std::vector<uint32_t>;

TEST(Pattern, AnOpMatchesItsNodesInOrder) {
  EXPECT_EQ(matched(R"(
    %0: f32[2] = input "x"
    %1: f32[2] = exp %0
    %2: f32[2] = sin %1
    %3: f32[2] = exp %2)",
                    op(Op::kExp, any())),
            (Ids{1, 3}));
}

TEST(Pattern, OperandsMustMatchToo) {
  EXPECT_EQ(matched(R"(
    %0: f32[2] = input "x"
    %1: f32[2] = exp %0
    %2: f32[2] = sin %1
    %3: f32[2] = sin %0)",
                    op(Op::kSin, op(Op::kExp, any("x")))),
            (Ids{2}));
}

TEST(Pattern, CommutativeOpsMatchInEitherOrder) {
  const std::string_view text = R"(
    %0: f32[2] = input "x"
    %1: f32[2] = exp %0
    %2: f32[2] = add %1, %0
    %3: f32[2] = add %0, %1
    %4: f32[2] = div %1, %0
    %5: f32[2] = div %0, %1)";
  EXPECT_EQ(matched(text, op(Op::kAdd, any(), op(Op::kExp, any()))), (Ids{2, 3}));
  EXPECT_EQ(matched(text, op(Op::kDiv, any(), op(Op::kExp, any()))), (Ids{5}));
}

TEST(Pattern, ANameCapturedTwiceIsTheSameEdge) {
  const std::string_view text = R"(
    %0: f32[2] = input "x"
    %1: f32[2] = input "y"
    %2: f32[2] = mul %0, %0
    %3: f32[2] = mul %0, %1
    %4: f32[2] = mul %0, %0[1 - i0])";
  EXPECT_EQ(matched(text, op(Op::kMul, any("x"), any("x"))), (Ids{2}));
}

TEST(Pattern, AFailedOrderLeavesNoCaptures) {
  // The first order captures x = %1 before it fails; the second must start afresh.
  const std::string_view text = R"(
    %0: f32[2] = input "x"
    %1: f32[2] = sin %0
    %2: f32[2] = exp %1
    %3: f32[2] = add %2, %1)";
  EXPECT_EQ(matched(text, op(Op::kAdd, any("x"), op(Op::kExp, any("x")))), (Ids{3}));
}

TEST(Pattern, ConstantsMatchByValueHoweverTheyAreBroadcast) {
  const std::string_view text = R"(
    %0: f32[2] = input "x"
    %1: f32[] = constant 0.1
    %2: f32[2] = constant [0.1, 0.1]
    %3: f32[2] = add %0, %1[]
    %4: f32[2] = add %2, %0
    %5: f32[] = constant -0
    %6: f32[2] = add %0, %5[]
    %7: f32[2] = constant [0.1, 0.2]
    %8: f32[2] = add %0, %7)";
  EXPECT_EQ(matched(text, op(Op::kAdd, any(), constant(0.1))), (Ids{3, 4}));
  EXPECT_EQ(matched(text, op(Op::kAdd, any(), constant(-0.0))), (Ids{6}));
  EXPECT_EQ(matched(text, op(Op::kAdd, any(), constant(0.0))), (Ids{}));
}

TEST(Pattern, AConstantMayBeCaptured) {
  const Graph g = parse_text(R"(
    %0: i8[2] = input "x"
    %1: i8[] = constant 7
    %2: i8[2] = mul %1[], %0)");
  const auto found = find_matches(g, op(Op::kMul, any("x"), constant("c")));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].match.scalar("c"), Scalar::of(DType::kI8, 7));
  EXPECT_EQ(found[0].match.edge("x"), g.whole(NodeId{0}));
  EXPECT_EQ(found[0].match.root().op, Op::kMul);
}

TEST(Pattern, AnOpIsSeenWholeUnlessAViewIsAllowed) {
  const std::string_view text = R"(
    %0: f32[2, 3] = input "x"
    %1: f32[2, 3] = exp %0
    %2: f32[2, 3] = sin %1
    %3: f32[3, 2] = sin %1[i1, i0])";
  EXPECT_EQ(matched(text, op(Op::kSin, op(Op::kExp, any()))), (Ids{2}));
  const Pattern through = op(Op::kSin, op(Op::kExp, any("x")).through("v"));
  EXPECT_EQ(matched(text, through), (Ids{2, 3}));
  const Graph g = parse_text(text);
  const Match match = find_matches(g, through).at(1).match;
  const View turned({2, 3}, {3, 2}, {Expr::axis(1, 2), Expr::axis(0, 3)});
  EXPECT_EQ(match.view("v"), turned);
  EXPECT_EQ(*match.edge_through("x", "v"), (Edge{turned, NodeId{0}}));
}

TEST(Pattern, NothingIsSeenThroughPadding) {
  const Graph g = parse_text(R"(
    %0: f32[2] = input "x"
    %1: f32[2] = exp %0
    %2: f32[3] = sin %1[i0 - 1 if i0 - 1 in [0, 2) else 0])");
  const auto found = find_matches(g, op(Op::kSin, op(Op::kExp, any("x")).through("v")));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].match.edge_through("x", "v").has_value());
}

TEST(Pattern, PredicatesNarrowAMatch) {
  const std::string_view text = R"(
    %0: f32[2] = input "x"
    %1: f16[2] = cast %0
    %2: f32[2] = sin %0
    %3: f16[2] = sin %1)";
  const Predicate is_half = [](const Graph& graph, const Edge& edge) {
    return graph.node(edge.node).dtype() == DType::kF16;
  };
  EXPECT_EQ(matched(text, op(Op::kSin, any().where(is_half))), (Ids{3}));
  const auto gives_float = [](const Node& node) { return node.dtype() == DType::kF32; };
  EXPECT_EQ(matched(text, op(Op::kSin, any()).where_node(gives_float)), (Ids{2}));
  EXPECT_EQ(matched(text, any().where_node(gives_float)), (Ids{0, 2}));
}

TEST(Pattern, SourcesMatchByTheirKind) {
  const std::string_view text = R"(
    %0: i64[4] = input "x"
    %1: i64[4] = iota i0
    %2: i64[4] = add %0, %1
    %3: i64[4] = add %0, %0)";
  EXPECT_EQ(matched(text, op(Op::kAdd, source(Op::kIota), source(Op::kInput, "x"))), (Ids{2}));
}

TEST(Pattern, MistakesAreSaid) {
  auto message = [](auto function) -> std::string {
    try {
      function();
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([] { op(Op::kAdd, any()); }),
            "pattern: add takes 2 operands, the pattern has 1");
  EXPECT_EQ(message([] { source(Op::kAdd); }), "pattern: add is no source; use pattern::op");
  EXPECT_EQ(message([] { find_matches(parse_text("%0: f32[] = constant 1"), constant(1.0)); }),
            "pattern: the root of a pattern must be an op");
  EXPECT_EQ(message([] { Match().edge("x"); }),
            "pattern: there is no edge captured as 'x'; name it in the pattern");
}

/// The pass of the header's example.
Pass square_of_relu() {
  const Pattern relu = op(Op::kMax, any("x"), constant(0.0));
  return rewrite_pass("square_of_relu", op(Op::kMul, relu.capture("r"), any("r")),
                      [](Graph& to, const Match& match) -> std::optional<Edge> {
                        Edge r = match.edge("r");
                        Scalar two = Scalar::of(to.node(r.node).dtype(), 2.0);
                        return to.whole(to.add(Op::kPow, {r, uniform(to, two, r.view.domain())}));
                      });
}

TEST(RewritePass, ReplacesWhatMatches) {
  const Graph before = parse_text(R"(
    dim seq: [1, 6]
    %x: f32[2, seq] = input "x"
    %zero: f32[] = constant 0
    %r: f32[2, seq] = max %zero[], %x
    %y: f32[2, seq] = mul %r, %r
    output "y" = %y
    named %y = squared_relu() %x)");
  PassList list("test");
  list.add(square_of_relu()).add(dead_nodes());
  const PassListResult result = list.run(before, {.verify = true});
  EXPECT_EQ(to_text(result.graph), to_text(parse_text(R"(
    dim seq: [1, 6]
    %x: f32[2, seq] = input "x"
    %zero: f32[] = constant 0
    %r: f32[2, seq] = max %zero[], %x
    %two: f32[] = constant 2
    %y: f32[2, seq] = pow %r, %two[]
    output "y" = %y
    named %y = squared_relu() %x)")));
  test::expect_same_results(before, result.graph, 1);
}

TEST(RewritePass, OneReplacementMayEnableTheNext) {
  const Graph before = parse_text(R"(
    %x: f32[2] = input "x"
    %a: f32[2] = floor %x
    %b: f32[2] = floor %a
    %c: f32[2] = floor %b
    output "y" = %c)");
  const Pass pass =
      rewrite_pass("floor_of_floor", op(Op::kFloor, op(Op::kFloor, any()).capture("f")),
                   [](Graph&, const Match& match) { return match.edge("f"); });
  PassList list("test");
  list.add(pass).add(dead_nodes());
  EXPECT_EQ(list.run(before, {.verify = true}).graph.size(), 2u);
}

TEST(RewritePass, ABuilderMayDecline) {
  const Graph before = test::sample_graph();
  const Pass pass = rewrite_pass("never", any(), [](Graph&, const Match&) { return std::nullopt; });
  EXPECT_TRUE(identical(pass.run(before).graph, before));
}

TEST(RewritePass, AReplacementOfAnotherTypeIsAnError) {
  const Graph before = parse_text("%0: f32[2] = input \"x\"\n%1: f32[2] = exp %0");
  const Pass pass =
      rewrite_pass("wrong", op(Op::kExp, any("x")), [](Graph& to, const Match& match) {
        return to.whole(to.add_cast(Op::kCast, match.edge("x"), DType::kI8));
      });
  try {
    pass.run(before);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "wrong: the replacement is i8[2] but what it replaces is f32[2]");
  }
}

}  // namespace
}  // namespace luminal::graph::pattern
