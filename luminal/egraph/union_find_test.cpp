#include "luminal/egraph/union_find.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace luminal::egraph {
namespace {

TEST(UnionFind, MergedSetsShareTheSmallerRepresentative) {
  UnionFind sets;
  for (int i = 0; i < 5; ++i) sets.make();
  EXPECT_EQ(sets.join(4, 2), 2u);
  EXPECT_EQ(sets.join(4, 1), 1u);
  EXPECT_EQ(sets.find(4), 1u);
  EXPECT_EQ(sets.find(2), 1u);
  EXPECT_EQ(sets.find(0), 0u);
}

TEST(UnionFind, EveryIdIsDisplacedAtMostOnce) {
  UnionFind sets;
  for (int i = 0; i < 4; ++i) sets.make();
  sets.join(0, 1);
  sets.join(1, 0);
  sets.join(2, 3);
  sets.join(3, 1);
  EXPECT_EQ(std::vector<Value>(sets.displaced().begin(), sets.displaced().end()),
            (std::vector<Value>{1, 3, 2}));
}

TEST(UnionFind, LeadersDoNotDependOnTheOrderOfUnions) {
  std::mt19937 random(7);
  std::vector<std::pair<Value, Value>> unions;
  for (int i = 0; i < 60; ++i) unions.push_back({random() % 100, random() % 100});
  std::vector<Value> expected;
  for (int round = 0; round < 5; ++round) {
    UnionFind sets;
    for (int i = 0; i < 100; ++i) sets.make();
    std::shuffle(unions.begin(), unions.end(), random);
    for (const auto& [a, b] : unions) sets.join(a, b);
    std::vector<Value> leaders;
    for (Value id = 0; id < 100; ++id) leaders.push_back(sets.find(id));
    if (round == 0) expected = leaders;
    EXPECT_EQ(leaders, expected);
  }
}

}  // namespace
}  // namespace luminal::egraph
