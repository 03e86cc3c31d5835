#include "luminal/codegen/llvm/nest_launches.h"

#include <gtest/gtest.h>

#include <cmath>

#include "luminal/codegen/llvm/nest_flatten.h"
#include "luminal/codegen/llvm/nest_runner_for_tests.h"
#include "luminal/codegen/llvm/nest_split.h"
#include "luminal/graph/elements.h"
#include "luminal/kernel/test_kernels.h"

namespace luminal::codegen {
namespace {

using graph::Array;
using graph::DType;
using graph::Edge;
using graph::Graph;
using graph::NodeId;
using graph::Op;
using graph::Scalar;
using graph::View;
using kernel::Tensors;
using kernel::test::Closeness;
using kernel::test::Sample;
using symbolic::Expr;

TEST(NestLaunches, RandomGraphsEqualTheOracle) {
  for (uint64_t seed = 200; seed < 260; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Runner runner;
    runner.options.round_each = true;
    runner.options.streaming_bytes = seed % 2 == 0 ? 64 : 0;
    if (seed % 5 == 4 && runs_here(cpu_target("haswell"))) runner.target = cpu_target("haswell");
    if (seed % 5 == 3) runner.target = cpu_target("x86-64");
    runner.options.nest = {.online = seed % 3 == 0, .keep_rows = seed % 3 == 1};
    check(kernel::test::random_sample(seed, 10), runner, {1e-4, 1e-4}, 1);
    if (HasFailure()) return;
  }
}

/// A reduction of a matrix along some of its axes, with an op before and one after it.
Sample reduction(DType dtype, Op op, int64_t rows, int64_t columns, char along,
                 bool symbolic_dims) {
  Sample sample;
  Graph& graph = sample.graph;
  Expr m = rows;
  Expr n = columns;
  if (symbolic_dims) {
    m = Expr::variable("m", {0, 1 << 20});
    n = Expr::variable("n", {0, 1 << 20});
    sample.dims = {{"m", rows}, {"n", columns}};
  }
  const NodeId x = graph.add_input("x", dtype, {m, n});
  const int swap[] = {1, 0};
  const View view = along == 'c' ? graph.whole(x).view.permute(swap) : graph.whole(x).view;
  NodeId y = graph.add(op, {{view, x}}, graph::ReduceAttribute{along == 'a' ? 2 : 1});
  y = graph.add(Op::kMax, {graph.whole(y), graph.whole(y)});
  graph.add_output("y", graph.whole(y));
  sample.inputs.emplace("x", filled(dtype, {rows, columns}, 9));
  return sample;
}

TEST(NestLaunches, LongReductionsAreFoundInParts) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 40000}, {3, 20001}, {700, 70}})
    for (const char along : {'a', 'r', 'c'})
      for (const Op op : {Op::kSum, Op::kReduceMax})
        for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64, DType::kI32}) {
          SCOPED_TRACE(fmt::format("{} {} of {}x{} {}", graph::name(op), along, rows, columns,
                                   static_cast<int>(dtype)));
          const double bound = dtype == DType::kBF16 ? 0.02 : 1e-5;
          check(reduction(dtype, op, rows, columns, along, false), {}, {bound * 20, bound});
          if (HasFailure()) return;
        }
  EXPECT_EQ(check(reduction(DType::kF32, Op::kSum, 300, 400, 'a', false), {}, {1e-3, 1e-4}), 2);
  EXPECT_EQ(check(reduction(DType::kF32, Op::kSum, 300, 400, 'r', false), {}, {1e-3, 1e-4}), 1);
}

TEST(NestLaunches, PartsOfSymbolicReductionsFitEverySize) {
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{0, 5}, {1, 1}, {5, 0}, {1, 8191}, {2, 8192}, {3, 30000}})
    for (const char along : {'a', 'r', 'c'}) {
      Runner runner;
      runner.options.typical_dim = 100000;  // so that parts are worth it
      SCOPED_TRACE(fmt::format("{} of {}x{}", along, rows, columns));
      check(reduction(DType::kF32, Op::kSum, rows, columns, along, true), runner, {1e-3, 1e-4});
      if (HasFailure()) return;
    }
}

