// Cyclic bodies: the rows visited stay within the largest result that tables of these sizes could
// have, whichever way the query is matched. Counted, not timed.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "luminal/egraph/egraph.h"
#include "luminal/egraph/parser.h"
#include "luminal/egraph/query_shape.h"

namespace luminal::egraph {
namespace {

/// What one run of the rule "wanted" did.
struct Effort {
  uint64_t matches = 0;
  uint64_t rows = 0;
};

Effort effort_of(const std::string& declarations, const std::string& body, const std::string& facts,
                 JoinMethod method = JoinMethod::kAutomatic, uint32_t threads = 1) {
  EGraph egraph;
  egraph.set_join_method(method);
  egraph.set_threads(threads);
  egraph.run_program(declarations + "(relation done ())(rule (" + body + ") ((done)))" + facts +
                     "(run 1)");
  const RuleState& rule = egraph.database().rules.at(0);
  return {rule.matches, rule.rows_visited};
}

bool cyclic(const std::string& body) {
  EGraph egraph;
  egraph.run_program(
      "(sort E) (constructor C (E E) E) (constructor U (E) E) (constructor K () E)"
      "(relation r (i64 i64)) (relation s (i64 i64)) (relation t (i64 i64)) (relation u (i64))"
      "(relation w (i64 i64 i64)) (function f (i64) i64 :merge new)"
      "(function g (i64 i64) i64 :merge new) (relation done ())"
      "(rule (" +
      body + ") ((done)))");
  return egraph.database().rules.at(0).rule->plan->cyclic();
}

TEST(QueryShape, PathsStarsAndProductsAreTrees) {
  EXPECT_FALSE(cyclic("(r a b)"));
  EXPECT_FALSE(cyclic("(r a b) (s a b)"));
  EXPECT_FALSE(cyclic("(r a b) (s b c) (t c d)"));
  EXPECT_FALSE(cyclic("(r a b) (s a c) (t a d) (u a)"));
  EXPECT_FALSE(cyclic("(r a b) (s c d) (t e h)"));
  EXPECT_FALSE(cyclic("(r a b) (s b a) (t a b)"));
}

TEST(QueryShape, TrianglesAndLongerCyclesAreNot) {
  EXPECT_TRUE(cyclic("(r a b) (s b c) (t c a)"));
  EXPECT_TRUE(cyclic("(r a b) (s b c) (t c d) (r d a)"));
  EXPECT_TRUE(cyclic("(w a b c) (w a b d) (w a c d) (w b c d)"));
  EXPECT_TRUE(cyclic("(= x (C (C a b) (C a c)))"));
}

TEST(QueryShape, AnAtomOverTheWholeCycleOpensIt) {
  EXPECT_FALSE(cyclic("(r a b) (s b c) (t c a) (w a b c)"));
}

TEST(QueryShape, WhatConstantsSettleIsNoPartOfACycle) {
  EXPECT_FALSE(cyclic("(r 1 b) (s b c) (t c 1)"));
  EXPECT_FALSE(cyclic("(= a (f 3)) (r a b) (s b c) (t c a)"));
  EXPECT_FALSE(cyclic("(= a (+ 1 2)) (r a b) (s b c) (t c a)"));
}

TEST(QueryShape, WhatAnAtomDeterminesIsPartOfIt) {
  // b follows from a, so (t c a) and (s b c) hold the same slots.
  EXPECT_FALSE(cyclic("(= b (f a)) (s b c) (t c a)"));
  EXPECT_FALSE(cyclic("(r a x) (= b (+ a 1)) (s b c) (t c a)"));
  EXPECT_TRUE(cyclic("(= b (f x)) (r a b) (s b c) (t c a)"));
  EXPECT_FALSE(cyclic("(r a b) (= c (g a b)) (s b c) (t c a)"));
}

/// Facts of a relation over all tuples of `width` values below `side`.
std::string grid(const std::string& relation, int width, int side) {
  std::string text;
  int total = 1;
  for (int i = 0; i < width; ++i) total *= side;
  for (int number = 0; number < total; ++number) {
    text += "(" + relation;
    for (int i = 0, rest = number; i < width; ++i, rest /= side)
      text += fmt::format(" {}", rest % side);
    text += ")";
  }
  return text;
}

/// Facts of a relation in which each column in turn takes all values while the others stay 0.
std::string star(const std::string& relation, int width, int arms) {
  std::string text;
  for (int column = 0; column < width; ++column) {
    for (int value = 0; value < arms; ++value) {
      text += "(" + relation;
      for (int i = 0; i < width; ++i) text += fmt::format(" {}", i == column ? value : 0);
      text += ")";
    }
  }
  return text;
}

const char* const kTriangle = "(r a b) (r b c) (r c a)";
const char* const kLoomisWhitney4 = "(r a b c) (r a b d) (r a c d) (r b c d)";
const char* const kClique4 = "(r a b) (r a c) (r a d) (r b c) (r b d) (r c d)";

TEST(JoinBound, TrianglesVisitAtMostTheRowsOfTheirBound) {
  for (const JoinMethod method : {JoinMethod::kAutomatic, JoinMethod::kByVariable}) {
    for (const int side : {8, 16, 32}) {
      const double m = side * side;
      const Effort full =
          effort_of("(relation r (i64 i64))", kTriangle, grid("r", 2, side), method);
      EXPECT_EQ(full.matches, static_cast<uint64_t>(side) * side * side);
      EXPECT_LT(static_cast<double>(full.rows), 8 * std::pow(m, 1.5)) << side;
    }
    for (const int arms : {100, 400, 1600}) {
      const double m = 2 * arms;
      const Effort few = effort_of("(relation r (i64 i64))", kTriangle, star("r", 2, arms), method);
      EXPECT_LT(static_cast<double>(few.rows), 30 * m) << arms;  // a pair of atoms gives m² / 4
    }
  }
}

TEST(JoinBound, LoomisWhitneyOfFourAtomsKeepsToTheFourThirds) {
  for (const JoinMethod method : {JoinMethod::kAutomatic, JoinMethod::kByVariable}) {
    for (const int side : {4, 8, 12}) {
      const double m = std::pow(side, 3);
      const Effort full =
          effort_of("(relation r (i64 i64 i64))", kLoomisWhitney4, grid("r", 3, side), method);
      EXPECT_EQ(full.matches, static_cast<uint64_t>(std::pow(side, 4)));
      EXPECT_LT(static_cast<double>(full.rows), 12 * std::pow(m, 4.0 / 3)) << side;
    }
    for (const int arms : {50, 200, 800}) {
      const double m = 3 * arms;
      const Effort few =
          effort_of("(relation r (i64 i64 i64))", kLoomisWhitney4, star("r", 3, arms), method);
      EXPECT_LT(static_cast<double>(few.rows), 12 * std::pow(m, 4.0 / 3)) << arms;
    }
  }
}

TEST(JoinBound, CliquesOfFourVisitAtMostTheSquareOfTheEdges) {
  for (const JoinMethod method : {JoinMethod::kAutomatic, JoinMethod::kByVariable}) {
    for (const int side : {6, 12, 18}) {
      const double m = side * side;
      const Effort full = effort_of("(relation r (i64 i64))", kClique4, grid("r", 2, side), method);
      EXPECT_EQ(full.matches, static_cast<uint64_t>(std::pow(side, 4)));
      EXPECT_LT(static_cast<double>(full.rows), 10 * m * m) << side;
    }
    for (const int arms : {100, 400}) {
      const double m = 2 * arms;
      EXPECT_LT(effort_of("(relation r (i64 i64))", kClique4, star("r", 2, arms), method).rows,
                60 * m)
          << arms;
    }
  }
}

TEST(JoinBound, TheSearchLeavesAtomsWhenTheyCostMoreThanTheTables) {
  const char* const declarations =
      "(relation r (i64 i64 i64)) (relation s (i64 i64 i64)) (relation t (i64 i64 i64))"
      "(relation q (i64 i64 i64))";
  const char* const body = "(r a b c) (s b c d) (t c d a) (q d a b)";
  // Each relation: one of its columns takes all values, so that any two of them have m²/16 pairs.
  std::string facts;
  const int arms = 400;
  for (const char* name : {"r", "s", "t", "q"}) facts += star(name, 3, arms);
  const Effort by_atom = effort_of(declarations, body, facts, JoinMethod::kByAtom);
  const Effort automatic = effort_of(declarations, body, facts);
  const Effort by_variable = effort_of(declarations, body, facts, JoinMethod::kByVariable);
  EXPECT_EQ(automatic.matches, by_atom.matches);
  EXPECT_EQ(by_variable.matches, by_atom.matches);
  EXPECT_LT(automatic.rows, 8 * 4 * 3 * arms + by_variable.rows + 4 * by_variable.matches);
}

TEST(JoinBound, AFewNewRowsDoNotCostALookAtAllOldOnes) {
  EGraph egraph;
  egraph.set_join_method(JoinMethod::kByVariable);
  egraph.run_program("(relation r (i64 i64)) (relation done ())(rule (" + std::string(kTriangle) +
                     ") ((done)))" + star("r", 2, 3000) + "(run 1)");
  const uint64_t before = egraph.database().rules.at(0).rows_visited;
  egraph.run_program("(r 9001 9002) (r 9002 9003) (r 9003 9001) (run 1)");
  const RuleState& rule = egraph.database().rules.at(0);
  EXPECT_LT(rule.rows_visited - before, 200u);
}

}  // namespace
}  // namespace luminal::egraph
