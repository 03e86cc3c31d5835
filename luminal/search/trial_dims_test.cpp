#include "luminal/search/trial_dims.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace luminal::search {
namespace {

using graph::DimValues;
using graph::DType;
using symbolic::Expr;

/// Twice what a tensor of so many rows holds, from some row on.
std::vector<TrialDims> dims_for(const Expr& rows, const Expr& from, const DimValues& typical,
                                int64_t columns = 40) {
  kernel::Arena arena;
  const kernel::NodeId x{0};
  const kernel::NodeId y{1};
  arena.declare_tensor(x, {DType::kF32, {rows, columns}});
  arena.declare_tensor(y, {DType::kF32, {rows - from, columns}});
  const Expr row = Expr::axis(0, rows - from);
  const Expr column = Expr::axis(1, columns);
  const kernel::BodyId loaded = arena.load(x, {row + from, column});
  const kernel::BodyId twice = arena.op(graph::Op::kAdd, DType::kF32, {loaded, loaded});
  const kernel::Kernel kernel{{row, column}, {{y, twice, {row, column}}}};
  return other_dims(arena, kernel, typical);
}

std::vector<DimValues> values_of(const std::vector<TrialDims>& dims) {
  std::vector<DimValues> result;
  for (const TrialDims& each : dims) result.push_back(each.values);
  return result;
}

std::vector<DimValues> all_n(std::initializer_list<int64_t> values) {
  std::vector<DimValues> result;
  for (const int64_t each : values) result.push_back({{"n", each}});
  return result;
}

TEST(TrialDims, AreOddLeastSmallBetweenAndAbove) {
  const auto dims = dims_for(Expr::variable("n", {1, 4096}), 0, {{"n", 512}});
  EXPECT_EQ(values_of(dims), all_n({77, 1, 12, 3, 16, 294, 641}));
  EXPECT_TRUE(dims.front().special);
  EXPECT_FALSE(dims.back().special);
}

TEST(TrialDims, StayWithinTheRange) {
  EXPECT_EQ(values_of(dims_for(Expr::variable("n", {1, 512}), 0, {{"n", 512}})),
            all_n({77, 1, 12, 3, 16, 294}));
  EXPECT_EQ(values_of(dims_for(Expr::variable("n", {100, 600}), 0, {{"n", 512}})),
            all_n({101, 100, 112, 294, 599}));
  EXPECT_EQ(values_of(dims_for(Expr::variable("n", {1, 16}), 0, {{"n", 16}})),
            all_n({15, 1, 12, 3}));
  EXPECT_TRUE(dims_for(Expr::variable("n", {7, 7}), 0, {{"n", 7}}).empty());
  EXPECT_TRUE(dims_for(64, 0, {}).empty());
}

TEST(TrialDims, GiveEveryExtentSomething) {
  EXPECT_EQ(values_of(dims_for(Expr::variable("n", {0, 4096}), 4, {{"n", 512}})),
            all_n({77, 5, 12, 16, 294, 641}));
  EXPECT_EQ(values_of(dims_for(Expr::variable("n", {0, 4096}), 100, {{"n", 512}})),
            all_n({101, 104, 112, 294, 641}));
  const Expr n = Expr::variable("n", {0, 4096}), m = Expr::variable("m", {0, 4096});
  for (const TrialDims& each : dims_for(n, m, {{"m", 100}, {"n", 512}}))
    EXPECT_GT(each.values.at("n"), each.values.at("m"));
}

TEST(TrialDims, MayBeOfPositionsAlone) {
  const Expr p = Expr::variable("p", {0, 100});
  kernel::Arena arena;
  const kernel::NodeId x{0};
  const kernel::NodeId y{1};
  arena.declare_tensor(x, {DType::kF32, {8}});
  arena.declare_tensor(y, {DType::kF32, {108}});
  const Expr axis = Expr::axis(0, 8);
  const kernel::Kernel kernel{{axis}, {{y, arena.load(x, {axis}), {axis + p}}}};
  const auto dims = values_of(other_dims(arena, kernel, {{"p", 100}}));
  EXPECT_EQ(dims.front(), (DimValues{{"p", 77}}));
  EXPECT_EQ(dims[1], (DimValues{{"p", 0}})) << "where every sequence begins";
}

TEST(TrialDims, LeaveNothingToReadWhereSomethingIsLeftToCompute) {
  const Expr p = Expr::variable("p", {0, 1024});
  kernel::Arena arena;
  const kernel::NodeId x{0};
  const kernel::NodeId y{1};
  arena.declare_tensor(x, {DType::kF32, {p, 8}});
  arena.declare_tensor(y, {DType::kF32, {8}});
  const Expr column = Expr::axis(0, 8);
  const Expr row = Expr::axis(1, p);
  const kernel::BodyId sum = arena.reduce(graph::Op::kSum, {row}, arena.load(x, {row, column}));
  const kernel::Kernel kernel{{column}, {{y, sum, {column}}}};
  EXPECT_EQ(values_of(other_dims(arena, kernel, {{"p", 512}})).back(), (DimValues{{"p", 0}}));
}

TEST(TrialDims, AreLeastOneAtATime) {
  const Expr n = Expr::variable("n", {1, 4096}), p = Expr::variable("p", {0, 1024});
  kernel::Arena arena;
  const kernel::NodeId x{0};
  const kernel::NodeId y{1};
  arena.declare_tensor(x, {DType::kF32, {n}});
  arena.declare_tensor(y, {DType::kF32, {8192}});
  const Expr axis = Expr::axis(0, n);
  const kernel::Kernel kernel{{axis}, {{y, arena.load(x, {axis}), {axis + p}}}};
  const auto dims = values_of(other_dims(arena, kernel, {{"n", 512}, {"p", 100}}));
  for (const DimValues& each : {DimValues{{"n", 1}, {"p", 0}}, DimValues{{"n", 1}, {"p", 100}},
                                DimValues{{"n", 512}, {"p", 0}}})
    EXPECT_EQ(std::ranges::count(dims, each), 1) << each.at("n") << ", " << each.at("p");
}

TEST(TrialDims, DoNotTakeMuchLonger) {
  // A row takes as long as it may: there are no more than two.
  const auto dims = dims_for(Expr::variable("n", {1, 4096}), 0, {{"n", 1}}, 100'000'000);
  for (const TrialDims& each : dims) EXPECT_LE(each.values.at("n"), 2);
  EXPECT_LE(dims_for(Expr::variable("n", {0, 4096}), 0, {{"n", 1}}, 100'000'000).size(), 7U);
}

}  // namespace
}  // namespace luminal::search
