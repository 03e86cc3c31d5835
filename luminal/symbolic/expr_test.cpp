#include "luminal/symbolic/expr.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "luminal/symbolic/test_util.h"
#include "luminal/symbolic/text.h"

namespace luminal::symbolic {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

const Expr kN = Expr::variable("n", {1, 4096});
const Expr kM = Expr::variable("m", {1, 4096});
const Expr kX = Expr::variable("x", {Interval::kNegInf, kUnbounded});

template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Expr, DefaultIsZeroAndConstantsConvert) {
  EXPECT_EQ(Expr(), Expr(0));
  EXPECT_EQ(Expr(5).constant_value(), 5);
  EXPECT_TRUE(Expr(kMin).is_constant(kMin));
  EXPECT_EQ(kN.constant_value(), std::nullopt);
  EXPECT_EQ(sizeof(Expr), sizeof(void*));
}

TEST(Expr, ConstantsComeFromEveryIntegerTypeAndFromNothingElse) {
  EXPECT_EQ(Expr(size_t{5}), Expr(5));
  EXPECT_EQ(Expr(5LL), Expr(5));
  EXPECT_EQ(Expr(uint8_t{255}), Expr(255));
  EXPECT_EQ(kN + size_t{1}, kN + 1);
  EXPECT_EQ(Expr(static_cast<uint64_t>(kMax)), Expr(kMax));
  EXPECT_EQ(error_of([] { Expr(static_cast<uint64_t>(kMax) + 1); }),
            "symbolic: 9223372036854775808 does not fit into 64 bits with a sign");
  static_assert(!std::is_convertible_v<double, Expr>);
}

TEST(Expr, SymbolsAreKnownByNameAndRange) {
  EXPECT_EQ(Expr::variable("n", {1, 4096}), kN);
  EXPECT_NE(Expr::variable("n", {0, 4096}), kN);
  EXPECT_EQ(Expr::variable("n", {4, 4}), Expr(4));
  EXPECT_EQ(Expr::axis(0, kN), Expr::axis(0, kN));
  EXPECT_NE(Expr::axis(0, kN), Expr::axis(0, kM));
  EXPECT_NE(Expr::axis(0, kN), Expr::axis(1, kN));
  EXPECT_EQ(Expr::axis(3, 1), Expr(0));
  EXPECT_EQ(Expr::axis(3, kN).axis_id(), 3);
  EXPECT_EQ(Expr::axis(3, kN).axis_extent(), kN);
  EXPECT_EQ(Expr::axis(3, kN).name(), "i3");
  EXPECT_EQ(kN.name(), "n");
}

TEST(Expr, BadSymbolsAreRefused) {
  EXPECT_EQ(error_of([] { Expr::variable(""); }),
            "variable: \"\" is no name: use letters, digits and _, no digit first");
  EXPECT_EQ(error_of([] { Expr::variable("a-b"); }),
            "variable: \"a-b\" is no name: use letters, digits and _, no digit first");
  EXPECT_EQ(error_of([] { Expr::variable("i12"); }),
            "variable: \"i12\" is the name of an axis: use Expr::axis or another name");
  EXPECT_EQ(error_of([] { Expr::variable("min"); }),
            "variable: \"min\" is a word of the text form: use another name");
  EXPECT_EQ(error_of([] {
              Expr::variable("n", {3, 2});
            }),
            "variable: n has the empty interval [3, 2]");
  EXPECT_EQ(error_of([] { Expr::axis(-1, 4); }), "axis: the id -1 is negative");
  EXPECT_EQ(error_of([] { Expr::axis(1, Expr::axis(0, 4)); }),
            "axis: the extent i0 of i1 holds an axis");
  EXPECT_EQ(error_of([] { (kN + 1).name(); }), "name: n + 1 is neither a variable nor an axis");
  EXPECT_EQ(error_of([] { kN.axis_id(); }), "axis_id: n is no axis");
  EXPECT_EQ(error_of([] { kN.axis_extent(); }), "axis_extent: n is no axis");
}

TEST(Expr, SymbolsThatOccurAreListedInOrder) {
  const Expr i0 = Expr::axis(0, kM), i2 = Expr::axis(2, 8);
  const Expr expr = floor_div(i2 + kX, 3) * kN + min(i0, kX);
  EXPECT_EQ(expr.variables(), (std::vector{kN, kX}));  // m is only an extent
  EXPECT_EQ(expr.axes(), (std::vector{i0, i2}));
  EXPECT_TRUE(expr.depends_on(i2));
  EXPECT_FALSE(expr.depends_on(kM));
  EXPECT_TRUE((expr - expr).variables().empty());
}

