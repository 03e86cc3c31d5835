#include "luminal/graph/expected.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "luminal/graph/widened.h"

namespace luminal::graph {
namespace {

using Inputs = std::map<std::string, Array>;

std::vector<Expected> expected_of(const Graph& graph, const Inputs& inputs,
                                  const DimValues& dims = {}, int pairs = 1) {
  RunRequest request;
  for (const auto& [name, value] : inputs) request.inputs[name] = &value;
  request.dims = dims;
  return expected_outputs(graph, request, pairs);
}

Array floats(DType dtype, const std::vector<double>& values) {
  return Array::from<double>(dtype, {static_cast<int64_t>(values.size())}, values);
}

/// y = op(x) of n elements.
Graph unary(Op op, DType dtype, int64_t n) {
  Graph graph;
  const NodeId x = graph.add_input("x", dtype, {n});
  graph.add_output("y", graph.whole(graph.add(op, {graph.whole(x)})));
  return graph;
}

TEST(Expected, WhatIsOnlyMovedMustBeExact) {
  const Graph graph = unary(Op::kCopy, DType::kF32, 2);
  const Expected expected = expected_of(graph, {{"x", floats(DType::kF32, {0.1, 0.2})}})[0];
  EXPECT_TRUE(expected.allowed.empty());
  EXPECT_TRUE(compare(floats(DType::kF32, {0.1, 0.2}), expected).passed());
  const Array near = floats(DType::kF32, {0.1, std::nextafterf(0.2F, 1.0F)});
  EXPECT_EQ(compare(near, expected).wrong, 1);
  EXPECT_EQ(to_string(compare(near, expected)),
            "1 of 2 elements are wrong; the worst, [1], is 0.20000002 and should be 0.2");
}

TEST(Expected, AFewUnitsOfTheLastPlaceAreAllowedAndNoMore) {
  const Graph graph = unary(Op::kExp, DType::kF32, 1);
  for (const double x : {-60.5, -0.25, 12.125}) {
    const Expected expected = expected_of(graph, {{"x", floats(DType::kF32, {x})}})[0];
    const double y = std::exp(x);
    EXPECT_TRUE(compare(floats(DType::kF32, {y * (1 + 0x1p-23)}), expected).passed()) << x;
    EXPECT_FALSE(compare(floats(DType::kF32, {y * 1.001}), expected).passed()) << x;
    EXPECT_FALSE(compare(floats(DType::kF32, {0.0}), expected).passed()) << x;
  }
}

TEST(Expected, WhereTermsCancelTheirSizeCounts) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {4});
  graph.add_output("y", graph.whole(graph.add(Op::kSum, {graph.whole(x)}, ReduceAttribute{1})));
  const Array terms = floats(DType::kF32, {1e6 + 0.3, 0.7, -1e6 - 0.1, 0.4});
  const Expected expected = expected_of(graph, {{"x", terms}})[0];
  const double sum = expected.value.at(0).as_double();
  EXPECT_TRUE(
      compare(Array::from<double>(DType::kF32, {}, std::vector{sum + 0.1}), expected).passed());
  EXPECT_FALSE(
      compare(Array::from<double>(DType::kF32, {}, std::vector{sum + 100}), expected).passed());
}

TEST(Expected, NarrowFloatsMayBeRoundedOrNot) {
  // (x + 1) - 1 in bf16: 1/256 or nothing.
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kBF16, {1});
  const Edge one{View({}, {1}, {}), graph.add_constant(Scalar::of(DType::kBF16, 1.0))};
  const Edge minus{View({}, {1}, {}), graph.add_constant(Scalar::of(DType::kBF16, -1.0))};
  const NodeId sum = graph.add(Op::kAdd, {graph.whole(x), one});
  graph.add_output("y", graph.whole(graph.add(Op::kAdd, {graph.whole(sum), minus})));
  const Expected expected = expected_of(graph, {{"x", floats(DType::kBF16, {0.001})}})[0];
  EXPECT_TRUE(compare(floats(DType::kBF16, {0.0}), expected).passed());
  EXPECT_TRUE(compare(floats(DType::kBF16, {0.001}), expected).passed());
  EXPECT_FALSE(compare(floats(DType::kBF16, {0.5}), expected).passed());
}