TEST(NestLaunches, NanAndInfinityPassThroughParts) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {infinity, -infinity, std::nan("")})
    for (const Op op : {Op::kSum, Op::kReduceMax})
      for (const int64_t at : {0, 20000, 39999}) {
        Sample sample = reduction(DType::kF32, op, 1, 40000, 'a', false);
        kernel::store(sample.inputs.at("x"), at, {value, 0});
        check(sample, {}, {1e-3, 1e-4});
        if (HasFailure()) return;
      }
}

TEST(NestLaunches, SumsOfManyEqualFloatsAreRight) {
  // Added one by one in f32, these would be wrong in the second digit.
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 30'000'000}, {300'000, 100}}) {
    Graph graph;
    const NodeId x = graph.add_input("x", DType::kF32, {rows, columns});
    const int axes = rows == 1 ? 2 : 1;
    const int swap[] = {1, 0};
    const Edge edge = rows == 1 ? graph.whole(x) : Edge{graph.whole(x).view.permute(swap), x};
    const NodeId y = graph.add(Op::kSum, {edge}, graph::ReduceAttribute{axes});
    graph.add_output("y", graph.whole(y));
    const kernel::GraphProgram program(graph);
    const auto order = *kernel::topological_order(program);
    kernel::Arena arena;
    const auto derived = kernel::derive(arena, program, kernel::smallest_cut(program, order), y);
    Tensors tensors;
    Array input(DType::kF32, {rows, columns});
    auto* values = reinterpret_cast<float*>(input.mutable_bytes().data());
    std::fill_n(values, rows * columns, 0.1F);
    tensors.emplace(x, std::move(input));
    Runner runner;
    runner(arena, std::get<kernel::Kernel>(derived), {}, tensors);
    EXPECT_GT(runner.launches, 1);
    const double expected =
        static_cast<double>(0.1F) * static_cast<double>(rows == 1 ? columns : rows);
    // Sums of fewer lanes are longer.
    const double allowed = host_target().lanes(32) >= 16 ? 1e-6 : 4e-6;
    for (int64_t i = 0; i < tensors.at(y).size(); ++i)
      ASSERT_NEAR(tensors.at(y).at(i).as_double(), expected, allowed * expected) << i;
  }
}

/// x divided by the sum of all of it.
TEST(NestLaunches, ALargeResultOfALongSumIsALaunchOfItsOwn) {
  Sample sample;
  Graph& graph = sample.graph;
  const NodeId x = graph.add_input("x", DType::kF32, {50, 1000});
  const NodeId total = graph.add(Op::kSum, {graph.whole(x)}, graph::ReduceAttribute{2});
  const Edge all{View({}, {50, 1000}, {}), total};
  graph.add_output("y", graph.whole(graph.add(Op::kDiv, {graph.whole(x), all})));
  sample.inputs.emplace("x", filled(DType::kF32, {50, 1000}, 4));
  for (float& value :
       std::span(reinterpret_cast<float*>(sample.inputs.at("x").mutable_bytes().data()), 50000))
    value = std::abs(value) + 0.5F;
  EXPECT_EQ(check(sample, {}, {1e-9, 1e-5}), 3);
}

TEST(NestLaunches, StreamingRowsOfOddLengthBeginAligned) {
  for (const int64_t columns : {1, 7, 15, 16, 31, 100, 257})
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI8, DType::kF64}) {
      Sample sample;
      Graph& graph = sample.graph;
      const NodeId x = graph.add_input("x", dtype, {9, columns});
      const NodeId most = graph.add(Op::kReduceMax, {graph.whole(x)}, graph::ReduceAttribute{1});
      const Edge row{graph.whole(most).view.insert_axis(1, columns), most};
      graph.add_output("y", graph.whole(graph.add(Op::kAdd, {graph.whole(x), row})));
      sample.inputs.emplace("x", filled(dtype, {9, columns}, 3));
      Runner runner;
      runner.options.streaming_bytes = 1;
      runner.options.round_each = true;
      check(sample, runner, {});
      if (HasFailure()) return;
    }
}

