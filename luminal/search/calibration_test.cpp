#include "luminal/search/calibration.h"

#include <gtest/gtest.h>

#include "luminal/kernel/derive.h"
#include "luminal/kernel/test_kernels.h"

namespace luminal::search {
namespace {

TEST(RankCorrelation, TellsOrdersApart) {
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {10, 20, 30, 400}), 1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 2, 3, 4}, {2, 2, 2, 2}), 0);
  EXPECT_DOUBLE_EQ(rank_correlation({1, 1, 2, 2}, {5, 5, 7, 7}), 1);
  EXPECT_NEAR(rank_correlation({1, 2, 3}, {1, 3, 2}), 0.5, 1e-12);
}

TEST(RankCorrelation, OfNothingIsPerfect) {
  EXPECT_EQ(rank_correlation({}, {}), 1);
  EXPECT_EQ(rank_correlation({3}, {4}), 1);
}

TEST(PairsInOrder, CountsThoseWhoseTimesDiffer) {
  EXPECT_DOUBLE_EQ(pairs_in_order({1, 2, 3}, {10, 20, 30}), 1);
  EXPECT_DOUBLE_EQ(pairs_in_order({3, 2, 1}, {10, 20, 30}), 0);
  EXPECT_DOUBLE_EQ(pairs_in_order({1, 1, 1}, {10, 20, 30}), 0.5);
  EXPECT_DOUBLE_EQ(pairs_in_order({1, 3, 2}, {10, 20, 30}), 2.0 / 3);
  // Times that differ by less are as good as equal, whatever was guessed.
  EXPECT_DOUBLE_EQ(pairs_in_order({2, 1}, {100, 109}), 1);
  EXPECT_DOUBLE_EQ(pairs_in_order({}, {}), 1);
}

}  // namespace
}  // namespace luminal::search