TEST(Expected, ElementsThatRoundingMakesEqualMayComeInEitherOrder) {
  // (x + 1)^2 in bf16: x + 1 alone tells 0.0038 from 0.0041, the square of what is kept does not.
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kBF16, {3});
  const Edge one{View({}, {3}, {}), graph.add_constant(Scalar::of(DType::kBF16, 1.0))};
  const NodeId sum = graph.add(Op::kAdd, {graph.whole(x), one});
  const NodeId square = graph.add(Op::kMul, {graph.whole(sum), graph.whole(sum)});
  graph.add_output(
      "y", graph.whole(graph.add(Op::kArgSort, {graph.whole(square)}, ArgSortAttribute{false})));
  const Expected expected =
      expected_of(graph, {{"x", floats(DType::kBF16, {0.0041, 0.0038, 0.5})}}, {}, kManyPairs)[0];
  const auto passes = [&](const std::vector<int64_t>& order) {
    return compare(Array::from<int64_t>(DType::kI64, {3}, order), expected).passed();
  };
  EXPECT_TRUE(passes({1, 0, 2}));
  EXPECT_TRUE(passes({0, 1, 2}));
  EXPECT_FALSE(passes({0, 2, 1}));
}

TEST(Expected, WhatIsBeyondARangeWithoutInfinitiesMayBecomeItsEnd) {
  // Two squares of 64, each of which is 4096, or 448.
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF8E4M3, {1});
  const auto square = [&] {
    const NodeId node = graph.add(Op::kMul, {graph.whole(x), graph.whole(x)});
    return graph.whole(graph.add_cast(Op::kCast, graph.whole(node), DType::kF32));
  };
  graph.add_output("y", graph.whole(graph.add(Op::kDiv, {square(), square()})));
  const Expected expected =
      expected_of(graph, {{"x", floats(DType::kF8E4M3, {64})}}, {}, kManyPairs)[0];
  EXPECT_TRUE(compare(floats(DType::kF32, {4096.0 / 448}), expected).passed());
  EXPECT_FALSE(compare(floats(DType::kF32, {100}), expected).passed());
}

TEST(Expected, IntegersThatAFloatCannotHoldAreRounded) {
  const auto compared = [](const std::vector<int32_t>& terms, double value) {
    Graph graph;
    const auto count = static_cast<int64_t>(terms.size());
    const NodeId x = graph.add_input("x", DType::kI32, {count});
    const NodeId cast = graph.add_cast(Op::kCast, graph.whole(x), DType::kF32);
    graph.add_output("y",
                     graph.whole(graph.add(Op::kSum, {graph.whole(cast)}, ReduceAttribute{1})));
    const Expected expected = expected_of(
        graph, {{"x", Array::from<int32_t>(DType::kI32, {count}, terms)}}, {}, kManyPairs)[0];
    return compare(Array::from<double>(DType::kF32, {}, std::vector{value}), expected).passed();
  };
  // Beside 2^31 the small ones vanish, or not, by the order.
  const std::vector<int32_t> far = {INT32_MIN, -6, INT32_MAX, -2};
  EXPECT_TRUE(compared(far, -8.0));
  EXPECT_TRUE(compared(far, 0.0));
  EXPECT_FALSE(compared(far, 1e5));
  EXPECT_TRUE(compared({1, 2, 3}, 6.0));
  EXPECT_FALSE(compared({1, 2, 3}, 6.0001));
}

TEST(Expected, IntegersMadeOfRoundedFloatsMayBeNeighboursOnlyWhereTheyAreNear) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {2});
  const Edge third{View({}, {2}, {}), graph.add_constant(Scalar::of(DType::kF32, 3.3))};
  const NodeId product = graph.add(Op::kMul, {graph.whole(x), third});
  graph.add_output("y", graph.whole(graph.add_cast(Op::kCast, graph.whole(product), DType::kI32)));
  // 0.30303031 * 3.3 is 1 but for its last place; 0.5 * 3.3 is 1.65.
  const Expected expected = expected_of(graph, {{"x", floats(DType::kF32, {0.30303031, 0.5})}})[0];
  const auto passes = [&](int a, int b) {
    return compare(Array::from<int32_t>(DType::kI32, {2}, std::vector<int32_t>{a, b}), expected)
        .passed();
  };
  EXPECT_TRUE(passes(1, 1));
  EXPECT_TRUE(passes(0, 1));
  EXPECT_FALSE(passes(1, 2));
  EXPECT_FALSE(passes(1, 0));
}

