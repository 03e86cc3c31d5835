#include <gtest/gtest.h>
#include "luminal/symbolic/test_util.h"
namespace luminal::symbolic {
TEST(Equalities, Basic) {
  Expr i = Expr::axis(0, 64), j = Expr::axis(1, 8);
  Expr n = Expr::variable("n", {1, 4096}), m = Expr::variable("m", {1, 4096});
  Expr x = Expr::variable("x", {Interval::kNegInf, kUnbounded});
  EXPECT_EQ(floor_div(i, 8) * 8 + mod(i, 8), i);
  EXPECT_EQ(floor_div(n * 8 + j, 8), n);
  EXPECT_EQ(floor_div(63 - i, 8), 7 - floor_div(i, 8));
  Expr k = Expr::axis(2, n);
  EXPECT_EQ(floor_div(i * n + k, n), i);
  EXPECT_EQ(mod(i * n + k, n), k);
  EXPECT_TRUE(provably_ge(ceil_div(n, 8) * 8, n));
  EXPECT_TRUE(provably_ge(ceil_div(n, m) * m, n));
  EXPECT_EQ(min(n, m) + max(n, m), n + m);
  EXPECT_EQ(mod(mod(x, 8), 4), mod(x, 4));
  EXPECT_EQ(floor_div(mod(x, 8), 4).bounds(), (Interval{0, 1}));
  EXPECT_EQ(mod(x, 8).bounds(), (Interval{0, 7}));
  EXPECT_EQ(mod(floor_div(x, n), m).bounds(), (Interval{0, 4095}));
  EXPECT_TRUE(provably_less(mod(floor_div(x, n), m), m));
}
}  // namespace luminal::symbolic
