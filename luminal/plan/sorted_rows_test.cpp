#include "luminal/plan/sorted_rows.h"

#include <gtest/gtest.h>

#include <iostream>
#include <limits>
#include <random>

#include "luminal/graph/opaque.h"

namespace luminal::plan {
namespace {

using graph::Array;
using graph::DType;
using graph::Graph;
using graph::NodeId;
using graph::Op;

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

/// Random numbers with many ties, zeros of both signs, infinities and NaN.
Array sample(DType dtype, const graph::Extents& extents, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> values(static_cast<size_t>(graph::element_count(extents)));
  const double infinity = std::numeric_limits<double>::infinity();
  const double corners[] = {0.0, -0.0, infinity, -infinity, std::nan(""), 1.0, -1.0};
  for (double& value : values) {
    const uint64_t bits = random();
    value = bits % 8 == 0 ? corners[bits / 8 % 7]
                          : static_cast<double>(static_cast<int64_t>(bits >> 20) % 100000 - 50000);
    if (bits % 3 == 0) value /= 1024;
  }
  return Array::from<double>(dtype, extents, values);
}

struct Sorting {
  Graph graph;
  NodeId order;
};
Sorting sorting(DType dtype, const graph::Extents& extents, bool descending) {
  Sorting result;
  const NodeId x = result.graph.add_input("x", dtype, graph::Shape(extents.begin(), extents.end()));
  result.order =
      result.graph.add(Op::kArgSort, {result.graph.whole(x)}, graph::ArgSortAttribute{descending});
  return result;
}

void check(DType dtype, const graph::Extents& extents, int64_t wanted, runtime::ThreadTeam& team) {
  for (const bool descending : {false, true}) {
    const Sorting sorted = sorting(dtype, extents, descending);
    const graph::Node& node = sorted.graph.node(sorted.order);
    const Array values = sample(dtype, extents, 5);
    const Array* operands[] = {&values};
    const Array expected = graph::compute_opaque(node, operands, {}, std::cout);
    std::vector<int64_t> result(static_cast<size_t>(values.size()), -1);
    argsort_rows(node, values, {}, wanted, team, result.data());
    const int64_t length = extents.back();
    for (int64_t i = 0; i < values.size(); ++i) {
      const int64_t right =
          i % length < wanted ? expected.as<int64_t>()[static_cast<size_t>(i)] : -1;
      ASSERT_EQ(result[static_cast<size_t>(i)], right)
          << graph::name(dtype) << graph::to_string(extents) << " at " << i
          << (descending ? " descending" : "");
    }
  }
}

TEST(SortedRows, AreThoseOfTheInterpreterForEveryDtype) {
  runtime::ThreadTeam team({.threads = 3});
  for (const graph::DTypeInfo& row : graph::kDTypes)
    for (const graph::Extents& extents :
         {graph::Extents{4, 7}, graph::Extents{2, 0}, graph::Extents{0, 3}, graph::Extents{3, 1},
          graph::Extents{5, 3001}})
      check(row.dtype, extents, kAll, team);
}

TEST(SortedRows, LongRowsAreSortedByAllThreads) {
  for (const int threads : {1, 2, 3, 4, 5}) {
    runtime::ThreadTeam team({.threads = threads});
    for (const DType dtype : {DType::kF32, DType::kI64, DType::kBF16, DType::kI32})
      check(dtype, {1, 40007}, kAll, team);
  }
}

TEST(SortedRows, OnlyTheFirstPositionsAreFoundWhereNoMoreAreRead) {
  runtime::ThreadTeam team({.threads = 2});
  for (const DType dtype :
       {DType::kF32, DType::kF64, DType::kU8, DType::kBF16, DType::kF16, DType::kI64}) {
    check(dtype, {3, 5000}, 17, team);
    check(dtype, {2, 1024}, 1, team);
    check(dtype, {2, 1023}, 100, team);
    check(dtype, {1, 40007}, 3000, team);
    check(dtype, {1, 50000}, 64, team);
    check(dtype, {1, 50000}, 1, team);
    check(dtype, {2, 40}, 30, team);
  }
}

TEST(SortedRows, TheFirstOfEqualValuesAreFound) {
  runtime::ThreadTeam team({.threads = 2});
  for (const double value : {0.0, 3.0, std::nan("")}) {
    for (const bool descending : {false, true}) {
      const Sorting sorted = sorting(DType::kF32, {1, 50000}, descending);
      std::vector<double> values(50000, value);
      const int64_t odd = descending == std::isnan(value) ? 40000 : 3;
      values[static_cast<size_t>(odd)] = std::isnan(value) ? 1.0 : std::nan("");
      const Array array = Array::from<double>(DType::kF32, {1, 50000}, values);
      std::vector<int64_t> result(50000, -1);
      argsort_rows(sorted.graph.node(sorted.order), array, {}, 5, team, result.data());
      const Array* operands[] = {&array};
      const Array expected =
          graph::compute_opaque(sorted.graph.node(sorted.order), operands, {}, std::cout);
      for (size_t i = 0; i < 5; ++i) EXPECT_EQ(result[i], expected.as<int64_t>()[i]) << value;
    }
  }
}

TEST(SortedRows, PrefixesAreWhatAllReadersTogetherNeed) {
  Sorting sorted = sorting(DType::kF32, {4, 100}, true);
  Graph& graph = sorted.graph;
  const auto first = [&](int64_t count) {
    return graph::Edge{graph.whole(sorted.order).view.slice(1, 0, count), sorted.order};
  };
  graph.add(Op::kCopy, {first(5)});
  EXPECT_EQ(sorted_prefixes(graph).at(sorted.order), 5);
  graph.add_output("order", first(9));
  EXPECT_EQ(sorted_prefixes(graph).at(sorted.order), 9);
  graph.add(Op::kCopy, {graph.whole(sorted.order)});
  EXPECT_EQ(sorted_prefixes(graph).at(sorted.order), 100);
}

}  // namespace
}  // namespace luminal::plan
