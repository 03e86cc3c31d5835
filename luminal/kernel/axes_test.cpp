#include "luminal/kernel/axes.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "luminal/symbolic/evaluate.h"

namespace luminal::kernel {
namespace {

using symbolic::greater_equal;
using symbolic::less;

TEST(AxisSets, AreSortedById) {
  const Expr a = Expr::axis(0, 4), b = Expr::axis(1, 4), r = bound_axis(1, 0, 8);
  EXPECT_EQ(make_axis_set(std::vector{r, b, a, b}), (AxisSet{a, b, r}));
  EXPECT_TRUE(is_subset({a, r}, {a, b, r}));
  EXPECT_FALSE(is_subset({a, r}, {a, b}));
  EXPECT_EQ(difference({a, b, r}, {b}), (AxisSet{a, r}));
  EXPECT_EQ(union_of({a}, {b, r}), (AxisSet{a, b, r}));
  EXPECT_EQ(bound_height(r), 1);
}

TEST(WantedSplits, DivisionsThatGoAwayAreWanted) {
  const Expr i = Expr::axis(0, 24), j = Expr::axis(1, 4);
  EXPECT_EQ(wanted_splits(symbolic::floor_div(i, 6)), (std::vector<WantedSplit>{{i, 6}}));
  EXPECT_EQ(wanted_splits(symbolic::mod(i, 6)), (std::vector<WantedSplit>{{i, 6}}));
  EXPECT_TRUE(wanted_splits(symbolic::floor_div(i + 1, 6)).empty());
  EXPECT_TRUE(wanted_splits(symbolic::floor_div(i, 7)).empty());
  EXPECT_TRUE(wanted_splits(i * 4 + j).empty());
}

TEST(WantedSplits, HalvesThatAreJoinedAreWanted) {
  const Expr i = Expr::axis(0, 128);
  EXPECT_EQ(wanted_test_splits(less(i, 64)), (std::vector<WantedSplit>{{i, 64}}));
  EXPECT_EQ(wanted_test_splits(greater_equal(i, 32)), (std::vector<WantedSplit>{{i, 32}}));
  EXPECT_TRUE(wanted_test_splits(less(i, 63)).empty());
  EXPECT_TRUE(wanted_test_splits(less(i + Expr::axis(1, 4), 64)).empty());
}

/// The value of a test at a position.
int64_t at(const Expr& test, int64_t i, int64_t j) {
  return symbolic::evaluate(test, {{"i0", i}, {"i1", j}});
}

TEST(Tests, SimplifiedTestsAreEqualEverywhere) {
  const Expr i = Expr::axis(0, 5), j = Expr::axis(1, 8);
  for (int64_t c = -20; c <= 60; ++c) {
    for (const Expr& test : {less(i * 8 + j, c), greater_equal(i * 8 + j, c), less(i * 8 - j, c),
                             less(c, j - i * 4)}) {
      const Expr simple = simplified_test(test);
      for (int64_t x = 0; x < 5; ++x)
        for (int64_t y = 0; y < 8; ++y)
          ASSERT_EQ(at(test, x, y), at(simple, x, y)) << fmt::format("{} became {}", test, simple);
    }
  }
  EXPECT_EQ(simplified_test(less(i * 8 + j, 8)), less(i, 1));
}

TEST(Tests, ConjunctsMultiplyToTheCondition) {
  const Expr i = Expr::axis(0, 9), j = Expr::axis(1, 9);
  const Expr a = greater_equal(i, 3), b = less(i, j), c = less(j, 7);
  for (const Expr& condition :
       {a, a * b, a * b * c, symbolic::logical_and(symbolic::logical_not(a), b),
        symbolic::logical_and(symbolic::logical_and(greater_equal(i, 2), less(i, 4)), c),
        symbolic::logical_or(a, b)}) {
    Expr product = 1;
    for (const Expr& conjunct : conjuncts(condition)) product = product * conjunct;
    EXPECT_EQ(product, condition);
  }
  EXPECT_EQ(conjuncts(symbolic::logical_and(symbolic::logical_not(a), b)).size(), 2U);
  EXPECT_EQ(conjuncts(symbolic::logical_or(a, b)).size(), 1U);
}

}  // namespace
}  // namespace luminal::kernel
