#include "luminal/symbolic/quotients.h"

#include <gtest/gtest.h>

namespace luminal::symbolic {
namespace {

TEST(Quotients, ExpressionsWithoutDivisionHaveNone) {
  const Expr n = Expr::variable("n");
  EXPECT_TRUE(quotients(7).empty());
  EXPECT_TRUE(quotients(3 * Expr::axis(0, n) + n).empty());
}

TEST(Quotients, ARemainderHoldsTheDivisionItIsMadeOf) {
  const Expr i = Expr::axis(0, 24);
  EXPECT_EQ(quotients(mod(i, 8)), (std::vector<Quotient>{{i, 8}}));
}

TEST(Quotients, EachDivisionIsGivenOnce) {
  const Expr i = Expr::axis(0, 24);
  EXPECT_EQ(quotients(floor_div(i, 8) + 5 * mod(i, 8)), (std::vector<Quotient>{{i, 8}}));
}

TEST(Quotients, InnerDivisionsComeBeforeTheOuterOne) {
  const Expr i = Expr::axis(0, 100), j = Expr::axis(1, 10);
  const Expr product = floor_div(i, 7) * j;
  EXPECT_EQ(quotients(floor_div(product, 3)), (std::vector<Quotient>{{i, 7}, {product, 3}}));
}

TEST(Quotients, ExtentsOfAxesAreNotSearched) {
  const Expr n = Expr::variable("n");
  EXPECT_TRUE(quotients(Expr::axis(0, floor_div(n, 8))).empty());
}

}  // namespace
}  // namespace luminal::symbolic
