// The order in which atoms are tried, seen through the rows it costs.
#include "luminal/egraph/matcher.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "luminal/egraph/egraph.h"

namespace luminal::egraph {
namespace {

/// A chain of ops per layer. The kinds of op are few and shared by all layers, so the tables of
/// kinds are smaller than any bucket of ops once there are many layers.
std::string layers_of_ops(int layers) {
  std::string text =
      "(datatype* (Kind (A i64) (B i64) (C i64) (D i64)) (Node (Leaf i64) (Op Kind Node)))"
      "(relation found (Node))"
      "(rule ((= w (Op (A a) x)) (= x (Op (B b) y)) (= y (Op (C c) z)) (= z (Op (D d) l)))"
      " ((found w)))";
  for (int layer = 0; layer < layers; ++layer)
    text += fmt::format("(Op (A {0}) (Op (B {1}) (Op (C {2}) (Op (D {3}) (Leaf {4})))))", layer % 5,
                        layer % 4, layer % 3, layer % 2, layer);
  return text + "(run 1)";
}

TEST(Matcher, DoesNotMultiplySmallTablesThatHaveNothingToDoWithEachOther) {
  uint64_t few = 0;
  for (const int layers : {30, 120}) {
    EGraph egraph;
    egraph.run_program(layers_of_ops(layers));
    const RuleState& rule = egraph.database().rules.at(0);
    EXPECT_EQ(rule.matches, static_cast<uint64_t>(layers));
    EXPECT_LT(rule.rows_visited, 20u * static_cast<uint64_t>(layers));
    if (few > 0) {
      EXPECT_LT(rule.rows_visited, 5 * few);  // four times the layers
    }
    few = rule.rows_visited;
  }
}

TEST(Matcher, StartsElsewhereIfThatLeadsToFewerRows) {
  EGraph egraph;
  // Two kinds with 2000 ops between them, and three with one op each below one of these.
  std::string text =
      "(datatype* (Kind (Common i64) (Rare i64)) (Node (Leaf i64) (Op Kind Node)))"
      "(relation found (Node)) (rule ((= w (Op (Common a) x)) (= x (Op (Rare b) y))) ((found w)))";
  for (int i = 0; i < 2000; ++i) text += fmt::format("(Op (Common {}) (Leaf {}))", i % 2, i);
  for (int i = 0; i < 3; ++i)
    text += fmt::format("(Op (Common {}) (Op (Rare {}) (Leaf {})))", i % 2, i, i);
  egraph.run_program(text + "(run 1)");
  const RuleState& rule = egraph.database().rules.at(0);
  EXPECT_EQ(rule.matches, 3u);
  EXPECT_LT(rule.rows_visited, 100u);
}

}  // namespace
}  // namespace luminal::egraph