// Code is kept by its key. A division by n needs no test where n is never 0, so that code must not
// be found by a kernel whose n may be.
TEST(NestLaunches, RangesOfDimsArePartOfTheKey) {
  const auto key = [](int64_t lowest, int64_t highest) {
    Graph graph;
    const NodeId x = graph.add_input("x", DType::kF32, {Expr::variable("n", {lowest, highest}), 3});
    graph.add_output("y", graph.whole(graph.add(Op::kAdd, {graph.whole(x), graph.whole(x)})));
    const kernel::GraphProgram program(graph);
    const kernel::Cut cut = kernel::smallest_cut(program, *kernel::topological_order(program));
    kernel::Arena arena;
    const auto kernel =
        std::get<kernel::Kernel>(kernel::derive(arena, program, cut, program.output(0)));
    return nest_launches(arena, kernel, host_target(), {}).launches.back().source.key;
  };
  EXPECT_NE(key(0, 100), key(1, 100));
  EXPECT_NE(key(0, 100), key(0, 101));
  EXPECT_EQ(key(0, 100), key(0, 100));
}

// Elements that are two to a byte, of rows that all begin with a byte; results that begin anywhere.
TEST(NestLaunches, StreamingRowsOfOddLengthReadHalfBytes) {
  for (const DType dtype : {DType::kU4, DType::kI4})
    for (const int64_t columns : {33, 257, 513}) {
      Sample sample;
      Graph& graph = sample.graph;
      const NodeId x = graph.add_input("x", DType::kF32, {5, columns});
      const NodeId codes = graph.add_input("q", dtype, {columns});
      const NodeId row = graph.add_cast(Op::kCast, graph.whole(codes), DType::kF32);
      const Edge rows{graph.whole(row).view.insert_axis(0, 5), row};
      graph.add_output("y", graph.whole(graph.add(Op::kAdd, {graph.whole(x), rows})));
      sample.inputs.emplace("x", filled(DType::kF32, {5, columns}, 3));
      sample.inputs.emplace("q", filled(dtype, {columns}, 4));
      for (const CpuTarget& target : targets()) {
        SCOPED_TRACE(fmt::format("{} columns of {} on {}", columns, dtype, target.name));
        Runner runner;
        runner.target = target;
        runner.options.streaming_bytes = 1;
        check(sample, runner, {});
      }
    }
}

/// x less its sum over the first and the last axes, which are read again: batch statistics.
Sample less_outer_sum(DType dtype, const graph::Extents& extents) {
  Sample sample;
  Graph& graph = sample.graph;
  const graph::Shape shape(extents.begin(), extents.end());
  const NodeId x = graph.add_input("x", dtype, shape);
  std::vector<int> channel_first{1, 0};
  for (size_t axis = 2; axis < extents.size(); ++axis)
    channel_first.push_back(static_cast<int>(axis));
  const Edge turned{graph.whole(x).view.permute(channel_first), x};
  const int reduced = static_cast<int>(extents.size()) - 1;
  const NodeId sum = graph.add(Op::kSum, {turned}, graph::ReduceAttribute{reduced});
  const NodeId scale = graph.add_constant(Scalar::of(dtype, -0.125));
  const NodeId part = graph.add(Op::kMul, {graph.whole(sum), {View({}, {extents[1]}, {}), scale}});
  View spread = graph.whole(part).view.insert_axis(0, extents[0]);
  for (size_t axis = 2; axis < extents.size(); ++axis)
    spread = spread.insert_axis(static_cast<int>(axis), extents[axis]);
  graph.add_output("y", graph.whole(graph.add(Op::kAdd, {graph.whole(x), {spread, part}})));
  sample.inputs.emplace("x", filled(dtype, extents, 3));
  return sample;
}

