#include "luminal/compiler/memory_plan.h"

#include <gtest/gtest.h>

#include <random>

namespace luminal::compiler {
namespace {

using symbolic::Expr;

/// Bytes of all slots together for a value of the dim n.
int64_t peak(const std::vector<Lifetime>& buffers, const MemoryPlan& plan, const Expr& n,
             int64_t value) {
  std::vector<int64_t> slots(plan.slots, 0);
  for (size_t k = 0; k < buffers.size(); ++k) {
    const int64_t bytes = *symbolic::substitute(buffers[k].bytes, {{n, value}}).constant_value();
    slots[plan.slot_of[k]] = std::max(slots[plan.slot_of[k]], bytes);
  }
  int64_t total = 0;
  for (const int64_t bytes : slots) total += bytes;
  return total;
}

TEST(MemoryPlan, AChainNeedsTwoSlots) {
  std::vector<Lifetime> buffers;
  for (size_t k = 0; k < 10; ++k) buffers.push_back({100, k, k + 1});
  EXPECT_EQ(plan_memory(buffers).slots, 2U);
}

TEST(MemoryPlan, AChainInPlaceNeedsOneSlot) {
  std::vector<Lifetime> buffers;
  std::vector<InPlace> pairs;
  for (size_t k = 0; k < 10; ++k) buffers.push_back({100, k, k + 1});
  for (size_t k = 0; k + 1 < 10; ++k) pairs.push_back({k, k + 1});
  EXPECT_EQ(plan_memory(buffers, pairs).slots, 1U);
}

TEST(MemoryPlan, InPlaceIsRefusedWhileTheOldValueIsNeededOrTheSizesDiffer) {
  EXPECT_EQ(
      plan_memory(std::vector<Lifetime>{{100, 0, 2}, {100, 1, 3}}, std::vector<InPlace>{{0, 1}})
          .slots,
      2U);
  EXPECT_EQ(
      plan_memory(std::vector<Lifetime>{{100, 0, 1}, {200, 1, 3}}, std::vector<InPlace>{{0, 1}})
          .slots,
      2U);
}

TEST(MemoryPlan, OnlyOneOfTwoHeirsGetsTheMemory) {
  const MemoryPlan plan = plan_memory(std::vector<Lifetime>{{100, 0, 1}, {100, 1, 3}, {100, 1, 3}},
                                      std::vector<InPlace>{{0, 1}, {0, 2}});
  EXPECT_NE(plan.slot_of[1], plan.slot_of[2]);
}

TEST(MemoryPlan, SymbolicSizesTakeTheSmallestSlotThatIsProvedLargeEnough) {
  const Expr n = Expr::variable("n", {1, 1000});
  const MemoryPlan plan = plan_memory(
      std::vector<Lifetime>{{8 * n, 0, 1}, {4 * n, 0, 1}, {2 * n, 0, 1}, {3 * n, 2, 3}});
  EXPECT_EQ(plan.slots, 3U);
  EXPECT_EQ(plan.slot_of[3], plan.slot_of[1]);
}

TEST(MemoryPlan, ASlotGrowsRatherThanAnotherIsMade) {
  const Expr n = Expr::variable("n", {1, 1000});
  EXPECT_EQ(plan_memory(std::vector<Lifetime>{{4 * n, 0, 1}, {100, 2, 3}}).slots, 1U);
}

TEST(MemoryPlan, BuffersThatLiveAtTheSameTimeNeverShare) {
  const Expr n = Expr::variable("n", {0, 1000});
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto below = [&](size_t bound) { return static_cast<size_t>(random() % bound); };
    std::vector<Lifetime> buffers;
    const size_t count = 1 + below(40);
    for (size_t k = 0; k < count; ++k) {
      const size_t first = below(30);
      const auto factor = static_cast<int64_t>(below(5));
      const Expr bytes = below(2) == 0 ? Expr(100 * factor) : n * factor + 8;
      buffers.push_back({bytes, first, first + below(8)});
    }
    std::vector<InPlace> pairs;
    for (size_t a = 0; a < count; ++a)
      for (size_t b = 0; b < count; ++b)
        if (a != b && buffers[a].last == buffers[b].first && buffers[a].first < buffers[b].first &&
            below(2) == 0)
          pairs.push_back({a, b});
    const MemoryPlan plan = plan_memory(buffers, pairs);
    int64_t all = 0;
    for (size_t a = 0; a < count; ++a) {
      all += *symbolic::substitute(buffers[a].bytes, {{n, 37}}).constant_value();
      for (size_t b = a + 1; b < count; ++b) {
        if (plan.slot_of[a] != plan.slot_of[b]) continue;
        const bool apart = buffers[a].last < buffers[b].first || buffers[b].last < buffers[a].first;
        const bool heirs = std::any_of(pairs.begin(), pairs.end(), [&](const InPlace& pair) {
          return (pair.before == a && pair.after == b) || (pair.before == b && pair.after == a);
        });
        EXPECT_TRUE(apart || heirs) << a << " and " << b;
      }
    }
    EXPECT_LE(peak(buffers, plan, n, 37), all);
  }
}

}  // namespace
}  // namespace luminal::compiler