TEST(Expr, OrderAndHashFollowStructureAlone) {
  std::vector<Expr> exprs{kX, kN + 1, Expr(3), kN, floor_div(kX, 8), kN * kM, Expr::axis(0, 8)};
  const auto before = [](const Expr& a, const Expr& b) { return compare(a, b) < 0; };
  std::sort(exprs.begin(), exprs.end(), before);
  std::vector<std::string> text;
  for (const Expr& expr : exprs) text.push_back(to_string(expr));
  EXPECT_EQ(text, (std::vector<std::string>{"3", "m*n", "n", "n + 1", "x", "i0", "x / 8"}));
  for (const Expr& a : exprs) {
    for (const Expr& b : exprs) {
      EXPECT_EQ(compare(a, b) == 0, a == b);
      EXPECT_EQ(compare(a, b) < 0, compare(b, a) > 0);
      EXPECT_EQ(a.hash() == b.hash(), a == b);
    }
  }
  // Written down once: hashes may name files, so they must not change between processes.
  EXPECT_EQ((kN * 2 + 1).hash(), parse("1 + n + n", std::vector{kN}).hash());
}

TEST(Expr, OverflowOfConstantsIsAnError) {
  EXPECT_EQ(error_of([] { Expr(kMax) + 1; }),
            "symbolic: 9223372036854775807 + 1 does not fit into 64 bits");
  EXPECT_EQ(error_of([] { Expr(kMin) - 1; }),
            "symbolic: -9223372036854775808 - 1 does not fit into 64 bits");
  EXPECT_EQ(error_of([] { -Expr(kMin); }),
            "symbolic: 0 - -9223372036854775808 does not fit into 64 bits");
  EXPECT_EQ(error_of([] { kN* kMax * 2; }),
            "symbolic: 9223372036854775807 * 2 does not fit into 64 bits");
  EXPECT_EQ(error_of([] { kX* kMax + kX; }),
            "symbolic: 9223372036854775807 + 1 does not fit into 64 bits");
  EXPECT_EQ(error_of([] { floor_div(Expr(kMin), -1); }),
            "symbolic: 0 - -9223372036854775808 does not fit into 64 bits");
  EXPECT_EQ(Expr(-1) - Expr(kMin), Expr(kMax));
}

TEST(Expr, HugeNumbersNeverMakeAProofWrong) {
  const Expr big = Expr::variable("big", {0, kMax - 1});
  EXPECT_EQ((big + big).bounds(), (Interval{0, Interval::kPosInf}));
  EXPECT_EQ((big * big).bounds(), (Interval{0, Interval::kPosInf}));
  EXPECT_FALSE(provably_less(big + big, kMax));
  EXPECT_FALSE(provably_ge(Expr(kMax), Expr(kMin)) && provably_less(Expr(kMax), Expr(kMin)));
  // The merged divisor would not fit, so the divisions stay nested.
  const int64_t half = int64_t{1} << 40;
  const Expr nested = floor_div(floor_div(kX, half), half);
  EXPECT_EQ(parse(to_string(nested), std::vector{kX}), nested);
  EXPECT_TRUE(nested.bounds().contains(-1));
}

TEST(Bounds, AreTightForWhatViewsBuild) {
  const Expr i = Expr::axis(0, 64), j = Expr::axis(1, 8), k = Expr::axis(2, kN);
  EXPECT_EQ((8 * i + j).bounds(), (Interval{0, 511}));
  EXPECT_EQ((63 - i).bounds(), (Interval{0, 63}));
  EXPECT_EQ(mod(kX, 8).bounds(), (Interval{0, 7}));
  EXPECT_EQ(mod(kX, -8).bounds(), (Interval{-7, 0}));
  EXPECT_EQ(mod(floor_div(kX, 4), 3).bounds(), (Interval{0, 2}));
  EXPECT_EQ(floor_div(5 * i, 8).bounds(), (Interval{0, 39}));
  EXPECT_EQ((i - floor_div(i, 8) * 8).bounds(), (Interval{0, 7}));
  EXPECT_EQ(k.bounds(), (Interval{0, 4095}));
  EXPECT_EQ((kN - k).bounds(), (Interval{1, 4096}));
  EXPECT_EQ((kN * i + k - kN * 64).bounds().hi, -1);
  EXPECT_EQ(min(i, 10).bounds(), (Interval{0, 10}));
  EXPECT_EQ(max(kX, 3).bounds(), (Interval{3, Interval::kPosInf}));
  EXPECT_EQ((kX * kX).bounds(), (Interval{0, Interval::kPosInf}));
  EXPECT_EQ((kX * kX * kX).bounds(), (Interval{Interval::kNegInf, Interval::kPosInf}));
  EXPECT_EQ(less(kX, 3).bounds(), (Interval{0, 1}));
  const Expr s = Expr::variable("s", {-3, 2});
  EXPECT_EQ((s * s).bounds(), (Interval{0, 9}));
  EXPECT_EQ((s * s * s).bounds(), (Interval{-27, 8}));
  EXPECT_EQ((s * s * s * s).bounds(), (Interval{0, 81}));
}