TEST(NestLaunches, SumsOverAxesThatAreNotNeighboursThenTheSameTensor) {
  const std::vector<graph::Extents> shapes{{8, 16, 8},     {3, 2, 64},  {8, 16, 7, 7},
                                           {16, 64, 4, 4}, {2, 3, 130}, {1, 5, 33}};
  for (const graph::Extents& extents : shapes)
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64})
      for (const CpuTarget& target : targets()) {
        Runner runner;
        runner.target = target;
        SCOPED_TRACE(fmt::format("{} of {} on {}", graph::name(dtype), graph::to_string(extents),
                                 target.name));
        const bool narrow = graph::bits(dtype) == 16;
        check(less_outer_sum(dtype, extents), runner, {narrow ? 0.2 : 1e-4, 1e-5}, 2);
        if (HasFailure()) return;
      }
}

/// Whole lines of bf16 are computed in an order of their own; results are where they belong all the
/// same, and so are infinities, NaNs and denormals.
TEST(NestLaunches, PairsOfBf16ComeOutInTheirPlaces) {
  const double specials[] = {NAN, INFINITY, -INFINITY, 1e-40, -1e-40, 0.0, -0.0, 3e38};
  for (const int64_t columns : {1, 31, 32, 64, 100, 192, 320})
    for (const bool streaming : {false, true}) {
      Sample sample;
      Graph& graph = sample.graph;
      const NodeId x = graph.add_input("x", DType::kBF16, {9, columns});
      const NodeId bias = graph.add_input("bias", DType::kBF16, {columns});
      const Edge biases{graph.whole(bias).view.insert_axis(0, 9), bias};
      const NodeId sum = graph.add(Op::kAdd, {graph.whole(x), biases});
      const NodeId most = graph.add(Op::kReduceMax, {graph.whole(sum)}, graph::ReduceAttribute{1});
      const Edge row{graph.whole(most).view.insert_axis(1, columns), most};
      const NodeId scaled = graph.add(Op::kMul, {graph.whole(sum), row});
      const NodeId places = graph.add_iota(DType::kBF16, {9, columns}, Expr::axis(1, columns));
      graph.add_output("scaled", graph.whole(scaled));
      graph.add_output("placed",
                       graph.whole(graph.add(Op::kAdd, {graph.whole(x), graph.whole(places)})));
      graph.add_output(
          "wide",
          graph.whole(graph.add_cast(
              Op::kCast, graph.whole(graph.add(Op::kMul, {graph.whole(x), biases})), DType::kF32)));
      sample.inputs.emplace("bias", filled(DType::kBF16, {columns}, 4));
      Array values = filled(DType::kBF16, {9, columns}, 3);
      for (size_t k = 0; k < std::size(specials); ++k)
        graph::store(DType::kBF16, values.mutable_bytes().data(),
                     static_cast<int64_t>(k) * (columns + 1) % (9 * columns), {&specials[k], 1});
      sample.inputs.emplace("x", std::move(values));
      Runner runner;
      runner.options.streaming_bytes = streaming ? 1 : 0;
      runner.options.round_each = true;
      SCOPED_TRACE(fmt::format("{} columns, streaming {}", columns, streaming));
      check(sample, runner, {});
      if (HasFailure()) return;
    }
}

/// Matrices that are many are work enough for all threads without parts.
TEST(NestLaunches, ColumnsOfManyMatricesAreSummedInOneLaunch) {
  for (const auto& [batch, launches] : {std::pair<int64_t, int>{2, 2}, {64, 1}})
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI32}) {
      Sample sample;
      Graph& graph = sample.graph;
      const NodeId x = graph.add_input("x", dtype, {batch, 1000, 20});
      const int inwards[] = {0, 2, 1};
      const NodeId y = graph.add(Op::kSum, {{graph.whole(x).view.permute(inwards), x}},
                                 graph::ReduceAttribute{1});
      graph.add_output("y", graph.whole(y));
      sample.inputs.emplace("x", filled(dtype, {batch, 1000, 20}, 9));
      const double bound = dtype == DType::kBF16 ? 0.02 : 1e-5;
      EXPECT_EQ(check(sample, {}, {bound * 20, bound}), launches);
    }
}

