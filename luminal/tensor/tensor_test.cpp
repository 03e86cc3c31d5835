#include "luminal/tensor/tensor.h"

#include <gtest/gtest.h>

#include <sstream>

#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/movement.h"
#include "luminal/tensor/nested_values.h"
#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::expect_error;
using test::expect_type;
using test::expect_values;
using test::run;
using test::vector;

TEST(Tensor, KnowsItsTypeAndGraph) {
  Graph g;
  Dim n = g.dim("n");
  Tensor x = g.input("x", {n, 3}, bf16);
  EXPECT_EQ(x.rank(), 2);
  EXPECT_EQ(x.dim(-1), Dim(3));
  EXPECT_EQ(x.dim(0), n);
  EXPECT_EQ(x.size(), n * 3);
  EXPECT_EQ(x.dtype(), bf16);
  EXPECT_TRUE(x.graph() == g);
  expect_error([&] { (void)x.dim(2); }, "dim: axis 2");
}

TEST(Tensor, WithoutAValueSaysSoWhateverIsAsked) {
  Tensor none;
  EXPECT_FALSE(static_cast<bool>(none));
  EXPECT_TRUE(none.is(Tensor()));
  expect_error([&] { (void)none.shape(); }, "tensor: this Tensor is empty; assign it");
  expect_error([&] { (void)none.dtype(); }, "this Tensor is empty");
  expect_error([&] { (void)none.graph(); }, "this Tensor is empty");
  expect_error([&] { none.keep(); }, "this Tensor is empty");
  expect_error([&] { none.named("x"); }, "this Tensor is empty");
  std::ostringstream text;
  text << none;
  EXPECT_EQ(text.str(), "empty tensor");
}

TEST(Tensor, OutlivesTheGraphHandleAndItsOwnSources) {
  Tensor y;
  {
    Graph g;
    Tensor x = vector(g, {1, 2});
    y = x + 1;
  }
  expect_values(y, {2, 3});
  EXPECT_EQ(y.graph().ir().size(), 3u);
}

TEST(Tensor, IsTheSameOnlyThroughTheSameView) {
  Graph g;
  Tensor x = vector(g, {1, 2});
  Tensor copy = x;
  EXPECT_TRUE(copy.is(x));
  EXPECT_TRUE(flip(flip(x, {0}), {0}).is(x));
  EXPECT_FALSE(flip(x, {0}).is(x));
  EXPECT_FALSE(x.is(Tensor()));
  EXPECT_FALSE(x.is(vector(g, {1, 2})));
}

TEST(Tensor, KeepsEachValueOnceUntilDropped) {
  Graph g;
  Tensor x = vector(g, {1, 2}), y = x * 2;
  x.keep().keep();
  keep(std::vector{y, flip(y, {0})});
  EXPECT_EQ(g.state()->kept.size(), 3u);
  y.drop();
  EXPECT_EQ(g.state()->kept.size(), 2u);
  drop(std::vector{x, flip(y, {0})});
  EXPECT_TRUE(g.state()->kept.empty());
}

TEST(Tensor, PrintsWhatItIs) {
  Graph g;
  Tensor x = g.input("x", {g.dim("n"), 2});
  Tensor y = (x + 1).named("y");
  EXPECT_EQ(y.name(), "y");
  std::ostringstream text;
  text << y << "; " << transpose(x);
  EXPECT_EQ(text.str(),
            "'y': f32[n, 2], result of add; 'x': f32[2, n], seen through a view of input");
}

TEST(Graph, NamesInputsOnceAndDimsWithOneRange) {
  Graph g;
  Tensor x = g.input("x", {g.dim("n", 1, 8)});
  EXPECT_EQ(g.dim("n", 1, 8), x.dim(0));
  expect_error([&] { g.input("x", {2}); }, "input: there is an input named 'x' already");
  expect_error([&] { g.input("", {2}); }, "input: an input needs a name");
  expect_error([&] { g.input("y", {-2}); }, "input: 'y' has a negative extent in [-2]");
  expect_error([&] { g.input("z", {g.dim("n", 0, 9)}); },
               "dim: 'n' is in [0, 9] here but in [1, 8] elsewhere");
  expect_error([&] { g.dim("m", 3, 2); }, "dim: 'm' has the range [3, 2]");
  expect_error([&] { g.dim("m", -1, 2); }, "it must be 0 <= lowest <= highest");
  expect_type(g.input("w", {g.dim("one", 1, 1)}), "f32[1]");
}

TEST(NestedValues, FollowTheBraces) {
  expect_values(NestedValues({1, 2, 3}).to_array(f32), {3}, {1, 2, 3});
  expect_values(NestedValues({{1, 2}, {3, 4}, {5, 6}}).to_array(i8), {3, 2}, {1, 2, 3, 4, 5, 6});
  const NestedValues deep({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}});
  expect_values(deep.to_array(f64), {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  expect_values(NestedValues({1.9, -300}).to_array(i8), {2}, {1, -128});
}

TEST(NestedValues, OfDifferentLengthsAreRefused) {
  expect_error(
      [] {
        NestedValues({{1, 2, 3}, {4, 5}});
      },
      "set: rows have different lengths 3 and 2 at depth 1 of the braces");
}

}  // namespace
}  // namespace luminal
