// Equalities and facts that must be found, not missed: what views, shapes and kernels ask. Each is
// one line of text, so that the list can be read and extended without knowing the library.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "luminal/symbolic/test_util.h"
#include "luminal/symbolic/text.h"

namespace luminal::symbolic {
namespace {

// The symbols of the lists below.
const std::vector<Expr>& symbols() {
  static const std::vector<Expr> list = [] {
    const Expr n = Expr::variable("n", {1, 4096}), m = Expr::variable("m", {1, 4096});
    const Expr past = Expr::variable("past"), seq = Expr::variable("seq", {1, kUnbounded});
    return std::vector<Expr>{
        n,
        m,
        past,
        seq,
        Expr::variable("k", {1, 64}),                          // a small positive number
        Expr::variable("x", {Interval::kNegInf, kUnbounded}),  // anything
        Expr::variable("y", {Interval::kNegInf, kUnbounded}),  // anything
        Expr::variable("flag", {0, 1}),
        Expr::axis(0, 64),
        Expr::axis(1, 8),
        Expr::axis(2, 4),
        Expr::axis(3, n),
        Expr::axis(4, m),
        Expr::axis(5, n * m),
        Expr::axis(6, past + seq),
        Expr::axis(7, seq),
    };
  }();
  return list;
}

Expr read(std::string_view text) { return parse(text, symbols()); }

struct Equality {
  const char* left;
  const char* right;
};

class FoundEqualities : public testing::TestWithParam<Equality> {};

TEST_P(FoundEqualities, HaveTheSameNormalForm) {
  EXPECT_EQ(read(GetParam().left), read(GetParam().right))
      << GetParam().left << "  ==  " << GetParam().right;
}

constexpr Equality kEqualities[] = {
    // Like terms in any order.
    {"(past + seq) - past", "seq"},
    {"n*m + m*n", "2*m*n"},
    {"(n + m)*(n - m)", "n*n - m*m"},
    {"(n + 1)*(n + 1) - n*n", "2*n + 1"},
    {"3*(n + 2*m) - (m + n)*2", "n + 4*m"},
    {"n*(m*k)", "(k*n)*m"},
    {"-(n - m)", "m - n"},
    // Split and merge of an axis.
    {"(i0/8)*8 + i0%8", "i0"},
    {"(x/8)*8 + x%8", "x"},
    {"(x/n)*n + x%n", "x"},
    {"(8*i2 + i1)/8", "i2"},
    {"(8*i2 + i1)%8", "i1"},
    {"(i4*n + i3)/n", "i4"},
    {"(i4*n + i3)%n", "i3"},
    {"(i5/n)*n + i5%n", "i5"},
    {"(n*8 + 7)/8", "n"},
    {"(x*n + i3)/n", "x"},
    {"((x*n + i3)*m + i4)/(n*m)", "x"},
    {"((i2*8 + i1)*n + i3)/n/8", "i2"},
    {"((i2*8 + i1)*n + i3)/n%8", "i1"},
    {"(i0*n + i3)/(8*n)", "i0/8"},
    {"(i0*n + i3)%(8*n)", "(i0%8)*n + i3"},
    {"i6*(past + seq)/(past + seq)", "i6"},
    {"(i0*(past + seq) + i6)/(past + seq)", "i0"},
    {"(i0*(past + seq) + i6)%(past + seq)", "i6"},
    {"(past + i7)/(past + seq)", "0"},
    {"(past + i7)%(past + seq)", "past + i7"},
    // Bounds settle quotients and remainders.
    {"i1/8", "0"},
    {"i1%8", "i1"},
    {"i3/n", "0"},
    {"i3%n", "i3"},
    {"i5/(n*m)", "0"},
    {"i5/n/m", "0"},
    {"(i5/n)%m", "i5/n"},
    {"(-1 - i1)/8", "-1"},
    {"(n - 1 - i3)/n", "0"},
    {"(n - 1 - i3)%n", "n - 1 - i3"},
    {"(i1 + i2)/11", "0"},
    {"n/8192", "0"},
    // Nested divisions and remainders.
    {"x/4/3", "x/12"},
    {"x/n/m", "x/(m*n)"},
    {"(x%8)%4", "x%4"},
    {"(x%12)%4", "x%4"},
    {"(x%4)%8", "x%4"},
    {"(x%8)/4", "(x/4)%2"},
    {"(x%(n*m))%n", "x%n"},
    {"(x%(n*m))/n", "(x/n)%m"},
    {"(x/4 + 3)/5", "(x + 12)/20"},
    {"(x/8)%4*8 + x%8", "x%32"},
    {"(x%8 + 8*y)%8", "x%8"},
    {"(x%n + y%n)%n", "(x + y)%n"},
    {"((x%n)*y)%n", "(x*y)%n"},
    // Constants and common factors.
    {"(x + 16)/8", "x/8 + 2"},
    {"(x - 1)/8", "(x + 7)/8 - 1"},
    {"(x + 17)%8", "(x + 1)%8"},
    {"(4*x + 2)/8", "(2*x + 1)/4"},
    {"(4*x + 3)/8", "x/2"},
    {"(4*x + 3)%8", "4*(x%2) + 3"},
    {"(4*x)%8", "4*(x%2)"},
    {"(12*x + 8*y + 4)/20", "(3*x + 2*y + 1)/5"},
    {"(n*x)/(n*y)", "x/y"},
    {"(4*i0 + i2)/8", "i0/2"},
    {"(9*x)/8", "x + x/8"},
    {"(9*x)%8", "x%8"},
    {"(n*x + n)/n", "x + 1"},
    {"(2*n*m)/(4*n)", "m/2"},
    // Flips: negative numerators are floored.
    {"(63 - i0)/8", "7 - i0/8"},
    {"(63 - i0)%8", "7 - i0%8"},
    {"-x/8", "-((x + 7)/8)"},
    {"(-x - 1)/8", "-1 - x/8"},
    {"-(-x/8)", "ceil_div(x, 8)"},
    {"(n*m - 1 - i5)/n", "m - 1 - i5/n"},
    {"(n*m - 1 - i5)%n", "n - 1 - i5%n"},
    {"x/(-8)", "-x/8"},
    {"mod(x, -8)", "-(-x%8)"},
    {"mod(mod(x, -8), 8)", "x%8"},
    // Ceilings.
    {"ceil_div(8*n, 8)", "n"},
    {"ceil_div(x, 8)", "(x + 7)/8"},
    {"ceil_div(x, n)", "(x - 1)/n + 1"},
    {"ceil_div(ceil_div(x, 4), 2)", "ceil_div(x, 8)"},
    {"ceil_div(n*m + 1, n)", "m + ceil_div(1, n)"},
    {"ceil_div(i3 + 1, n)", "1"},
    {"8*ceil_div(n, 8)%8", "0"},
    // Minimum and maximum.
    {"min(x, y)", "min(y, x)"},
    {"min(x, min(y, n))", "min(min(n, x), y)"},
    {"min(x, x)", "x"},
    {"min(x + 3, y + 3)", "min(x, y) + 3"},
    {"min(4*x, 4*y)", "4*min(x, y)"},
    {"max(n*x, n*y)", "n*max(x, y)"},
    {"max(-x, -y)", "-min(x, y)"},
    {"min(x, y) + max(x, y)", "x + y"},
    {"max(x, y) - x", "max(0, y - x)"},
    {"min(i3, n)", "i3"},
    {"max(n, 1)", "n"},
    {"min(n, 5000)", "n"},
    {"max(0, i3)", "i3"},
    {"min(past + seq, past)", "past"},
    {"min(8*ceil_div(n, 8), n)", "n"},
    {"min(max(i0, 0), 63)", "i0"},
    // Conditions.
    {"i3 < n", "1"},
    {"i3 >= n", "0"},
    {"i0 >= 64", "0"},
    {"x < y", "!(x >= y)"},
    {"x < y", "y > x"},
    {"x <= y", "x < y + 1"},
    {"2*x <= 7", "x <= 3"},
    {"2*x == 7", "0"},
    {"4*x == 8*y", "x == 2*y"},
    {"x == y", "y == x"},
    {"(x < 3) && (x < 3)", "x < 3"},
    {"flag && flag", "flag*flag"},
    {"select(x < y, n, n)", "n"},
    {"select(i3 < n, x, y)", "x"},
    {"(i0/8 < 8) && (i0%8 < 8)", "1"},
    {"past + i7 < past + seq", "1"},
    {"i5/n < m", "1"},
    {"i4*n + i3 < n*m", "1"},
};

INSTANTIATE_TEST_SUITE_P(List, FoundEqualities, testing::ValuesIn(kEqualities));

class FoundFacts : public testing::TestWithParam<const char*> {};

TEST_P(FoundFacts, AreDecidedToBeTrue) { EXPECT_EQ(read(GetParam()), Expr(1)) << GetParam(); }

constexpr const char* kFacts[] = {
    "ceil_div(n, 8)*8 >= n",
    "ceil_div(n, 8)*8 < n + 8",
    "ceil_div(n, m)*m >= n",
    "ceil_div(x, m)*m < x + m",
    "(x/8)*8 <= x",
    "(x/8)*8 > x - 8",
    "x%n < n",
    "x%n >= 0",
    "(x/n)%m < m",
    "(x/n)%m >= 0",
    "mod(x, -8) <= 0",
    "n*m >= n",
    "n*m >= n + m - 1",
    "n*n >= n",
    "min(x, y) <= x",
    "max(x, y) >= y",
    "min(x, y) <= max(x, y)",
    "max(x, 4) >= 4",
    "(n + 7)/8 <= n",
    "n/2 < n",
    "5*i0/8 <= 39",
    "i0 - 5*i0/8 >= 0",
    "i0/8*8 + i1 < 64",
    "(i4*n + i3)/n == i4",
    "i6*seq + i7 < (past + seq)*seq",
    "(i0*n + i3)*m + i4 < 64*n*m",
    "x/2 + (x + 1)/2 == x",
    "5*x/8 - x + (3*x + 7)/8 == 0",
};

INSTANTIATE_TEST_SUITE_P(List, FoundFacts, testing::ValuesIn(kFacts));

TEST(Proofs, NothingFalseIsProved) {
  // Each holds for some values and fails for others.
  for (const char* text :
       {"x >= 0", "n >= 2", "past >= 1", "i3 < m", "x/8*8 == x", "min(x, y) == x", "i6 < seq",
        "n*m >= 2*n", "x%n == 0", "past/2 < past"}) {
    const Expr fact = read(text);
    EXPECT_FALSE(fact.is_constant()) << text << " became " << fact.constant_value().value_or(-1);
  }
}

TEST(Proofs, EqualityIsProvedBeyondEqualNormalForms) {
  const Expr left = read("x/2 + (x + 1)/2"), right = read("x");
  EXPECT_NE(left, right);
  EXPECT_TRUE(provably_equal(left, right));
  EXPECT_FALSE(provably_equal(read("x/2*2"), right));
}

TEST(Proofs, DivisibilityIsDecidedForSymbolicDivisors) {
  EXPECT_TRUE(divisible_by(read("8*x + 16"), 8));
  EXPECT_TRUE(divisible_by(read("n*x + n*m"), read("n")));
  EXPECT_TRUE(divisible_by(read("x - x%8"), 8));
  EXPECT_TRUE(divisible_by(read("ceil_div(x, 8)*8"), 4));
  EXPECT_TRUE(divisible_by(read("x*(past + seq)"), read("past + seq")));
  EXPECT_TRUE(divisible_by(read("min(8*x, 16*y)"), 8));
  EXPECT_TRUE(divisible_by(0, read("n")));
  EXPECT_FALSE(divisible_by(read("8*x + 4"), 8));
  EXPECT_FALSE(divisible_by(read("n + 1"), read("n")));
  EXPECT_FALSE(divisible_by(read("x"), 2));
  EXPECT_FALSE(divisible_by(read("x"), 0));
  EXPECT_EQ(exact_div(read("n*n - m*m"), read("n - m")), read("n + m"));
  EXPECT_EQ(exact_div(read("6*n*m"), read("2*m")), read("3*n"));
  EXPECT_EQ(exact_div(read("x"), read("n")), std::nullopt);
}

}  // namespace
}  // namespace luminal::symbolic
