#include "luminal/graph/interpreter_indexing.h"

#include <gtest/gtest.h>

#include <cmath>

#include "luminal/graph/interpreter_harness.h"

namespace luminal::graph {
namespace {

std::vector<int64_t> numbers(const Array& array) { return array.to_vector<int64_t>(); }

TEST(Gather, PicksAlongTheLastAxisForEveryDtype) {
  for (const DTypeInfo& row : kDTypes) {
    const Array data = array_of(row.dtype, {2, 3}, {0, 1, 2, 3, 4, 5});
    for (const DType index_dtype : {DType::kI64, DType::kI32, DType::kU8, DType::kI4}) {
      const Array result = run_op(Op::kGather, {array_of(index_dtype, {2}, {2, 0}), data});
      EXPECT_EQ(result.at(0), data.at(2)) << row.name;
      EXPECT_EQ(result.at(1), data.at(3)) << row.name;
    }
  }
}

TEST(Gather, ReadsTablesThroughViews) {
  // An embedding: rows of a table, seen as [token, column, row].
  Graph graph;
  const Array table = array_of(DType::kF16, {3, 2}, {0, 1, 10, 11, 20, 21});
  const Array tokens = array_of(DType::kI32, {4}, {2, 0, 2, 1});
  const auto inputs = add_inputs(graph, {tokens, table});
  const int swapped[] = {1, 0};
  const View index = inputs[0].view.insert_axis(1, 2);
  const View data = inputs[1].view.permute(swapped).insert_axis(0, 4);
  const NodeId rows = graph.add(Op::kGather, {{index, inputs[0].node}, {data, inputs[1].node}});
  // A table padded by one row above and below: the padding is reachable.
  const View padded = inputs[1]
                          .view.pad(0, 1, 1, Scalar::of(DType::kF16, -7.0))
                          ->permute(swapped)
                          .insert_axis(0, 4);
  const NodeId shifted =
      graph.add(Op::kGather, {{index, inputs[0].node}, {padded, inputs[1].node}});
  graph.add_output("rows", graph.whole(rows));
  graph.add_output("shifted", graph.whole(shifted));
  const auto results = run_graph(graph, {tokens, table});
  EXPECT_EQ(numbers(results[0]), (std::vector<int64_t>{20, 21, 0, 1, 20, 21, 10, 11}));
  EXPECT_EQ(numbers(results[1]), (std::vector<int64_t>{10, 11, -7, -7, 10, 11, 0, 1}));
}

TEST(Gather, IndicesOutOfRangeAreErrors) {
  const Array data = array_of(DType::kF32, {2, 2, 3}, std::vector<double>(12, 1.0));
  EXPECT_EQ(error_of([&] {
              run_op(Op::kGather, {array_of(DType::kI64, {2, 2}, {0, 1, 2, 3}), data});
            }),
            "gather: index 3 at position [1, 1] is out of range: it must be 0 <= index < 3");
  EXPECT_EQ(error_of([&] {
              run_op(Op::kGather, {array_of(DType::kI8, {2, 2}, {0, -1, 0, 0}), data});
            }),
            "gather: index -1 at position [0, 1] is out of range: it must be 0 <= index < 3");
  const Array empty(DType::kF32, {1, 0});
  EXPECT_EQ(error_of([&] {
              run_op(Op::kGather, {array_of(DType::kI64, {1}, {0}), empty});
            }),
            "gather: index 0 at position [0] is out of range: it must be 0 <= index < 0");
  const Array none(DType::kI64, {0});
  EXPECT_EQ(run_op(Op::kGather, {none, Array(DType::kF32, {0, 3})}).size(), 0);
}

Array scattered(ScatterMode mode, const Array& base, const Array& index, const Array& updates) {
  return run_op(Op::kScatter, {base, index, updates}, ScatterAttribute{mode});
}

TEST(Scatter, CombinesInOrderForEveryDtypeAndMode) {
  for (const DTypeInfo& row : kDTypes) {
    const Array base = array_of(row.dtype, {2, 3}, {1, 2, 3, 1, 2, 3});
    const Array index = array_of(DType::kI32, {2, 3}, {0, 2, 0, 1, 1, 1});
    const Array updates = array_of(row.dtype, {2, 3}, {2, 1, 3, 1, 2, 1});
    const auto check = [&](ScatterMode mode, std::vector<int> expected) {
      const Array result = scattered(mode, base, index, updates);
      for (size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(result.at(static_cast<int64_t>(i)), Scalar::of(row.dtype, expected[i]))
            << row.name << " " << name(mode) << " at " << i;
    };
    check(ScatterMode::kSet, {3, 2, 1, 1, 1, 3});
    check(ScatterMode::kAdd, {6, 2, 4, 1, 6, 3});
    check(ScatterMode::kMul, {6, 2, 3, 1, 4, 3});
    check(ScatterMode::kMax, {3, 2, 3, 1, 2, 3});
    check(ScatterMode::kMin, {1, 2, 1, 1, 1, 3});
  }
}

TEST(Scatter, NumbersOfUpdatesMayDifferFromTheRow) {
  const Array base = array_of(DType::kF32, {1, 4}, {0, 0, 0, 0});
  const Array index = array_of(DType::kI64, {1, 6}, {0, 1, 2, 3, 3, 0});
  const Array updates = array_of(DType::kF32, {1, 6}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(numbers(scattered(ScatterMode::kAdd, base, index, updates)),
            (std::vector<int64_t>{7, 2, 3, 9}));
  const Array none =
      scattered(ScatterMode::kAdd, base, Array(DType::kI64, {1, 0}), Array(DType::kF32, {1, 0}));
  EXPECT_TRUE(none.identical(base));
}

TEST(Scatter, NarrowSumsAccumulateWide) {
  const Array base(DType::kBF16, {1});
  const Array index(DType::kI64, {1000});
  const Array ones = Array::from<double>(DType::kBF16, {1000}, std::vector<double>(1000, 1.0));
  EXPECT_EQ(scattered(ScatterMode::kAdd, base, index, ones).at(0).as_double(), 1000.0);
}

TEST(Scatter, NaNWinsMaximaAndMinima) {
  const Array base = array_of(DType::kF32, {2}, {1, 1});
  const Array index = array_of(DType::kI64, {2}, {0, 0});
  const Array updates = array_of(DType::kF32, {2}, {NAN, 5});
  for (const ScatterMode mode : {ScatterMode::kMax, ScatterMode::kMin}) {
    const Array result = scattered(mode, base, index, updates);
    EXPECT_TRUE(std::isnan(result.at(0).as_double()));
    EXPECT_EQ(result.at(1).as_double(), 1.0);
  }
}

TEST(Scatter, IndicesOutOfRangeAreErrors) {
  const Array base(DType::kF32, {2, 3});
  const Array updates(DType::kF32, {2, 2});
  EXPECT_EQ(
      error_of([&] {
        scattered(ScatterMode::kSet, base, array_of(DType::kI64, {2, 2}, {0, 1, 3, 0}), updates);
      }),
      "scatter: index 3 at position [1, 0] is out of range: it must be 0 <= index < 3");
  EXPECT_EQ(
      error_of([&] {
        scattered(ScatterMode::kAdd, base, array_of(DType::kI64, {2, 2}, {0, -2, 0, 0}), updates);
      }),
      "scatter: index -2 at position [0, 1] is out of range: it must be 0 <= index < 3");
}

Array sorted(const Array& values, bool descending) {
  return run_op(Op::kArgSort, {values}, ArgSortAttribute{descending});
}

TEST(ArgSort, SortsRowsStablyForEveryDtype) {
  for (const DTypeInfo& row : kDTypes) {
    const Array values = array_of(row.dtype, {2, 4}, {1, 0, 1, 0, 0, 0, 1, 1});
    EXPECT_EQ(numbers(sorted(values, false)), (std::vector<int64_t>{1, 3, 0, 2, 0, 1, 2, 3}))
        << row.name;
    EXPECT_EQ(numbers(sorted(values, true)), (std::vector<int64_t>{0, 2, 1, 3, 2, 3, 0, 1}))
        << row.name;
  }
}

TEST(ArgSort, NaNCountsAsLargestAndZerosAsEqual) {
  const Array values = array_of(DType::kF32, {7}, {NAN, 1, -INFINITY, INFINITY, NAN, 0.0, -0.0});
  EXPECT_EQ(numbers(sorted(values, false)), (std::vector<int64_t>{2, 5, 6, 1, 3, 0, 4}));
  EXPECT_EQ(numbers(sorted(values, true)), (std::vector<int64_t>{0, 4, 3, 1, 5, 6, 2}));
  EXPECT_EQ(sorted(Array(DType::kF32, {2, 0}), false).size(), 0);
  EXPECT_EQ(numbers(sorted(array_of(DType::kI8, {3}, {-128, 127, 0}), true)),
            (std::vector<int64_t>{1, 2, 0}));
}

TEST(ArgSort, LongRowsCrossBlocks) {
  const int64_t size = 3 * kBlockSize + 1;
  std::vector<int64_t> values(static_cast<size_t>(size));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<int64_t>((i * 7919) % values.size());
  const std::vector<int64_t> order =
      numbers(sorted(integers_of(DType::kI32, {size}, values), false));
  for (size_t i = 0; i + 1 < order.size(); ++i)
    ASSERT_LE(values[static_cast<size_t>(order[i])], values[static_cast<size_t>(order[i + 1])]);
}

}  // namespace
}  // namespace luminal::graph