/// What is made of a row's maximum, by name. Some rows have a NaN, the last at its end.
Sample made_of_maximum(const std::string& name, DType dtype, int64_t rows, int64_t columns) {
  Sample sample;
  Graph& graph = sample.graph;
  const auto along = [&](NodeId row) {
    return Edge{graph.whole(row).view.insert_axis(1, columns), row};
  };
  const NodeId x = graph.add_input("x", dtype, {rows, columns});
  const NodeId most = graph.add(Op::kReduceMax, {graph.whole(x)}, graph::ReduceAttribute{1});
  const NodeId minus = graph.add_constant(Scalar::of(dtype, -1));
  const NodeId negated =
      graph.add(Op::kMul, {graph.whole(most), Edge{View({}, {Expr(rows)}, {}), minus}});
  const NodeId difference = graph.add(Op::kAdd, {graph.whole(x), along(negated)});
  const NodeId e = graph.add(Op::kExp, {graph.whole(difference)});
  const NodeId total = graph.add(Op::kSum, {graph.whole(e)}, graph::ReduceAttribute{1});
  if (name == "softmax" || name == "both")
    graph.add_output("y", graph.whole(graph.add(Op::kDiv, {graph.whole(e), along(total)})));
  if (name == "log softmax")
    graph.add_output(
        "y", graph.whole(graph.add(Op::kAdd, {graph.whole(difference),
                                              along(graph.add(Op::kLog, {graph.whole(total)}))})));
  if (name == "exponentials") graph.add_output("y", graph.whole(e));
  if (name == "maximum" || name == "both") graph.add_output("most", graph.whole(most));
  Array values = filled(dtype, {rows, columns}, 3);
  const double nan = NAN;
  for (const int64_t at : {columns, 2 * columns + 77, rows * columns - 1})
    graph::store(dtype, values.mutable_bytes().data(), at, {&nan, 1});
  sample.inputs.emplace("x", std::move(values));
  return sample;
}

/// A softmax takes its maximum without looking for NaN; whoever sees the maximum otherwise does
/// not.
TEST(NestLaunches, RowsWithNanAreNanWhateverIsMadeOfTheirMaximum) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const char* name : {"softmax", "log softmax", "exponentials", "maximum", "both"}) {
      SCOPED_TRACE(fmt::format("{} of dtype {}", name, static_cast<int>(dtype)));
      check(made_of_maximum(name, dtype, 4, 200), {}, {2e-2, 2e-2});
      if (HasFailure()) return;
    }
}

/// Results of a row leave while the next ones are computed (nest_pipeline_test.cpp).
TEST(NestLaunches, RowsAreStoredWhileTheNextOneIsComputed) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64})
    for (const char* name : {"softmax", "log softmax", "both"})
      for (const int64_t rows : {512, 523})
        for (const bool keep : {true, false}) {
          Runner runner;
          runner.options.streaming_bytes = 1;
          runner.options.nest = {.online = false, .keep_rows = keep};
          SCOPED_TRACE(fmt::format("{} of dtype {}, {} rows, keep {}", name,
                                   static_cast<int>(dtype), rows, keep));
          kernel::test::check_cuts(
              made_of_maximum(name, dtype, rows, 512), std::ref(runner),
              dtype == DType::kF32 ? Closeness{1e-5, 1e-5} : Closeness{2e-2, 2e-2}, 0);
          if (HasFailure()) return;
        }
}