TEST(Expected, NaNEqualsNaNAndInfinitiesThemselves) {
  const Graph graph = unary(Op::kLog, DType::kF32, 3);
  const Expected expected = expected_of(graph, {{"x", floats(DType::kF32, {-1.0, 0.0, 2.5})}})[0];
  EXPECT_TRUE(compare(floats(DType::kF32, {NAN, -INFINITY, std::log(2.5)}), expected).passed());
  EXPECT_EQ(compare(floats(DType::kF32, {1.0, INFINITY, NAN}), expected).wrong, 3);
}

TEST(Expected, OverflowOfANarrowFloatIsNoMatterOfTaste) {
  const Graph graph = unary(Op::kExp, DType::kF16, 2);
  const Expected expected = expected_of(graph, {{"x", floats(DType::kF16, {12.0, 2.0})}})[0];
  EXPECT_TRUE(compare(floats(DType::kF16, {INFINITY, std::exp(2.0)}), expected).passed());
  EXPECT_FALSE(compare(floats(DType::kF16, {1000.0, std::exp(2.0)}), expected).passed());
}

TEST(Expected, ProductsMayLeaveTheRangeOnTheWay) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {4});
  graph.add_output("y", graph.whole(graph.add(Op::kProd, {graph.whole(x)}, ReduceAttribute{1})));
  const Expected expected =
      expected_of(graph, {{"x", floats(DType::kF32, {1e30, 1e30, 1e-30, 1e-30})}})[0];
  const auto result = [&](double value) {
    return compare(Array::from<double>(DType::kF32, {}, std::vector{value}), expected);
  };
  EXPECT_TRUE(result(1.0).passed());
  EXPECT_TRUE(result(INFINITY).passed());
  EXPECT_EQ(result(INFINITY).undecided, 1);
  EXPECT_FALSE(result(2.0).passed());
}

TEST(Expected, PartsOfASumThatOverflowsMayCancelToNaN) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {4});
  graph.add_output("y", graph.whole(graph.add(Op::kSum, {graph.whole(x)}, ReduceAttribute{1})));
  const auto compared = [&](const std::vector<double>& terms, double value) {
    const Expected expected = expected_of(graph, {{"x", floats(DType::kF32, terms)}})[0];
    return compare(Array::from<double>(DType::kF32, {}, std::vector{value}), expected);
  };
  EXPECT_TRUE(compared({3e38, 3e38, 3e38, -3e38}, NAN).passed());
  EXPECT_EQ(compared({3e38, 3e38, 3e38, -3e38}, NAN).undecided, 1);
  EXPECT_FALSE(compared({3e38, 3e38, 3e38, -3e38}, 1.0).passed());
  EXPECT_FALSE(compared({1, 2, 3, 4}, NAN).passed());
}

TEST(Expected, AnInfinityThatNoSumMadeIsJudged) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {2, 2});
  graph.add_output("y", graph.whole(graph.add(Op::kSum, {graph.whole(x)}, ReduceAttribute{1})));
  const Array terms =
      Array::from<double>(DType::kF32, {2, 2}, std::vector<double>{INFINITY, 1, 3e38, 3e38});
  const Expected expected = expected_of(graph, {{"x", terms}})[0];
  EXPECT_TRUE(compare(floats(DType::kF32, {INFINITY, INFINITY}), expected).passed());
  EXPECT_TRUE(compare(floats(DType::kF32, {INFINITY, NAN}), expected).passed());
  EXPECT_FALSE(compare(floats(DType::kF32, {NAN, INFINITY}), expected).passed());
}

