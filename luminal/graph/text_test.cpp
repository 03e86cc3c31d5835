#include "luminal/graph/text.h"

#include <bit>

#include "luminal/graph/query.h"
#include "luminal/graph/test_graphs.h"
#include "luminal/graph/verify.h"

namespace luminal::graph {
namespace {

using test::past;
using test::seq;

CustomFunctions functions() { return {{"negate", test::custom_negate()}}; }

void expect_round_trip(const Graph& graph) {
  const std::string text = to_text(graph);
  const Graph again = parse_text(text, functions());
  EXPECT_TRUE(identical(graph, again)) << text << "\nbecame\n" << to_text(again);
  EXPECT_EQ(text, to_text(again));
}

std::string error_of(std::string_view text) {
  try {
    parse_text(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Text, AnEmptyGraphIsAnEmptyText) {
  EXPECT_EQ(to_text(Graph{}), "");
  EXPECT_EQ(parse_text("").size(), 0u);
  EXPECT_EQ(parse_text("\n  # only a comment\r\n\t\n").size(), 0u);
}

TEST(Text, WritesOneReadableLinePerThing) {
  Graph g;
  const NodeId x = g.add_input("x", DType::kF32, {2, seq()});
  const NodeId half = g.add_constant(Scalar::of(DType::kF32, 0.5));
  const NodeId y = g.add(Op::kMul, {g.whole(x), {View({}, {2, seq()}, {}), half}});
  const int swap[] = {1, 0};
  const NodeId t = g.add(Op::kCopy, {{g.whole(y).view.permute(swap), y}});
  const NodeId s = g.add(Op::kSum, {g.whole(t)}, ReduceAttribute{1});
  g.set_name(s, "total");
  g.add_output("row", {g.whole(x).view.select(0, 1), x});
  g.add_named({"row_sum", {{"axis", int64_t{0}}}, {g.whole(y)}, g.whole(s)});
  EXPECT_EQ(to_text(g), R"(dim seq: [1, 6]
%0: f32[2, seq] = input "x"
%1: f32[] = constant 0.5
%2: f32[2, seq] = mul %0, %1[]
%3: f32[seq, 2] = copy %2[i1, i0]
%4: f32[seq] = sum %3 axes=1 name="total"
output "row" = %0[seq -> 1, i0]
named %4 = row_sum(axis=0) %2
)");
}

TEST(Text, APaddedViewShowsItsConditionsAndFill) {
  Graph g;
  const NodeId x = g.add_input("x", DType::kF32, {seq()});
  const View padded = *g.whole(x).view.pad(0, 1, 2, Scalar::of(DType::kF32, -0.0));
  g.add(Op::kCopy, {{padded, x}});
  EXPECT_NE(to_text(g).find("copy %0[i0 - 1 if i0 - 1 in [0, seq) else -0"), std::string::npos)
      << to_text(g);
  expect_round_trip(g);
}

TEST(Text, AGraphOfEverythingReadsBackIdentically) { expect_round_trip(test::sample_graph()); }

TEST(Text, AScalarThatPadsReadsBackIdentically) {
  Graph g;
  const NodeId one = g.add_constant(Scalar::of(DType::kI32, 1));
  const View view({}, {4}, {}, {{Expr::axis(0, 4), 3}}, Scalar::of(DType::kI32, 9));
  g.add(Op::kCopy, {{view, one}});
  g.add_output("y", {view, one});
  expect_round_trip(g);
}

TEST(Text, ConstantsOfEveryDtypeKeepTheirBits) {
  Graph g;
  test::Random random(1);
  for (const DTypeInfo& row : kDTypes) {
    for (int64_t size : {0, 1, 3, 16, 17, 100})
      g.add_constant(test::random_array(random, row.dtype, {size}));
    for (int k = 0; k < 20; ++k) g.add_constant(test::special_value(random, row.dtype));
  }
  expect_round_trip(g);
}

TEST(Text, ANanWithAPayloadKeepsItsBits) {
  Array array(DType::kF32, {2});
  array.mutable_as<float>()[1] = std::bit_cast<float>(0x7fc12345u);
  Graph g;
  g.add_constant(array);
  EXPECT_NE(to_text(g).find("hex\""), std::string::npos) << to_text(g);
  expect_round_trip(g);
}

TEST(Text, RandomGraphsReadBackIdentically) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    expect_round_trip(test::random_graph(seed));
  }
}

TEST(Text, DimsThatOnlyAViewUsesAreDeclared) {
  Graph g;
  const NodeId x = g.add_input("x", DType::kF32, {10});
  g.add(Op::kCopy, {{g.whole(x).view.slice(0, past(), past() + 2), x}});
  expect_round_trip(g);
  EXPECT_TRUE(problems(parse_text(to_text(g))).empty());
}

TEST(Text, DimsMayHaveTheWordsOfTheTextAsNames) {
  Graph g;
  const Expr odd = Expr::variable("if", {1, 9});
  const Expr odder = Expr::variable("in", {1, 9});
  const NodeId x = g.add_input("else", DType::kF32, {odd, odder});
  const int swap[] = {1, 0};
  const View turned = g.whole(x).view.permute(swap);
  g.add(Op::kCopy, {{*turned.pad(0, odd, 0, Scalar::of(DType::kF32, 0)), x}});
  expect_round_trip(g);
}

TEST(Text, UnboundedDimsAreWrittenWithInfinities) {
  Graph g;
  g.add_input("x", DType::kF32, {Expr::variable("n")});
  EXPECT_EQ(to_text(g), "dim n: [0, inf]\n%0: f32[n] = input \"x\"\n");
  expect_round_trip(g);
}

TEST(Text, LabelsMayBeWordsAndLinesMayBeCommented) {
  const Graph g = parse_text(R"(
    # a graph by hand
    %x: f32[2] = input "x"   # with a comment
    %two: f32[] = constant 2
    %y: f32[2] = mul %x, %two[]
    output "y" = %y
  )");
  EXPECT_EQ(g.size(), 3u);
  EXPECT_EQ(g.node(NodeId{2}).op, Op::kMul);
  EXPECT_EQ(g.outputs().at(0).edge.node, NodeId{2});
}

TEST(Text, TheDomainIsImpliedByTheReaderOrWritten) {
  const Graph g = parse_text(R"(
    %x: f32[2, 3] = input "x"
    %a: f32[3, 2] = copy %x[i1, i0]
    %b: f32[3] = sum %x[3, 2 -> i1, i0] axes=1
    %c: f32[] = copy %x[1, 2]
  )");
  const View turned({2, 3}, {3, 2}, {Expr::axis(1, 2), Expr::axis(0, 3)});
  EXPECT_EQ(g.node(NodeId{1}).operands[0].view, turned);
  EXPECT_EQ(g.node(NodeId{2}).operands[0].view, turned);
  EXPECT_EQ(g.node(NodeId{3}).operands[0].view, View({2, 3}, {}, {1, 2}));
}

TEST(TextErrors, NameLineAndColumnAndWhatWasExpected) {
  EXPECT_EQ(error_of("\nnonsense"),
            "parse_text: line 2, column 1: expected a line that begins with 'dim', '%', 'output' "
            "or 'named', found \"nonsense\"");
  EXPECT_EQ(error_of("%0 f32[2] = input \"x\""),
            "parse_text: line 1, column 4: expected ':', found \"f32\"");
  EXPECT_EQ(error_of("%0: f31[2] = input \"x\""),
            "parse_text: line 1, column 5: expected a dtype, found 'f31'");
  EXPECT_EQ(error_of("%0: f32[2] = imput \"x\""),
            "parse_text: line 1, column 14: expected an op, found 'imput'");
  EXPECT_EQ(error_of("%0: f32[2] = input"),
            "parse_text: line 1, column 19: expected the name of the input in double quotes, found "
            "the end of the text");
}

TEST(TextErrors, AnOperandMustBeDefinedBefore) {
  EXPECT_EQ(error_of("%0: f32[2] = exp %1"),
            "parse_text: line 1, column 18: %1 is not defined before this line");
  EXPECT_EQ(error_of("%0: f32[2] = exp %0"),
            "parse_text: line 1, column 18: %0 is not defined before this line");
}

TEST(TextErrors, ALabelIsDefinedOnce) {
  EXPECT_EQ(error_of("%0: f32[] = constant 1\n%0: f32[] = constant 2"),
            "parse_text: line 2, column 2: %0 is defined already");
}

TEST(TextErrors, ADimIsDeclaredOnceAndBeforeItsUse) {
  EXPECT_EQ(error_of("dim n: [0, 1]\ndim n: [0, 1]"),
            "parse_text: line 2, column 5: the dim 'n' is declared already");
  EXPECT_NE(error_of("%0: f32[n] = input \"x\"").find("line 1, column 9"), std::string::npos);
  EXPECT_EQ(error_of("dim n: [3, 1]"),
            "parse_text: line 1, column 5: the interval of the dim is empty");
}

TEST(TextErrors, AMissingCustomFunctionIsNamed) {
  EXPECT_EQ(error_of("%0: f32[] = custom \"mine\""),
            "parse_text: line 1, column 20: there is no custom function named 'mine'; give it to "
            "parse_text in its map of functions");
}

TEST(TextErrors, AGivenTypeMustBeTheInferredOne) {
  EXPECT_EQ(error_of("%0: f32[2] = input \"x\"\n%1: f32[3] = sqrt %0"),
            "parse_text: line 2, column 5: the type is given as f32[3] but follows as f32[2]");
}

TEST(TextErrors, WhatTheOpRefusesIsSaidWithItsPlace) {
  const std::string error = error_of("%0: i32[2] = input \"x\"\n%1: i32[2] = sqrt %0");
  EXPECT_NE(error.find("line 2, column 14: sqrt: needs a float, got i32"), std::string::npos)
      << error;
}

TEST(Text, LongConstantsMayBeKeptBesideTheText) {
  Graph g;
  Array value(DType::kF32, {17});
  value.set(3, Scalar::of(DType::kF32, 0.5));
  g.add_constant(value);
  g.add_constant(Array(DType::kF32, {2}));
  std::vector<Array> kept;
  const std::string text = to_text(g, [&](const Array& constant) {
    kept.push_back(constant);
    return kept.size() - 1;
  });
  EXPECT_EQ(text, "%0: f32[17] = constant @0\n%1: f32[2] = constant [0, 0]\n");
  EXPECT_TRUE(identical(parse_text(text, {}, kept), g));
}

TEST(TextErrors, ConstantsBesideTheTextMustBeThereAndFit) {
  EXPECT_NE(error_of("%0: f32[17] = constant @0").find("there is no constant @0; 0 are given"),
            std::string::npos);
  const std::vector<Array> kept{Array(DType::kF32, {3})};
  try {
    parse_text("%0: f32[17] = constant @0", {}, kept);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("the constant @0 is f32[3]"), std::string::npos);
  }
}

TEST(TextErrors, ConstantsMustHaveTheRightNumberOfValues) {
  EXPECT_EQ(error_of("%0: f32[3] = constant [1, 2]"),
            "parse_text: line 1, column 23: expected 3 values, found 2");
  EXPECT_NE(error_of("%0: f32[3] = constant hex\"00\"").find("line 1, column 23"),
            std::string::npos);
  EXPECT_EQ(error_of("%0: f32[1] = constant hex\"0g\""),
            "parse_text: line 1, column 26: expected pairs of the digits 0-9 and a-f");
  EXPECT_NE(error_of("%0: bool[] = constant 7x").find("line 1, column 23"), std::string::npos);
  EXPECT_EQ(error_of("dim n: [1, 2]\n%0: f32[n] = constant [1]"),
            "parse_text: line 2, column 23: a constant cannot have the extent n");
  // More elements than there is memory: found out without asking for it.
  EXPECT_EQ(error_of("%0: f32[1000000, 1000000] = constant [1]"),
            "parse_text: line 1, column 38: expected 1000000000000 values, found 1");
}

TEST(TextErrors, ViewsMustFitTheirSource) {
  EXPECT_EQ(error_of("%0: f32[2, 3] = input \"x\"\n%1: f32[2] = sqrt %0[i0]"),
            "parse_text: line 2, column 22: expected 2 index expressions for the source f32[2, 3], "
            "found 1");
  EXPECT_EQ(error_of("%0: f32[2] = input \"x\"\noutput \"y\" = %0[0]"),
            "parse_text: line 2, column 17: expected the domain of the view and '->' here");
}

TEST(TextErrors, DeepNestingIsRefusedInsteadOfOverflowingTheStack) {
  const std::string deep(100000, '(');
  EXPECT_EQ(error_of("%0: f32[" + deep + "] = input \"x\""),
            "parse_text: line 1, column 9: the expression is nested too deeply");
  const std::string minuses(100000, '-');
  EXPECT_EQ(error_of("%0: f32[" + minuses + "1] = input \"x\""),
            "parse_text: line 1, column 9: the expression is nested too deeply");
}

/// Replaces, inserts, removes and moves pieces of a text.
std::string mutated(std::string text, test::Random& random) {
  static const std::string_view kPieces[] = {
      "%",  "[",  "]",    ")",  "(",   "->", "i0", "9", "-",   ",",
      "if", "in", "else", "\"", "\\",  "\n", "#",  "{", "nan", "9223372036854775807",
      "=",  ":",  "seq",  "/0", "\xff"};
  for (int64_t count = 1 + test::pick(random, 4); count > 0 && !text.empty(); --count) {
    const auto at = static_cast<size_t>(test::pick(random, static_cast<int64_t>(text.size())));
    const auto length = static_cast<size_t>(test::pick(random, 6));
    switch (test::pick(random, 4)) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, kPieces[static_cast<size_t>(test::pick(random, std::size(kPieces)))]);
        break;
      default:
        text.insert(
            at,
            text.substr(static_cast<size_t>(test::pick(random, static_cast<int64_t>(text.size()))),
                        4 * length));
        break;
    }
  }
  return text;
}

TEST(TextFuzz, DamagedTextsAreReadOrRefusedButNeverCrash) {
  const std::string sample = to_text(test::sample_graph());
  int refused = 0;
  int read = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    test::Random random(seed);
    const std::string text =
        mutated(seed % 4 == 0 ? to_text(test::random_graph(seed % 64, 12)) : sample, random);
    try {
      const Graph graph = parse_text(text, functions());
      ++read;
      // What was read is a real graph: it can be written and read again.
      EXPECT_TRUE(identical(graph, parse_text(to_text(graph), functions()))) << text;
    } catch (const UserError& error) {
      ++refused;
      EXPECT_NE(std::string(error.what()).find("line "), std::string::npos)
          << error.what() << ", seed " << seed;
    }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 20);
}

}  // namespace
}  // namespace luminal::graph