/// The same of x*x + x*c, whose products may be fused with the sum in two ways.
TEST(NestLaunches, ComparedSumsOfProductsHaveTheSameBitsInEveryLoop) {
  for (const int64_t rows : {3, 40})
    for (const bool along_rows : {false, true})
      for (const CpuTarget& target : targets()) {
        Sample sample;
        Graph& graph = sample.graph;
        const NodeId x = graph.add_input("x", DType::kF32, {rows, 100});
        const NodeId factor = graph.add_constant(Scalar::of(DType::kF32, 0.3));
        const NodeId square = graph.add(Op::kMul, {graph.whole(x), graph.whole(x)});
        const NodeId scaled =
            graph.add(Op::kMul, {graph.whole(x), {View({}, {rows, 100}, {}), factor}});
        const NodeId y = graph.add(Op::kAdd, {graph.whole(square), graph.whole(scaled)});
        const int swap[] = {1, 0};
        const View seen = along_rows ? graph.whole(y).view : graph.whole(y).view.permute(swap);
        const NodeId most = graph.add(Op::kReduceMax, {{seen, y}}, graph::ReduceAttribute{1});
        const Edge spread{graph.whole(most).view.insert_axis(1, seen.domain()[1]), most};
        const NodeId hit = graph.add(Op::kEqual, {{seen, y}, spread});
        const NodeId number = graph.add_cast(Op::kCast, graph.whole(hit), DType::kI64);
        const NodeId count = graph.add(Op::kSum, {graph.whole(number)}, graph::ReduceAttribute{1});
        graph.add_output("count", graph.whole(count));
        sample.inputs.emplace("x", filled(DType::kF32, {rows, 100}, 5));
        Runner runner;
        runner.target = target;
        SCOPED_TRACE(fmt::format("{} rows on {}", rows, target.name));
        check(sample, runner, {});
        if (HasFailure()) return;
      }
}

/// Products of 19 terms, most of them far from 0; which of them are the largest along one axis, and
/// the sum of what a second matrix has there.
Sample largest_products(const std::string& result, bool along_rows) {
  Sample sample;
  Graph& graph = sample.graph;
  const NodeId a = graph.add_input("a", DType::kF32, {21, 19});
  const NodeId b = graph.add_input("b", DType::kF32, {19, 33});
  const int b_axes[] = {1, 0};
  const NodeId terms =
      graph.add(Op::kMul, {{graph.whole(a).view.insert_axis(1, 33), a},
                           {graph.whole(b).view.permute(b_axes).insert_axis(0, 21), b}});
  const NodeId product = graph.add(Op::kSum, {graph.whole(terms)}, graph::ReduceAttribute{1});
  const int swap[] = {1, 0};
  const View seen =
      along_rows ? graph.whole(product).view : graph.whole(product).view.permute(swap);
  const NodeId most = graph.add(Op::kReduceMax, {{seen, product}}, graph::ReduceAttribute{1});
  const Edge spread{graph.whole(most).view.insert_axis(1, seen.domain()[1]), most};
  const NodeId hit = graph.add(Op::kEqual, {{seen, product}, spread});
  if (result == "hits") {
    graph.add_output("hits", graph.whole(hit));
  } else {
    const Expr length = seen.domain()[1];
    const NodeId v = graph.add_input("v", DType::kF32, {length, 18});
    const int v_axes[] = {1, 0};
    const NodeId weight = graph.add_cast(Op::kCast, graph.whole(hit), DType::kF32);
    const NodeId chosen = graph.add(
        Op::kMul, {{graph.whole(weight).view.insert_axis(1, 18), weight},
                   {graph.whole(v).view.permute(v_axes).insert_axis(0, seen.domain()[0]), v}});
    const NodeId y = graph.add(Op::kSum, {graph.whole(chosen)}, graph::ReduceAttribute{1});
    graph.add_output("y", graph.whole(y));
    sample.inputs.emplace("v", filled(DType::kF32, {*length.constant_value(), 18}, 7));
  }
  sample.inputs.emplace("a", filled(DType::kF32, {21, 19}, 5));
  sample.inputs.emplace("b", filled(DType::kF32, {19, 33}, 6));
  return sample;
}

TEST(NestLaunches, ProductsThatAreComparedWithTheirMaximumAreAddedUpOnce) {
  for (const char* result : {"hits", "values"})
    for (const bool along_rows : {false, true})
      for (const bool interchange : {false, true})
        for (const CpuTarget& target : targets()) {
          Runner runner;
          runner.target = target;
          runner.options.nest = {.online = false, .interchange = interchange};
          SCOPED_TRACE(fmt::format("{} along {} on {}", result, along_rows ? "rows" : "columns",
                                   target.name));
          const bool stored = result == std::string("hits") || !interchange;
          EXPECT_EQ(check(largest_products(result, along_rows), runner, {1e-5, 1e-5}),
                    stored ? 2 : 1);
          if (HasFailure()) return;
        }
}

