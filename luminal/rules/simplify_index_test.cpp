#include "luminal/rules/simplify_index.h"

#include <gtest/gtest.h>

#include "luminal/rules/index_text.h"
#include "luminal/rules/plain_program.h"

namespace luminal::rules {
namespace {

using symbolic::floor_div;
using symbolic::mod;

const Expr kHeight = Expr::variable("height", {1, 4096});
const Expr kWidth = Expr::variable("width", {1, 4096});
const Expr kAny = Expr::variable("any", {-1000, 1000});
const Expr kI = Expr::axis(0, 3 * kHeight);
const Expr kJ = Expr::axis(1, kHeight);
const Expr kK = Expr::axis(2, kWidth);

std::string simplified(std::vector<Expr> exprs) {
  const Simplified result = simplify_index(exprs);
  EXPECT_LE(result.cost_after, result.cost_before);
  EXPECT_EQ(result.cost_after, result.program.cost());
  const IndexCode code = c_code(result.program);
  std::string text;
  for (const auto& [name, value] : code.temporaries) text += name + " = " + value + "; ";
  for (const std::string& value : code.results)
    text += (&value == &code.results[0] ? "" : ", ") + value;
  return text;
}

TEST(SimplifyIndex, NothingAsksForNothing) {
  const Simplified result = simplify_index({});
  EXPECT_TRUE(result.program.outputs().empty());
  EXPECT_EQ(result.stop, egraph::StopReason::kFinished);
}

TEST(SimplifyIndex, LeavesStayLeaves) {
  EXPECT_EQ(simplified({7, kI, -3, kAny}), "7, i0, -3, any");
}

TEST(SimplifyIndex, StridesBecomeAHornerForm) {
  EXPECT_EQ(simplified({(kI * kHeight + kJ) * kWidth + kK}), "(i0 * height + i1) * width + i2");
}

TEST(SimplifyIndex, CommonFactorsComeBack) {
  EXPECT_EQ(simplified({12 * kI + 12 * kJ + 12 * kWidth * kK}), "(i2 * width + i0 + i1) * 12");
  const Expr sum = kHeight + kWidth;
  EXPECT_EQ(simplify_index(std::array{sum * (kI + kJ)}).cost_after, 4);  // (h + w) * (i + j)
}

TEST(SimplifyIndex, QuotientAndRemainderShareOneDivision) {
  EXPECT_EQ(simplified({floor_div(kI, 12), mod(kI, 12)}), "t0 = i0 / 12; t0, i0 - t0 * 12");
  EXPECT_EQ(simplified({mod(kI, 12)}), "i0 % 12");
}

TEST(SimplifyIndex, PowersOfTwoShiftAndMaskForAnySign) {
  EXPECT_EQ(simplified({floor_div(kAny, 8), mod(kAny, 8)}), "any >> 3, any & 7");
}

TEST(SimplifyIndex, ALargerQuotientComesFromASmallerOne) {
  EXPECT_EQ(simplified({floor_div(kI, kWidth), floor_div(kI, kWidth * 8)}),
            "t0 = i0 / width; t0, t0 >> 3");
}

TEST(SimplifyIndex, AQuotientOfTwoValuesIsAComparison) {
  const Expr below_24 = Expr::axis(3, 24);
  EXPECT_EQ(simplified({floor_div(below_24, 13)}), "12 < i3");
  EXPECT_EQ(simplify_index(std::array{mod(below_24, 13)}).cost_after, 3);
}

TEST(SimplifyIndex, ANegativeNumeratorIsMirrored) {
  const Expr negative = Expr::variable("neg", {-1000, -1});
  EXPECT_EQ(simplified({floor_div(negative, 12)}), "-1 - (-1 - neg) / 12");
}

TEST(SimplifyIndex, PaddingIsOneUnsignedComparison) {
  const Expr value = kJ + kK - 1;
  const Expr inside =
      symbolic::logical_and(symbolic::greater_equal(value, 0), symbolic::less(value, kHeight));
  EXPECT_EQ(simplified({value, inside}), "t0 = i1 + i2 - 1; t0, in_range(t0, height)");
}

TEST(SimplifyIndex, TestsAreCombinedWithoutProducts) {
  const Expr a = symbolic::less(kI, kK), b = symbolic::less(kJ, kWidth),
             c = symbolic::equal(kI, kJ);
  EXPECT_EQ(simplified({symbolic::logical_and(a, b)}), "(i0 < i2) & (i1 < width)");
  EXPECT_EQ(simplified({symbolic::logical_or(a, b)}), "(i1 < width) | (i0 < i2)");
  EXPECT_EQ(simplified({c, 1 - c}), "i0 == i1, i0 != i1");
  EXPECT_EQ(simplified({symbolic::select(c, kWidth, kHeight)}), "(i0 == i1) ? width : height");
  EXPECT_EQ(simplified({c * 12}), "(i0 == i1) ? 12 : 0");
}

TEST(SimplifyIndex, MinimaAndMaximaKeepTheirAddendsInside) {
  EXPECT_EQ(simplified({symbolic::min(kI + kJ, kWidth)}), "min(i0 + i1, width)");
  EXPECT_EQ(simplified({symbolic::max(kAny, 0) * 12 + kK}), "max(any, 0) * 12 + i2");
  EXPECT_EQ(simplified({symbolic::max(0, symbolic::min(kAny + kI, kHeight - 1))}),
            "max(0, min(height - 1, any + i0))");
}

TEST(SimplifyIndex, SumsAreSharedBetweenExpressions) {
  const Expr flat = kI * kWidth + kK;
  const Simplified both = simplify_index(std::array{floor_div(flat, 12), flat + kJ});
  EXPECT_EQ(both.cost_after, simplify_index(std::array{floor_div(flat, 12)}).cost_after + 1);
}

TEST(SimplifyIndex, ABudgetEndsWithAReasonAndACompleteResult) {
  const std::array exprs{(kI * kHeight + kJ) * kWidth + kK + mod(kI * kJ, 12)};
  const int64_t plain = plain_program(exprs).cost();
  const Simplified few = simplify_index(exprs, {.budget = {.iterations = 1}});
  EXPECT_EQ(few.stop, egraph::StopReason::kIterations);
  EXPECT_EQ(few.cost_after, plain);
  const Simplified small = simplify_index(exprs, {.budget = {.rows = 30}});
  EXPECT_EQ(small.stop, egraph::StopReason::kRows);
  EXPECT_LE(small.cost_after, plain);
  const Simplified quick = simplify_index(exprs, {.budget = {.seconds = 1e-9}});
  EXPECT_EQ(quick.stop, egraph::StopReason::kTime);
  EXPECT_EQ(quick.cost_after, plain);
  const Simplified full = simplify_index(exprs);
  EXPECT_EQ(full.stop, egraph::StopReason::kFinished);
  EXPECT_LT(full.cost_after, plain);
}

TEST(SimplifyIndex, FormsThatDoNotFitIntoWordsAreLeftAlone) {
  const Expr huge = kAny * INT64_MAX + kI * INT64_MIN + INT64_MIN;
  const Simplified result = simplify_index(std::array{huge, floor_div(huge, INT64_MAX)});
  EXPECT_EQ(result.program.outputs().size(), 2u);
  EXPECT_LE(result.cost_after, result.cost_before);
}

TEST(SimplifyIndex, ASimplifierGivesTheSameProgramAgain) {
  const std::array exprs{(kI * kHeight + kJ) * kWidth + kK, floor_div(kI, 12), mod(kI, 12)};
  IndexSimplifier simplifier;
  const auto text = [&] { return c_code(simplifier.simplify(exprs).program); };
  const IndexCode first = text();
  simplifier.simplify(std::array{kAny * 3});
  const IndexCode again = text();
  EXPECT_EQ(first.results, again.results);
  EXPECT_EQ(c_code(simplify_index(exprs).program).results, first.results);
}

}  // namespace
}  // namespace luminal::rules
