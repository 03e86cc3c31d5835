#include "luminal/kernel/reads.h"

#include <gtest/gtest.h>

#include "luminal/kernel/estimate.h"

namespace luminal::kernel {
namespace {

constexpr NodeId kX{0}, kPositions{1};

class Reads : public ::testing::Test {
 protected:
  Reads() {
    arena_.declare_tensor(kX, {DType::kF32, {64, 16}});
    arena_.declare_tensor(kPositions, {DType::kI32, {8}});
  }

  double bytes(const std::vector<BodyId>& values) const {
    return bytes_read(arena_, values, [](const Expr& size) {
      return typical_value(size.is_axis() ? size.axis_extent() : size, {});
    });
  }

  Arena arena_;
  const Expr row_ = Expr::axis(0, 8);
};

TEST_F(Reads, CountATensorAsFarAsItIsRead) {
  EXPECT_EQ(bytes({arena_.load(kX, {row_, Expr::axis(1, 16)})}), 8 * 16 * 4);
  EXPECT_EQ(bytes({arena_.load(kX, {row_, 3})}), 8 * 4);
  EXPECT_EQ(bytes({arena_.constant(graph::Scalar::of(DType::kF32, 1))}), 0);
}

/// A softmax reads its row in two passes, whose axes have different names.
TEST_F(Reads, CountWhatTwoPassesReadOnce) {
  const Expr first = Expr::axis(10, 16), second = Expr::axis(20, 16);
  const BodyId largest = arena_.reduce(Op::kReduceMax, {first}, arena_.load(kX, {row_, first}));
  const BodyId sum = arena_.reduce(Op::kSum, {second}, arena_.load(kX, {row_, second}));
  EXPECT_EQ(bytes({largest, sum}), 8 * 16 * 4);
}

TEST_F(Reads, CountDifferentPartsOfATensorApartAndNoMoreThanItHas) {
  const Expr column = Expr::axis(1, 8), far = Expr::axis(2, 16);
  const BodyId left = arena_.load(kX, {row_, column});
  const BodyId right = arena_.load(kX, {row_, column + 8});
  EXPECT_EQ(bytes({left, right}), 2 * 8 * 8 * 4);
  std::vector<BodyId> rows;
  for (int64_t k = 0; k < 100; ++k) rows.push_back(arena_.load(kX, {k % 64, far - k / 64}));
  EXPECT_EQ(bytes(rows), 64 * 16 * 4);
}

/// Rows that are known when it runs are read one by one.
TEST_F(Reads, CountWhatAGatherReadsAndItsPositions) {
  const BodyId position = arena_.load(kPositions, {row_});
  const Expr at = arena_.index_value(position, 64);
  EXPECT_EQ(bytes({arena_.load(kX, {at, Expr::axis(1, 16)})}), 8 * 16 * 4 + 8 * 4);
}

}  // namespace
}  // namespace luminal::kernel
