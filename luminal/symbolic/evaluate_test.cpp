#include "luminal/symbolic/evaluate.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "luminal/symbolic/test_util.h"

namespace luminal::symbolic {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

const Expr kN = Expr::variable("n", {1, 4096});
const Expr kX = Expr::variable("x", {Interval::kNegInf, kUnbounded});
const Expr kY = Expr::variable("y", {Interval::kNegInf, kUnbounded});
const Expr kI0 = Expr::axis(0, kN);

template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Evaluate, FindsValuesByName) {
  EXPECT_EQ(evaluate(kN * 2 + kI0, {{"n", 8}, {"i0", 7}}), 23);
  EXPECT_EQ(evaluate(5, {}), 5);
  EXPECT_EQ(evaluate(kI0, {{"i0", 9000}}), 9000);  // the extent is unknown, so is its violation
}

TEST(Evaluate, RefusesMissingValuesAndValuesOutOfRange) {
  EXPECT_EQ(error_of([] {
              evaluate(kN + kX, {{"n", 3}});
            }),
            "evaluate: no value is given for x in n + x");
  EXPECT_EQ(error_of([] {
              evaluate(kN + 1, {{"n", 0}});
            }),
            "evaluate: n = 0 is outside of its interval [1, 4096]");
  EXPECT_EQ(error_of([] {
              evaluate(kI0, {{"n", 4}, {"i0", 4}});
            }),
            "evaluate: i0 = 4 is outside of its extent n = 4");
  EXPECT_EQ(error_of([] {
              evaluate(kI0, {{"n", 4}, {"i0", -1}});
            }),
            "evaluate: i0 = -1 is outside of its extent n = 4");
}

TEST(Evaluate, DivisionByZeroNamesTheExpression) {
  EXPECT_EQ(error_of([] {
              evaluate(floor_div(kX, kY) + 1, {{"x", 3}, {"y", 0}});
            }),
            "evaluate: division by zero in x / y");
}

TEST(Evaluate, OverflowIsAnErrorNeverAWrap) {
  EXPECT_EQ(error_of([] {
              evaluate(kX + 1, {{"x", kMax}});
            }),
            "evaluate: the value of x + 1 does not fit into 64 bits");
  EXPECT_EQ(error_of([] {
              evaluate(kX * kY, {{"x", kMax}, {"y", 2}});
            }),
            "evaluate: the value of x*y does not fit into 64 bits");
  EXPECT_EQ(error_of([] {
              evaluate(-kX, {{"x", kMin}});
            }),
            "evaluate: the value of -x does not fit into 64 bits");
  const Expr cube = kX * kX * kX;
  EXPECT_EQ(error_of([&] {
              evaluate(cube, {{"x", kMax}});
            }),
            "evaluate: the value of x*x*x does not fit into 64 bits");
}

TEST(Evaluate, OverflowOnTheWayToAValueThatFitsIsNone) {
  // x * (y - 1) is stored as x*y - x, whose parts need more than 64 bits.
  EXPECT_EQ(evaluate(kX * (kY - 1), {{"x", kMax}, {"y", 2}}), kMax);
  EXPECT_EQ(evaluate(kX + kY, {{"x", kMax}, {"y", kMin}}), -1);
  EXPECT_EQ(evaluate(mod(kX * kY, 1000), {{"x", kMax}, {"y", kMax}}), 249);
}

TEST(CompiledExpr, EvaluatesManyExpressionsOverSlots) {
  const std::array slots{kI0, kN, kX};
  const std::array exprs{kI0 * kN, mod(kX, kN), min(kX, kN), Expr(7), kX, equal(kX, -5)};
  const CompiledExpr compiled(exprs, slots);
  ASSERT_EQ(compiled.size(), exprs.size());
  std::array<int64_t, 6> results{};
  compiled.run(std::array<int64_t, 3>{2, 3, -5}, results);
  EXPECT_EQ(results, (std::array<int64_t, 6>{6, 1, -5, 7, -5, 1}));
  EXPECT_EQ(compiled(std::array<int64_t, 3>{4, 5, 0}), 20);
}

TEST(CompiledExpr, ASymbolWithoutASlotIsAnError) {
  EXPECT_EQ(error_of([] { CompiledExpr(kN + kX, std::array{kN}); }),
            "compile: the symbol x has no slot");
}

TEST(CompiledExpr, LargeProgramsUseTheHeap) {
  Expr sum = 0;
  int64_t expected = 0;
  for (int64_t k = 2; k < 200; ++k) {
    sum += floor_div(kX, k) * k;
    expected += (1000000 / k) * k;
  }
  EXPECT_EQ(CompiledExpr(sum, std::array{kX})(std::array<int64_t, 1>{1000000}), expected);
}

}  // namespace
}  // namespace luminal::symbolic