TEST(Expected, PartialSumsOfLongSumsAreRoundedToo) {
  constexpr int64_t kTerms = 3136;
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {kTerms});
  graph.add_output("y", graph.whole(graph.add(Op::kSum, {graph.whole(x)}, ReduceAttribute{1})));
  // Large terms that nearly cancel, one by one: what a product of long rows does.
  std::vector<double> terms(kTerms);
  float one_by_one = 0.0F;
  for (size_t k = 0; k < terms.size(); ++k) {
    const double size = 0.5 + static_cast<double>((k * 2654435761U) % 1000) * 1e-3;
    terms[k] = static_cast<float>(k < terms.size() / 2 ? size : -size);
    one_by_one += static_cast<float>(terms[k]);
  }
  const Expected expected =
      expected_of(graph, {{"x", floats(DType::kF32, terms)}}, {}, kManyPairs)[0];
  const auto compared = [&](double value) {
    return compare(Array::from<double>(DType::kF32, {}, std::vector{value}), expected);
  };
  EXPECT_TRUE(compared(one_by_one).passed()) << to_string(compared(one_by_one));
  EXPECT_FALSE(compared(one_by_one + 0.1).passed()) << "a lost term would go unnoticed";
}

TEST(Expected, ProductsOfManyElementsAreNeverHeldAsAWhole) {
  Graph graph;
  const auto spread = [&](const char* name, std::vector<symbolic::Expr> index) {
    const Shape domain{512, 512, 512};
    return Edge{View({512, 512}, domain, std::move(index)),
                graph.add_input(name, DType::kF32, {512, 512})};
  };
  const auto axis = [](int64_t number) { return symbolic::Expr::axis(number, 512); };
  const NodeId product =
      graph.add(Op::kMul, {spread("a", {axis(0), axis(2)}), spread("b", {axis(2), axis(1)})});
  graph.add_output("y",
                   graph.whole(graph.add(Op::kSum, {graph.whole(product)}, ReduceAttribute{1})));
  for (const Node& node : widened(graph, Move::kOneWay).nodes())
    EXPECT_TRUE(node.op != Op::kCustom || node.shape().size() == 2);
}

TEST(Expected, ManyElementsMayHaveOneThatIsFarther) {
  const auto settled = [](size_t count) {
    Expected expected;
    expected.allowed.assign(count, 1.0);
    settle(expected);
    return expected.allowed[0];
  };
  EXPECT_EQ(settled(10), 1.0);
  EXPECT_EQ(settled(1024), 1.0);
  EXPECT_NEAR(settled(size_t{1} << 20), std::sqrt(2.0), 1e-12);
}

TEST(Expected, OtherTypesAndShapesAreWrongAndEmptyArraysRight) {
  const Graph graph = unary(Op::kExp, DType::kF32, 2);
  const Expected expected = expected_of(graph, {{"x", floats(DType::kF32, {1, 2})}})[0];
  EXPECT_FALSE(compare(floats(DType::kF64, {1, 2}), expected).passed());
  EXPECT_FALSE(compare(floats(DType::kF32, {1}), expected).passed());
  EXPECT_EQ(to_string(compare(floats(DType::kF32, {1}), expected)),
            "the dtype or shape is another");
  const Expected empty =
      expected_of(unary(Op::kExp, DType::kF32, 0), {{"x", floats(DType::kF32, {})}})[0];
  EXPECT_TRUE(compare(floats(DType::kF32, {}), empty).passed());
}

TEST(Expected, ABitPatternOfAComputedFloatIsNotJudged) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {1});
  const NodeId root = graph.add(Op::kSqrt, {graph.whole(x)});
  graph.add_output("bits",
                   graph.whole(graph.add_cast(Op::kBitcast, graph.whole(root), DType::kI32)));
  graph.add_output("given", graph.whole(graph.add_cast(Op::kBitcast, graph.whole(x), DType::kI32)));
  const std::vector<Expected> expected = expected_of(graph, {{"x", floats(DType::kF32, {-1.0})}});
  const Array other = Array::from<int32_t>(DType::kI32, {1}, std::vector<int32_t>{7});
  EXPECT_TRUE(compare(other, expected[0]).passed());
  EXPECT_FALSE(compare(other, expected[1]).passed());
}

}  // namespace
}  // namespace luminal::graph
