#include "luminal/rules/index_program.h"

#include <gtest/gtest.h>

#include "luminal/rules/index_text.h"
#include "luminal/rules/plain_program.h"
#include "luminal/support/error.h"

namespace luminal::rules {
namespace {

const Expr kN = Expr::variable("n", {1, 1 << 20});
const Expr kAny = Expr::variable("any", {-100, 100});
const Expr kI = Expr::axis(0, kN);

int64_t apply(IndexOp op, int64_t a, int64_t b, int64_t c = 0) {
  return apply_index_op(op, std::array{a, b, c});
}

template <typename Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(IndexProgram, AnEmptyProgramCostsNothingAndHasNoResults) {
  const IndexProgram program;
  EXPECT_EQ(program.cost(), 0);
  EXPECT_TRUE(program.evaluate({}).empty());
  EXPECT_TRUE(c_code(program).results.empty());
}

TEST(IndexProgram, EqualNodesAreOne) {
  IndexProgram program;
  const IndexId i = program.add_leaf(kI), n = program.add_leaf(kN);
  EXPECT_EQ(program.add_leaf(kI), i);
  const IndexId sum = program.add(IndexOp::kAdd, {i, n}, kI + kN);
  EXPECT_EQ(program.add(IndexOp::kAdd, {i, n}, kI + kN), sum);
  EXPECT_NE(program.add(IndexOp::kSubtract, {i, n}, kI - kN), sum);
  EXPECT_EQ(program.nodes().size(), 4u);
}

TEST(IndexProgram, ALeafThatIsNoSymbolIsAnInternalError) {
  IndexProgram program;
  EXPECT_THROW(program.add_leaf(kI + 1), InternalError);
}

TEST(IndexProgram, DivisionsRoundDown) {
  EXPECT_EQ(apply(IndexOp::kFloorDiv, -7, 2), -4);
  EXPECT_EQ(apply(IndexOp::kRemainder, -7, 2), 1);
  EXPECT_EQ(apply(IndexOp::kFloorDiv, 7, -2), -4);
  EXPECT_EQ(apply(IndexOp::kRemainder, 7, -2), -1);
  EXPECT_EQ(apply(IndexOp::kRemainder, INT64_MIN, -1), 0);
  EXPECT_EQ(apply(IndexOp::kRemainder, INT64_MIN, 3), 1);
  EXPECT_EQ(apply(IndexOp::kShiftRight, -7, 1), apply(IndexOp::kFloorDiv, -7, 2));
  EXPECT_EQ(apply(IndexOp::kBitAnd, -7, 3), apply(IndexOp::kRemainder, -7, 4));
}

TEST(IndexProgram, RangesIncludeZeroAndExcludeTheExtent) {
  EXPECT_EQ(apply(IndexOp::kInRange, 0, 3), 1);
  EXPECT_EQ(apply(IndexOp::kInRange, 2, 3), 1);
  EXPECT_EQ(apply(IndexOp::kInRange, 3, 3), 0);
  EXPECT_EQ(apply(IndexOp::kInRange, -1, 3), 0);
  EXPECT_EQ(apply(IndexOp::kInRange, 0, 0), 0);
}

TEST(IndexProgram, OverflowAndDivisionByZeroAreErrors) {
  const std::string overflow = "index program: an intermediate value does not fit into 64 bits";
  EXPECT_EQ(message_of([] { apply(IndexOp::kAdd, INT64_MAX, 1); }), overflow);
  EXPECT_EQ(message_of([] { apply(IndexOp::kSubtract, INT64_MIN, 1); }), overflow);
  EXPECT_EQ(message_of([] { apply(IndexOp::kMultiply, INT64_MAX, 2); }), overflow);
  EXPECT_EQ(message_of([] { apply(IndexOp::kFloorDiv, INT64_MIN, -1); }), overflow);
  EXPECT_EQ(message_of([] { apply(IndexOp::kFloorDiv, 7, 0); }),
            "index program: 7 is divided by zero");
  EXPECT_EQ(message_of([] { apply(IndexOp::kRemainder, 7, 0); }),
            "index program: 7 is divided by zero");
}

TEST(IndexProgram, CostsFollowWhatTheHardwareDoes) {
  const auto cost = [](IndexOp op, const Expr& a, const Expr& b) {
    return index_cost(op, std::array{a, b});
  };
  EXPECT_EQ(cost(IndexOp::kAdd, kI, kN), 1);
  EXPECT_EQ(cost(IndexOp::kMultiply, kI, 8), 1);
  EXPECT_EQ(cost(IndexOp::kMultiply, 8, kI), 1);
  EXPECT_EQ(cost(IndexOp::kMultiply, kI, 12), 2);
  EXPECT_EQ(cost(IndexOp::kShiftRight, kI, 3), 1);
  EXPECT_EQ(cost(IndexOp::kFloorDiv, kI, 8), 2);
  EXPECT_EQ(cost(IndexOp::kFloorDiv, kI, 12), 12);
  EXPECT_EQ(cost(IndexOp::kFloorDiv, kAny, 12), 16);
  EXPECT_EQ(cost(IndexOp::kRemainder, kI, kN), 12);
}

TEST(IndexProgram, SharedNodesCostOnce) {
  const std::array exprs{symbolic::floor_div(kI, 12), symbolic::floor_div(kI, 12) + 1};
  EXPECT_EQ(plain_program(exprs).cost(), 13);
}

std::string text_of(const Expr& expr) {
  const IndexCode code = c_code(plain_program(std::array{expr}));
  std::string text;
  for (const auto& [name, value] : code.temporaries) text += name + " = " + value + "; ";
  return text + code.results.at(0);
}

TEST(IndexText, BindsAsCDoes) {
  const Expr j = Expr::axis(1, 64);
  EXPECT_EQ(text_of(kI * 64 + j), "64 * i0 + i1");
  EXPECT_EQ(text_of(symbolic::floor_div(kI + j, 12) * 5), "5 * ((i0 + i1) / 12)");
  EXPECT_EQ(text_of(-kI), "-i0");
  EXPECT_EQ(text_of(kN - kI - 1), "n - i0 - 1");
  EXPECT_EQ(text_of(symbolic::min(kI, j)), "min(i1, i0)");
  EXPECT_EQ(text_of(symbolic::greater_equal(kI, j) * 12), "12 * (i1 <= i0)");
  EXPECT_EQ(text_of(INT64_MIN), "-9223372036854775807 - 1");
}

TEST(IndexText, CallsFloorDivWhereTheSignIsNotKnown) {
  EXPECT_EQ(text_of(symbolic::floor_div(kAny, 12)), "floor_div(any, 12)");
  EXPECT_EQ(text_of(symbolic::floor_div(kI, 12)), "i0 / 12");
}

TEST(IndexText, NamesWhatIsUsedTwice) {
  const Expr q = symbolic::floor_div(kI, 12);
  const IndexCode code = c_code(plain_program(std::array{q, q * kN}), "shared");
  ASSERT_EQ(code.temporaries.size(), 1u);
  EXPECT_EQ(code.temporaries[0].name, "shared0");
  EXPECT_EQ(code.temporaries[0].text, "i0 / 12");
  EXPECT_EQ(code.results, (std::vector<std::string>{"shared0", "n * shared0"}));
}

}  // namespace
}  // namespace luminal::rules
