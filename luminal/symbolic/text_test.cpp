#include "luminal/symbolic/text.h"

#include <gtest/gtest.h>

#include <limits>

#include "luminal/symbolic/test_util.h"

namespace luminal::symbolic {
namespace {

const Expr kN = Expr::variable("n", {1, 4096});
const Expr kM = Expr::variable("m", {1, 4096});
const Expr kX = Expr::variable("x", {Interval::kNegInf, kUnbounded});
const Expr kI0 = Expr::axis(0, 64);
const Expr kI1 = Expr::axis(1, kN);

const std::vector<Expr>& symbols() {
  static const std::vector<Expr> list{kN, kM, kX, kI0, kI1};
  return list;
}

TEST(Text, ReadsAsItWasWritten) {
  EXPECT_EQ(to_string(Expr()), "0");
  EXPECT_EQ(to_string(-kN), "-n");
  EXPECT_EQ(to_string(8 * kI0 + kI1 - 3), "8*i0 + i1 - 3");
  EXPECT_EQ(to_string(3 - kX), "-x + 3");
  EXPECT_EQ(to_string(-2 * kX * kX), "-2*x*x");
  EXPECT_EQ(to_string(floor_div(kX, 8)), "x / 8");
  EXPECT_EQ(to_string(floor_div(kX + 1, 8) * 8), "8*((x + 1) / 8)");
  EXPECT_EQ(to_string(-floor_div(kX, kN)), "-(x / n)");
  EXPECT_EQ(to_string(floor_div(kX, kN * kM)), "x / (m*n)");
  EXPECT_EQ(to_string(mod(kX, 8)), "x % 8");
  EXPECT_EQ(to_string(mod(kX + 3, kN) * kM), "m*((x + 3) % n)");
  EXPECT_EQ(to_string(mod(floor_div(kX, 4), 2)), "x / 4 % 2");
  EXPECT_EQ(to_string(kM + mod(kI0, 8)), "m + i0 % 8");
  EXPECT_EQ(to_string(min(kX, kN)), "min(n, x)");
  EXPECT_EQ(to_string(max(kX, 4) + 3), "max(x, 4) + 3");
  EXPECT_EQ(to_string(max(max(kX, kN), kM)), "max(m, n, x)");
  EXPECT_EQ(to_string(less(kX, 3)), "x < 3");
  EXPECT_EQ(to_string(greater_equal(kX, kN)), "n <= x");
  EXPECT_EQ(to_string(greater(kN, kX)), "n > x");
  EXPECT_EQ(to_string(not_equal(kX, kN)), "n != x");
  EXPECT_EQ(to_string(equal(kX, 3) * kN + 1), "n*(x == 3) + 1");
  EXPECT_EQ(fmt::format("[{}]", kN + kM), "[m + n]");
}

TEST(Text, ExtremeNumbersSurvive) {
  for (const int64_t value :
       {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(parse(to_string(Expr(value)), symbols()), Expr(value));
    const Expr sum = kX * value + value;
    EXPECT_EQ(parse(to_string(sum), symbols()), sum) << to_string(sum);
  }
}

TEST(CText, UsesPlainOperatorsOnlyWhereTheyAreFloors) {
  EXPECT_EQ(c_text(floor_div(kI0, 8)), "i0 / 8");
  EXPECT_EQ(c_text(mod(kI0, 8)), "i0 % 8");
  EXPECT_EQ(c_text(floor_div(kI0 + kN, kM)), "(n + i0) / m");
  EXPECT_EQ(c_text(floor_div(kX, 8)), "floor_div(x, 8)");
  EXPECT_EQ(c_text(mod(kX, 8)), "x - 8*floor_div(x, 8)");
  EXPECT_EQ(c_text(floor_div(kI0 - 70, 8)), "(i0 + 2) / 8 - 9");
  EXPECT_EQ(c_text(floor_div(kI0 - kN, kM)), "-floor_div(n - i0 - 1, m) - 1");
  // i1 - n is negative always; its mirror image is not.
  EXPECT_EQ(c_text(floor_div(kI1 - kN, 8)), "-((n - i1 + 7) / 8)");
  EXPECT_EQ(c_text(min(min(kX, kN), kM)), "min(min(m, n), x)");
  EXPECT_EQ(c_text(Expr(std::numeric_limits<int64_t>::min())), "-9223372036854775807 - 1");
}

TEST(Parse, UnderstandsEveryOperator) {
  const auto read = [](std::string_view text) { return parse(text, symbols()); };
  EXPECT_EQ(read(" 1+2 * 3 "), Expr(7));
  EXPECT_EQ(read("(1 + 2)*3"), Expr(9));
  EXPECT_EQ(read("7 - 2 - 1"), Expr(4));
  EXPECT_EQ(read("-7 / 2"), Expr(-4));
  EXPECT_EQ(read("-7 % 2"), Expr(1));
  EXPECT_EQ(read("7 / 2 * 2"), Expr(6));
  EXPECT_EQ(read("--n"), kN);
  EXPECT_EQ(read("min(n, m, x)"), min(kN, min(kM, kX)));
  EXPECT_EQ(read("max(n, 3)"), max(kN, 3));
  EXPECT_EQ(read("ceil_div(x, 3) + mod(x, 5) + floor_div(x, 7)"),
            ceil_div(kX, 3) + mod(kX, 5) + floor_div(kX, 7));
  EXPECT_EQ(read("select(x > 0 && x != 3, n, m)"),
            select(logical_and(greater(kX, 0), not_equal(kX, 3)), kN, kM));
  EXPECT_EQ(read("x < 3 || !(x <= 5)"), logical_or(less(kX, 3), greater(kX, 5)));
  EXPECT_EQ(read("1 < 2 == 1"), Expr(1));
  EXPECT_EQ(read("-9223372036854775808"), Expr(std::numeric_limits<int64_t>::min()));
}

struct BadText {
  const char* text;
  const char* message;
};

class ParseErrors : public testing::TestWithParam<BadText> {};

TEST_P(ParseErrors, NameThePosition) {
  try {
    parse(GetParam().text, symbols());
    FAIL() << GetParam().text << " was accepted";
  } catch (const UserError& error) {
    EXPECT_EQ(error.what(), fmt::format("parse: \"{}\", {}", GetParam().text, GetParam().message));
  }
}

INSTANTIATE_TEST_SUITE_P(
    List, ParseErrors,
    testing::Values(
        BadText{"", "character 1: expected a value before the end"},
        BadText{"n +", "character 4: expected a value before the end"},
        BadText{"(n + 1", "character 7: expected ')' before the end"},
        BadText{"min(n, 2]", "character 9: expected ')', found ']'"},
        BadText{"n m", "character 3: expected an operator or the end, found 'm'"},
        BadText{"n + ?", "character 5: expected a value, found '?'"},
        BadText{"n + batch", "character 5: the name \"batch\" is unknown"},
        BadText{"foo(n)", "character 1: the function \"foo\" is unknown"},
        BadText{"min(n)", "character 1: min takes 2 or more arguments, not 1"},
        BadText{"mod(1, 2, 3)", "character 1: mod takes 2 arguments, not 3"},
        BadText{"select()", "character 1: select takes 3 arguments, not 0"},
        BadText{"99999999999999999999",
                "character 1: the number 99999999999999999999 does not fit into 64 bits"},
        BadText{"n / 0", "character 3: floor_div: n is divided by zero"},
        BadText{"n && m",
                "character 3: logical_and: n may be other than 0 and 1: compare it with "
                "something first"},
        BadText{"9223372036854775807 + 1",
                "character 21: symbolic: 9223372036854775807 + 1 does not fit into 64 bits"}));

TEST(ParseErrors, DeepNestingIsRefusedNotACrash) {
  const std::string text = std::string(100000, '(') + "n" + std::string(100000, ')');
  EXPECT_THROW(parse(text, symbols()), UserError);
  EXPECT_THROW(parse(std::string(100000, '-') + "n", symbols()), UserError);
}

}  // namespace
}  // namespace luminal::symbolic