TEST(Logic, RefusesWhatIsNotZeroOrOne) {
  EXPECT_EQ(error_of([] { logical_not(kN); }),
            "logical_not: n may be other than 0 and 1: compare it with something first");
  EXPECT_EQ(error_of([] { select(kX, 1, 2); }),
            "select: x may be other than 0 and 1: compare it with something first");
  EXPECT_THROW(logical_or(less(kX, 1), kN), UserError);
}

TEST(Affine, SplitsConstantAndCoefficients) {
  const Expr i = Expr::axis(0, kN), j = Expr::axis(1, 8);
  const auto affine = as_affine(kM * i + 3 * j - kN * j + kM + 2);
  ASSERT_TRUE(affine.has_value());
  EXPECT_EQ(affine->constant, kM + 2);
  ASSERT_EQ(affine->terms.size(), 2u);
  EXPECT_EQ(affine->coefficient(i), kM);
  EXPECT_EQ(affine->coefficient(j), 3 - kN);
  EXPECT_EQ(affine->coefficient(Expr::axis(2, 8)), Expr(0));
  EXPECT_EQ(as_affine(kN)->constant, kN);
  EXPECT_EQ(as_affine(floor_div(kX, 8) * i)->coefficient(i), floor_div(kX, 8));
}

TEST(Affine, RefusesWhatIsNotLinearInTheAxes) {
  const Expr i = Expr::axis(0, 64), j = Expr::axis(1, 8);
  EXPECT_FALSE(as_affine(i * j).has_value());
  EXPECT_FALSE(as_affine(i * i).has_value());
  EXPECT_FALSE(as_affine(floor_div(i, 8)).has_value());
  EXPECT_FALSE(as_affine(i + mod(i, 8)).has_value());
  EXPECT_FALSE(as_affine(min(i, j)).has_value());
}

TEST(Substitute, ReplacesAllAtOnceAndRenormalises) {
  const Expr i = Expr::axis(0, 64), j = Expr::axis(1, 8);
  EXPECT_EQ(substitute(kN + 2 * kM, {{kN, kM}, {kM, kN}}), kM + 2 * kN);
  EXPECT_EQ(substitute(floor_div(i, 8), {{i, 8 * kX + j}}), kX);
  EXPECT_EQ(substitute(mod(kX, kN), {{kN, 1}}), Expr(0));
  EXPECT_EQ(substitute(kX * kX, {{kX, kN + 1}}), kN * kN + 2 * kN + 1);
  EXPECT_EQ(substitute(less(kX, kN), {{kX, -1}}), Expr(1));
  EXPECT_EQ(substitute(equal(kX, kN), {{kX, kN}}), Expr(1));
  EXPECT_EQ(substitute(max(kX, kN), {{kX, kN + 1}}), kN + 1);
  EXPECT_EQ(substitute(kN, {}), kN);
}

TEST(Substitute, ReachesTheExtentsOfAxesThatStay) {
  const Expr i = Expr::axis(0, kN);
  EXPECT_EQ(substitute(i + kN, {{kN, 8}}), Expr::axis(0, 8) + 8);
  EXPECT_EQ(substitute(floor_div(i, 8), {{kN, 8}}), Expr(0));
  EXPECT_EQ(substitute(i + kN, {{kN, 8}, {i, kX}}), kX + 8);
}

TEST(Substitute, RefusesWhatIsNoSymbol) {
  EXPECT_EQ(error_of([] {
              substitute(kN, {{kN + 1, 3}});
            }),
            "substitute: n + 1 is neither a variable nor an axis");
  EXPECT_EQ(error_of([] {
              substitute(floor_div(kX, kN - 1), {{kN, 1}});
            }),
            "floor_div: x is divided by zero");
}

TEST(Interning, ThreadsAgreeOnEveryNode) {
  constexpr int kThreads = 8;
  std::vector<std::vector<Expr>> results(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&results, t] {
      for (int64_t k = 0; k < 300; ++k) {
        const Expr fresh = Expr::variable("thread_" + std::to_string(k), {0, 100 + k});
        const Expr i = Expr::axis(k, fresh);
        results[t].push_back(floor_div(fresh * 7 + i, 5) + max(i, fresh - k) + mod(i * k, 9));
        results[t].push_back(Expr(results[t].back().bounds().hi));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& other : results) EXPECT_EQ(other, results[0]);
}

}  // namespace
}  // namespace luminal::symbolic
