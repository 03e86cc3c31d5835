// Floor division against brute force over all small values, negative ones included.
#include <gtest/gtest.h>

#include <array>

#include "luminal/symbolic/test_util.h"

namespace luminal::symbolic {
namespace {

int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// Checks quotient and remainder of a*x + b*y + c by d at every point of the box.
void check_everywhere(int64_t a, const Expr& x, Interval xs, int64_t b, const Expr& y, Interval ys,
                      int64_t c, int64_t d) {
  const std::array symbols{x, y};
  const Expr value = a * x + b * y + c;
  const Expr quotient = floor_div(value, d), remainder = mod(value, d);
  const std::array results{quotient, remainder, ceil_div(value, d)};
  const CompiledExpr compiled(results, symbols);
  for (int64_t i = xs.lo; i <= xs.hi; ++i) {
    for (int64_t j = ys.lo; j <= ys.hi; ++j) {
      const int64_t number = a * i + b * j + c;
      std::array<int64_t, 3> out{};
      compiled.run(std::array{i, j}, out);
      ASSERT_EQ(out[0], floor_quotient(number, d))
          << number << " / " << d << ": " << to_string(quotient);
      ASSERT_EQ(out[1], number - d * floor_quotient(number, d)) << number << " % " << d;
      ASSERT_EQ(out[2], -floor_quotient(-number, d)) << "ceiling of " << number << " / " << d;
      ASSERT_TRUE(quotient.bounds().contains(out[0])) << number << " / " << d;
      ASSERT_TRUE(remainder.bounds().contains(out[1])) << number << " % " << d;
    }
  }
}

TEST(FloorDiv, AgreesWithBruteForceForAllSmallLinearForms) {
  const Interval xs{-5, 6}, ys{0, 3};
  const Expr x = Expr::variable("x", xs), y = Expr::axis(0, 4);
  for (int64_t a = -9; a <= 9; a += 1) {
    for (int64_t b : {-4, -1, 0, 2, 3, 8}) {
      for (int64_t c : {-9, -1, 0, 1, 5, 16}) {
        for (int64_t d : {-8, -3, -1, 1, 2, 4, 6, 8, 12}) {
          ASSERT_NO_FATAL_FAILURE(check_everywhere(a, x, xs, b, y, ys, c, d))
              << a << "*x + " << b << "*i0 + " << c << " by " << d;
        }
      }
    }
  }
}

TEST(FloorDiv, NestedQuotientsAndRemaindersAgreeWithBruteForce) {
  const Expr x = Expr::variable("x", {-40, 40});
  for (int64_t d : {-6, -4, 2, 3, 8}) {
    for (int64_t e : {-4, 2, 3, 4, 6}) {
      for (int64_t k = -7; k <= 7; ++k) {
        const std::array results{floor_div(floor_div(x, d) + k, e), mod(mod(x + k, d), e),
                                 floor_div(mod(x, d) * 3 + k, e), mod(floor_div(k - x, d), e),
                                 floor_div(k - floor_div(x, d), e)};
        const CompiledExpr compiled(results, std::array{x});
        for (int64_t v = -40; v <= 40; ++v) {
          const auto div = floor_quotient;
          const auto rem = [](int64_t p, int64_t q) { return p - q * floor_quotient(p, q); };
          std::array<int64_t, 5> out{};
          compiled.run(std::array{v}, out);
          const std::array expected{div(div(v, d) + k, e), rem(rem(v + k, d), e),
                                    div(rem(v, d) * 3 + k, e), rem(div(k - v, d), e),
                                    div(k - div(v, d), e)};
          ASSERT_EQ(out, expected)
              << "x = " << v << ", d = " << d << ", e = " << e << ", k = " << k;
        }
      }
    }
  }
}

TEST(FloorDiv, SymbolicDivisorsOfEverySignAgreeWithBruteForce) {
  const Expr x = Expr::variable("x", {-12, 12});
  for (const Interval range : {Interval{1, 5}, Interval{-5, -1}, Interval{-3, 3}}) {
    const Expr d = Expr::variable("d", range);
    const std::array results{floor_div(x * d + x, d), mod(x + 3 * d, d),
                             floor_div(2 * x, 2 * d), floor_div(x * d - 1, d * d),
                             floor_div(-x, -d),       mod(mod(x, d), d)};
    const CompiledExpr compiled(results, std::array{x, d});
    for (int64_t v = -12; v <= 12; ++v) {
      for (int64_t w = range.lo; w <= range.hi; ++w) {
        if (w == 0) continue;
        std::array<int64_t, 6> out{};
        compiled.run(std::array{v, w}, out);
        const int64_t rest = v - w * floor_quotient(v, w);
        const std::array expected{floor_quotient(v * w + v, w), rest,
                                  floor_quotient(v, w),         floor_quotient(v * w - 1, w * w),
                                  floor_quotient(v, w),         rest};
        ASSERT_EQ(out, expected) << "x = " << v << ", d = " << w;
      }
    }
  }
}

TEST(FloorDiv, DividingByTheConstantZeroIsAnError) {
  const Expr n = Expr::variable("n");
  for (auto* operation : {&floor_div, &ceil_div, &mod}) {
    try {
      (*operation)(n + 1, n - n);
      FAIL() << "no error";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("is divided by zero"), std::string::npos)
          << error.what();
    }
  }
}

TEST(FloorDiv, NoFactAboutSignsIsAssumed) {
  const Expr x = Expr::variable("x", {-8, 8}), d = Expr::variable("d", {-8, 8});
  EXPECT_FALSE(floor_div(x, 16).is_constant());  // -1 or 0
  EXPECT_FALSE(floor_div(Expr::axis(0, 4), d).is_constant());
  EXPECT_NE(mod(x, 16), x);
  EXPECT_EQ(floor_div(x * d, d), x);  // exact for every sign
}

}  // namespace
}  // namespace luminal::symbolic