/// How many elements of a function of a row equal its maximum, exceed it, and its integer parts.
Sample compared_with_maximum(DType dtype, Op function, int64_t columns) {
  Sample sample;
  Graph& graph = sample.graph;
  const NodeId x = graph.add_input("x", dtype, {3, columns});
  const NodeId y = graph.add(function, {graph.whole(x)});
  const NodeId most = graph.add(Op::kReduceMax, {graph.whole(y)}, graph::ReduceAttribute{1});
  const Edge row{graph.whole(most).view.insert_axis(1, columns), most};
  const auto count = [&](const char* name, NodeId hit) {
    const NodeId number = graph.add_cast(Op::kCast, graph.whole(hit), DType::kI64);
    const NodeId sum = graph.add(Op::kSum, {graph.whole(number)}, graph::ReduceAttribute{1});
    graph.add_output(name, graph.whole(sum));
  };
  count("equal", graph.add(Op::kEqual, {graph.whole(y), row}));
  count("above", graph.add(Op::kLessThan, {row, graph.whole(y)}));
  count("whole", graph.add_cast(Op::kCast, graph.whole(y), DType::kI32));
  sample.inputs.emplace("x", filled(dtype, {3, columns}, 5));
  return sample;
}

TEST(NestLaunches, ComputedNarrowFloatsAreRoundedBeforeTheyAreCompared) {
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF8E4M3, DType::kF8E5M2})
    for (const Op function : {Op::kExp, Op::kTanh})
      for (const int64_t columns : {3, 18, 100, 20001})
        for (const CpuTarget& target : targets()) {
          Runner runner;
          runner.target = target;
          SCOPED_TRACE(fmt::format("{} of {} {} on {}", graph::name(function), columns,
                                   graph::name(dtype), target.name));
          check(compared_with_maximum(dtype, function, columns), runner, {});
          if (HasFailure()) return;
        }
}

/// Windows of a row, padded: the maximum and the sum of each.
TEST(NestFlatten, ElementwiseWorkIsOneLoop) {
  Graph graph;
  const Expr n = Expr::variable("n", {0, 1 << 20});
  const NodeId x = graph.add_input("x", DType::kF32, {n, 3, 5, 7});
  const NodeId y = graph.add(Op::kExp, {graph.whole(x)});
  graph.add_output("y", graph.whole(y));
  const kernel::GraphProgram program(graph);
  const auto order = *kernel::topological_order(program);
  kernel::Arena arena;
  const auto derived = kernel::derive(arena, program, kernel::smallest_cut(program, order), y);
  const FlatKernel flat = flattened(arena, std::get<kernel::Kernel>(derived));
  ASSERT_EQ(flat.kernel.axes.size(), 1U);
  EXPECT_EQ(flat.kernel.axes[0].axis_extent(), n * 105);
  EXPECT_EQ(flat.originals.size(), 2U);
}

TEST(NestFlatten, AxesThatAnOperandIsRepeatedAlongStayApart) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {4, 5, 6});
  const NodeId bias = graph.add_input("b", DType::kF32, {6});
  View spread = graph.whole(bias).view.insert_axis(0, 5).insert_axis(0, 4);
  const NodeId y = graph.add(Op::kAdd, {graph.whole(x), {spread, bias}});
  graph.add_output("y", graph.whole(y));
  const kernel::GraphProgram program(graph);
  const auto order = *kernel::topological_order(program);
  kernel::Arena arena;
  const auto derived = kernel::derive(arena, program, kernel::smallest_cut(program, order), y);
  const FlatKernel flat = flattened(arena, std::get<kernel::Kernel>(derived));
  ASSERT_EQ(flat.kernel.axes.size(), 2U);
  EXPECT_EQ(flat.kernel.axes[0].axis_extent(), Expr(20));
}

}  // namespace
}  // namespace luminal::codegen
