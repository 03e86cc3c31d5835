#include "luminal/kernel/replacement.h"

#include <gtest/gtest.h>

namespace luminal::kernel {
namespace {

class ReplacementTest : public testing::Test {
 protected:
  ReplacementTest() {
    arena_.declare_tensor(kX, {DType::kF32, {8, 4}});
    arena_.declare_tensor(kKept, {DType::kF32, {8}});
    arena_.declare_tensor(kIndex, {DType::kI64, {8}});
    arena_.declare_tensor(kOther, {DType::kI64, {8}});
  }

  static constexpr NodeId kX{0}, kKept{1}, kIndex{2}, kOther{3};
  Arena arena_;
  const Expr row_ = Expr::axis(0, 8);
};

TEST_F(ReplacementTest, EveryUseIsWrittenAnew) {
  const Expr k = Expr::axis(kFirstBoundAxis, 4);
  const BodyId sum = arena_.reduce(Op::kSum, {k}, arena_.load(kX, {row_, k}));
  const BodyId kept = arena_.load(kKept, {row_});
  const BodyId root = arena_.op(Op::kSqrt, DType::kF32, {sum});
  const BodyId both = arena_.op(Op::kAdd, DType::kF32, {root, sum});
  Replacement replacement(arena_);
  replacement.add(sum, kept);
  EXPECT_EQ(replacement(both),
            arena_.op(Op::kAdd, DType::kF32, {arena_.op(Op::kSqrt, DType::kF32, {kept}), kept}));
  EXPECT_EQ(replacement(kept), kept);
}

TEST_F(ReplacementTest, WhatIsUsedAsAnIndexIsWrittenAnewToo) {
  const auto gathered = [&](NodeId index) {
    const Expr at = arena_.index_value(arena_.load(index, {row_}), 8);
    const BodyId value = arena_.load(kX, {at, 0});
    return arena_.where({greater_equal(at, 2)}, value, arena_.iota(at, DType::kF32));
  };
  const BodyId before = gathered(kIndex);
  const BodyId after = gathered(kOther);
  Replacement replacement(arena_);
  replacement.add(arena_.load(kIndex, {row_}), arena_.load(kOther, {row_}));
  EXPECT_EQ(replacement(before), after);
}

}  // namespace
}  // namespace luminal::kernel
