// Products, windows, attention and positions that do not fit.
#include "error_cases.h"

namespace luminal::errors {
namespace {

class ProductErrorTest : public ErrorTest {};

std::vector<ErrorCase> product_cases() {
  return {
      {"MatmulOfUnequalInnerDims",
       [] {
         const auto x = tensors({{2, 3}, {4, 5}});
         matmul(x[0], x[1]);
       },
       "matmul: inner dims differ: [2, 3] x [4, 5]"},
      {"MatmulOfAScalar",
       [] {
         const auto x = tensors({{}, {4, 5}});
         matmul(x[0], x[1]);
       },
       "matmul: operands need at least one axis, got [] x [4, 5]"},
      {"MatmulOfBatchesThatDoNotBroadcast",
       [] {
         const auto x = tensors({{2, 3, 4}, {5, 4, 3}});
         matmul(x[0], x[1]);
       },
       "matmul: leading axes do not broadcast: [2, 3, 4] x [5, 4, 3]"},
      {"DotOfMatrices",
       [] {
         const auto x = tensors({{2, 2}, {2, 2}});
         dot(x[0], x[1]);
       },
       "dot: needs vectors, got shape [2, 2]"},
      {"OuterOfMatrices",
       [] {
         const auto x = tensors({{2, 2}, {2}});
         outer(x[0], x[1]);
       },
       "outer: needs vectors, got shape [2, 2]"},
      {"EinsumOfTooFewOperands",
       [] {
         einsum("ij,jk->ik", {tensor({2, 3})});
       },
       "einsum: 'ij,jk->ik': names 2 operands, got 1"},
      {"EinsumOfUnequalExtents",
       [] {
         einsum("ij,jk->ik", tensors({{2, 3}, {4, 5}}));
       },
       "einsum: 'ij,jk->ik': 'j' is both 3 and 4"},
      {"EinsumOfAnotherRank",
       [] {
         einsum("ijk->i", {tensor({2, 3})});
       },
       "einsum: 'ijk->i': operand 0 has 2 axes, its labels 'ijk' do not fit"},
      {"EinsumWithAnUnknownResultLetter",
       [] {
         einsum("ij->k", {tensor({2, 3})});
       },
       "einsum: 'ij->k': the result's 'k' is in no operand"},
      {"EinsumWithAnotherCharacter",
       [] {
         einsum("i1->i", {tensor({2, 3})});
       },
       "einsum: 'i1->i': operand 0 has 2 axes, its labels 'i1' do not fit"},
      {"ConvOfAnotherRank",
       [] {
         const auto x = tensors({{1, 2, 5}, {3, 2, 3, 3}});
         conv2d(x[0], x[1]);
       },
       "conv2d: needs x [batch, channels, 2 spatial axes], got [1, 2, 5]"},
      {"ConvOfOtherChannels",
       [] {
         const auto x = tensors({{1, 2, 5}, {3, 4, 3}});
         conv1d(x[0], x[1]);
       },
       "conv: weight [3, 4, 3] wants 4 input channels in 1 groups, x [1, 2, 5] has 2"},
      {"ConvInGroupsThatDoNotDivide",
       [] {
         const auto x = tensors({{1, 3, 5}, {4, 1, 3}});
         conv1d(x[0], x[1], {}, {.groups = 2});
       },
       "conv: 3 input and 4 output channels do not divide into 2 groups"},
      {"ConvWithStrideZero",
       [] {
         const auto x = tensors({{1, 2, 5}, {3, 2, 3}});
         conv1d(x[0], x[1], {}, {.stride = {0}});
       },
       "conv: the stride must be at least 1, got 0"},
      {"ConvWithTooManyStrides",
       [] {
         const auto x = tensors({{1, 2, 5}, {3, 2, 3}});
         conv1d(x[0], x[1], {}, {.stride = {1, 2}});
       },
       "conv: stride has 2 entries for 1 spatial axes"},
      {"ConvWithAKernelLargerThanTheInput",
       [] {
         const auto x = tensors({{1, 2, 2}, {3, 2, 3}});
         conv1d(x[0], x[1]);
       },
       "conv: the window reaches over 3 elements, but axis 2 of [1, 2, 2] has only 2 with padding"},
      {"ConvWithABiasOfOtherLength",
       [] {
         const auto x = tensors({{1, 2, 5}, {3, 2, 3}, {2}});
         conv1d(x[0], x[1], x[2]);
       },
       "conv: bias must be [3], got [2]"},
      {"PoolWithAnEmptyWindow",
       [] {
         max_pool(tensor({1, 1, 5}), {0});
       },
       "max_pool: window extents must be at least 1, got 0"},
      {"PoolWithMoreAxesThanThereAre",
       [] {
         avg_pool(tensor({5}), {2, 2});
       },
       "avg_pool: a window of 2 axes does not fit a tensor of shape [5]"},
  };
}

std::vector<ErrorCase> attention_cases() {
  return {
      {"RopeOfAnOddWidth",
       [] {
         const auto x = tensors({{4, 3}, {4}});
         rope(x[0], x[1]);
       },
       "rope: needs x [..., seq, d] with an even, known d, got [4, 3]"},
      {"RopeWithOtherPositions",
       [] {
         const auto x = tensors({{4, 6}, {5}});
         rope(x[0], x[1]);
       },
       "rope: positions [5] do not match axis 0 of [4, 6]"},
      {"AttentionOfMatrices",
       [] {
         const auto x = tensors({{4, 8}, {4, 8}, {4, 8}});
         attention(x[0], x[1], x[2]);
       },
       "attention: operands must be [..., heads, positions, d] of one rank: query [4, 8], key [4, "
       "8], value [4, 8]"},
      {"AttentionOfOtherWidths",
       [] {
         const auto x = tensors({{2, 4, 8}, {2, 4, 6}, {2, 4, 6}});
         attention(x[0], x[1], x[2]);
       },
       "attention: query and key differ in their last axis: query [2, 4, 8], key [2, 4, 6], value "
       "[2, 4, 6]"},
      {"AttentionOfHeadsThatDoNotDivide",
       [] {
         const auto x = tensors({{3, 4, 8}, {2, 4, 8}, {2, 4, 8}});
         attention(x[0], x[1], x[2]);
       },
       "attention: query heads are no multiple of key heads: query [3, 4, 8], key [2, 4, 8], value "
       "[2, 4, 8]"},
      {"AttentionWithAnEmptyWindow",
       [] {
         const auto x = tensors({{2, 4, 8}, {2, 4, 8}, {2, 4, 8}});
         attention(x[0], x[1], x[2], {.window = 0});
       },
       "attention: the window must be at least 1, got 0"},
      {"AttentionWithANegativeCap",
       [] {
         const auto x = tensors({{2, 4, 8}, {2, 4, 8}, {2, 4, 8}});
         attention(x[0], x[1], x[2], {.soft_cap = -1.0});
       },
       "attention: the soft cap must be positive, got -1"},
  };
}

std::vector<ErrorCase> position_cases() {
  return {
      {"GatherAtFloats",
       [] {
         const auto x = tensors({{2, 3}, {2, 3}});
         gather(x[0], 0, x[1]);
       },
       "gather: indices must be integers, got f32; cast them to i64"},
      {"GatherWithAnIndexOfAnotherRank",
       [] {
         const Graph graph;
         gather(graph.input("x", {2, 3}), 0, graph.input("index", {2}, i64));
       },
       "gather: index [2] must have the rank of [2, 3] and be no larger outside of axis 0"},
      {"TakeAlongWithAnIndexOfAnotherRank",
       [] {
         const Graph graph;
         take_along(graph.input("x", {2, 3}), graph.input("index", {2}, i64), 0);
       },
       "take_along: index [2] and [2, 3] have different ranks"},
      {"EmbeddingOfAVector",
       [] {
         const Graph graph;
         embedding(graph.input("x", {5}), graph.input("index", {2}, i64));
       },
       "embedding: the table must be [rows, width], got [5]"},
      {"GatherNdWithTooManyCoordinates",
       [] {
         const Graph graph;
         gather_nd(graph.input("x", {5, 2}), graph.input("index", {4, 3}, i64));
       },
       "gather_nd: the last axis of index [4, 3] must hold 1 to 2 coordinates into [5, 2]"},
      {"ScatterOfUpdatesOfAnotherShape",
       [] {
         const Graph graph;
         scatter(graph.input("x", {2, 3}), 0, graph.input("index", {2, 3}, i64),
                 graph.input("updates", {1, 2}));
       },
       "scatter: shapes [1, 2] and [2, 3] do not broadcast: axis 1 is 2 and 3; extents must be "
       "equal or 1"},
      {"IndexPutWithAMatrixIndex",
       [] {
         const Graph graph;
         index_put(graph.input("x", {2, 3}), 0, graph.input("index", {2, 2}, i64),
                   graph.input("updates", {2, 3}));
       },
       "index_put: the index must have one axis, got [2, 2]"},
  };
}

TEST_P(ProductErrorTest, NamesOpValuesAndRemedy) {
  EXPECT_EQ(message_of(GetParam().program), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Products, ProductErrorTest, testing::ValuesIn(product_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Attention, ProductErrorTest, testing::ValuesIn(attention_cases()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Positions, ProductErrorTest, testing::ValuesIn(position_cases()), name_of);

}  // namespace
}  // namespace luminal::errors
