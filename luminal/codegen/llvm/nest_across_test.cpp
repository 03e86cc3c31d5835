// Copies across, short axes, elements read backwards or in steps, and windows.
#include <gtest/gtest.h>

#include <cmath>

#include "luminal/codegen/llvm/nest_plan.h"
#include "luminal/codegen/llvm/nest_runner_for_tests.h"
#include "luminal/graph/elements.h"

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

TEST(NestAcross, TransposedCopiesOfEveryWidth) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{64, 64},
                                      {70, 33},
                                      {5, 200},
                                      {130, 17},
                                      {320, 72},
                                      {601, 35},
                                      {0, 4},
                                      {1, 1}})
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI8,
                              DType::kI32, DType::kBool})
      for (const bool symbolic_dims : {false, true}) {
        Sample sample;
        Graph& graph = sample.graph;
        Expr m = rows;
        Expr n = columns;
        if (symbolic_dims) {
          m = Expr::variable("m", {0, 1 << 20});
          n = Expr::variable("n", {0, 1 << 20});
          sample.dims = {{"m", rows}, {"n", columns}};
        }
        const NodeId x = graph.add_input("x", dtype, {2, m, 3, n});
        for (const std::vector<int>& order :
             {std::vector<int>{0, 3, 2, 1}, {3, 2, 1, 0}, {0, 2, 1, 3}, {2, 0, 3, 1}}) {
          const Edge turned{graph.whole(x).view.permute(order), x};
          graph.add_output(fmt::format("y{}", graph.outputs().size()),
                           graph.whole(graph.add(Op::kMax, {turned, turned})));
        }
        sample.inputs.emplace("x", filled(dtype, {2, rows, 3, columns}, 3));
        for (const CpuTarget& target : targets()) {
          Runner runner;
          runner.target = target;
          runner.options.streaming_bytes = columns == 33 ? 0 : 64;
          SCOPED_TRACE(
              fmt::format("{}x{} {} on {}", rows, columns, static_cast<int>(dtype), target.name));
          check(sample, runner, {});
          if (HasFailure()) return;
        }
      }
}

/// Runs a sample whose results count as large; says whether rows waited.
bool waits(const Sample& sample, const CpuTarget& target) {
  Runner runner;
  runner.target = target;
  runner.options.streaming_bytes = 64;
  bool result = false;
  const auto run = [&](kernel::Arena& arena, const kernel::Kernel& kernel,
                       const graph::DimValues& dims, Tensors& tensors) {
    const NestPlan plan(arena, kernel::build_nest(arena, kernel, {}), target,
                        {.streaming_bytes = 64});
    result = result || plan.waiting_rows().most > 0;
    runner(arena, kernel, dims, tensors);
  };
  kernel::test::check_cuts(sample, run, {}, 0);
  return result;
}

/// Several blocks in a row of the result and what is left of them, several items, operands of two
/// widths, and axes that stand still.
TEST(NestAcross, LargeTransposedResultsWaitInBlocks) {
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{192, 1600}, {256, 1100}, {128, 71}})
    for (const auto& [dtype, other] : {std::pair{DType::kF32, DType::kF32},
                                       {DType::kBF16, DType::kBF16},
                                       {DType::kI8, DType::kI8},
                                       {DType::kF64, DType::kF32},
                                       {DType::kF32, DType::kBF16}})
      for (const bool symbolic_dims : {false, true}) {
        Sample sample;
        Graph& graph = sample.graph;
        const Expr n = symbolic_dims ? Expr::variable("n", {0, 1 << 20}) : Expr(columns);
        if (symbolic_dims) sample.dims = {{"n", columns}};
        const NodeId x = graph.add_input("x", dtype, {2, rows, n});
        const NodeId y = graph.add_input("y", other, {2, rows, n});
        const std::vector<int> order{0, 2, 1};
        const Edge cast =
            graph.whole(graph.add_cast(Op::kCast, {graph.whole(y).view.permute(order), y}, dtype));
        graph.add_output(
            "z", graph.whole(graph.add(Op::kMax, {{graph.whole(x).view.permute(order), x}, cast})));
        sample.inputs.emplace("x", filled(dtype, {2, rows, columns}, 3));
        sample.inputs.emplace("y", filled(other, {2, rows, columns}, 5));
        for (const CpuTarget& target : targets()) {
          SCOPED_TRACE(fmt::format("{}x{} {} {} on {}", rows, columns, dtype, other, target.name));
          EXPECT_TRUE(waits(sample, target));
          if (HasFailure()) return;
        }
      }
}

/// Vectors are as long as narrow results ask for: squares of wide operands then have more rows than
/// a line of theirs has elements.
TEST(NestAcross, WideOperandsOfNarrowResultsFillWholeSquares) {
  for (const int64_t columns : {12, 72, 200, 1000})
    for (const auto& [from, to] : {std::pair{DType::kF64, DType::kF32},
                                   {DType::kF64, DType::kI8},
                                   {DType::kI64, DType::kI32},
                                   {DType::kI64, DType::kI8}}) {
      Sample sample;
      Graph& graph = sample.graph;
      const NodeId x = graph.add_input("x", from, {128, columns});
      const std::vector<int> order{1, 0};
      graph.add_output(
          "y", graph.whole(graph.add_cast(Op::kCast, {graph.whole(x).view.permute(order), x}, to)));
      sample.inputs.emplace("x", filled(from, {128, columns}, 3));
      for (const CpuTarget& target : targets()) {
        SCOPED_TRACE(fmt::format("{} {} to {} on {}", columns, from, to, target.name));
        EXPECT_TRUE(waits(sample, target) || columns < 64);
        if (HasFailure()) return;
      }
    }
}

/// A transposition with a short axis, plain and with what is done to it: rows that lie in turn are
/// picked out of vectors, and a short last axis is put together from vectors.
TEST(NestAcross, ShortAxesAreTransposedInWholeVectors) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{2, 64},
                                      {3, 1},
                                      {3, 1600},
                                      {4, 33},
                                      {6, 97},
                                      {7, 1003},
                                      {8, 130},
                                      {3, 0}})
    for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kI8, DType::kBool})
      for (const bool symbolic_dims : {false, true})
        for (const bool is_last : {false, true}) {
          Sample sample;
          Graph& graph = sample.graph;
          Expr n = columns;
          if (symbolic_dims) {
            n = Expr::variable("n", {0, 1 << 20});
            sample.dims = {{"n", columns}};
          }
          const Expr m = rows;
          const graph::Shape shape = is_last ? graph::Shape{3, m, n} : graph::Shape{3, n, m};
          const NodeId x = graph.add_input("x", dtype, shape);
          const NodeId y = graph.add_input("y", dtype, {shape[0], shape[2], shape[1]});
          const int order[] = {0, 2, 1};
          const Edge turned{graph.whole(x).view.permute(order), x};
          graph.add_output("copy", graph.whole(graph.add(Op::kCopy, {turned})));
          graph.add_output("most", graph.whole(graph.add(Op::kMax, {turned, graph.whole(y)})));
          // A part of the short axis does not lie in turn.
          const Edge part{turned.view.slice(is_last ? 2 : 1, 0, rows - 1), x};
          graph.add_output("part", graph.whole(graph.add(Op::kCopy, {part})));
          const graph::Extents extents =
              is_last ? graph::Extents{3, rows, columns} : graph::Extents{3, columns, rows};
          sample.inputs.emplace("x", filled(dtype, extents, 3));
          sample.inputs.emplace("y", filled(dtype, {3, extents[2], extents[1]}, 4));
          for (const CpuTarget& target : targets()) {
            if (symbolic_dims && !target.has(runtime::CpuFeature::kAvx512bw)) continue;
            Runner runner;
            runner.target = target;
            runner.options.streaming_bytes = columns % 2 == 0 ? 0 : 64;
            SCOPED_TRACE(
                fmt::format("{}x{} {} on {}", rows, columns, static_cast<int>(dtype), target.name));
            check(sample, runner, {});
            if (HasFailure()) return;
          }
        }
}

/// Every element several times along both axes.
TEST(NestAcross, RepeatedElementsFillWholeVectors) {
  for (const int64_t times : {2, 3, 4, 8})
    for (const int64_t columns : {1, 7, 8, 56, 100})
      for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI8, DType::kF64, DType::kBool}) {
        Sample sample;
        Graph& graph = sample.graph;
        const NodeId x = graph.add_input("x", dtype, {3, 5, columns});
        const View repeated = graph.whole(x).view.insert_axis(3, times).insert_axis(2, 2);
        graph.add_output("y", graph.whole(graph.add(Op::kCopy, {{repeated, x}})));
        sample.inputs.emplace("x", filled(dtype, {3, 5, columns}, 3));
        for (const int64_t streaming : {0, 64}) {
          Runner runner;
          runner.options.streaming_bytes = streaming;
          check(sample, runner, {});
          if (HasFailure()) return;
        }
      }
}

TEST(NestAcross, ElementsAreReadBackwardsAndInSteps) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64, DType::kI8,
                            DType::kI64, DType::kBool, DType::kI4})
    for (const int64_t columns : {1, 15, 16, 61, 200}) {
      Sample sample;
      Graph& graph = sample.graph;
      const NodeId x = graph.add_input("x", dtype, {3, columns});
      const View whole = graph.whole(x).view;
      const auto copy = [&](const View& view) {
        graph.add_output(fmt::format("y{}", graph.outputs().size()),
                         graph.whole(graph.add(Op::kCopy, {{view, x}})));
      };
      copy(whole.flip(1));
      copy(whole.flip(0).flip(1));
      copy(*whole.flip(1).pad(1, 2, 3, Scalar::of(dtype, 1)));
      for (const int64_t step : {2, 3, 4, 5}) {
        const View windows = whole.window(1, 1, step, 1);
        copy(windows);
        copy(windows.flip(1));
        copy(*windows.flip(1).pad(1, 1, 2, Scalar::of(dtype, 1)));
      }
      sample.inputs.emplace("x", filled(dtype, {3, columns}, 3));
      for (const CpuTarget& target : targets()) {
        Runner runner;
        runner.target = target;
        check(sample, runner, {});
        if (HasFailure()) return;
      }
    }
}

TEST(NestAcross, PooledWindowsWithStridesAndPads) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64, DType::kI8})
    for (const int64_t stride : {1, 2, 3, 5}) {
      Sample sample;
      Graph& graph = sample.graph;
      const NodeId x = graph.add_input("x", dtype, {3, 50, 61});
      const View padded = *graph.whole(x)
                               .view.pad(2, 1, 1, Scalar::lowest(dtype))
                               ->pad(1, 1, 0, Scalar::lowest(dtype));
      const View rows = padded.window(1, 3, stride, 1);
      const View windows = rows.window(2, 3, stride, 1);
      const int order[] = {0, 1, 2, 3, 4};
      const NodeId most =
          graph.add(Op::kReduceMax, {{windows.permute(order), x}}, graph::ReduceAttribute{2});
      graph.add_output("most", graph.whole(most));
      sample.inputs.emplace("x", filled(dtype, {3, 50, 61}, 3));
      for (const CpuTarget& target : targets()) {
        Runner runner;
        runner.target = target;
        check(sample, runner, {});
        if (HasFailure()) return;
      }
    }
}

/// Steps of windows that lie in padding add nothing to maxima, and a row may hold nothing else.
TEST(NestAcross, WindowsAreWrittenOut) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF64, DType::kI8, DType::kI32})
    for (const Op op : {Op::kReduceMax, Op::kSum})
      for (const int64_t size : {2, 3, 5})
        for (const int64_t stride : {1, 2, 3})
          for (const int64_t columns : {5, 33, 112}) {
            Sample sample;
            Graph& graph = sample.graph;
            const NodeId x = graph.add_input("x", dtype, {2, 11, columns});
            const Scalar outside = op == Op::kSum ? Scalar::of(dtype, 0) : Scalar::lowest(dtype);
            const View padded = *graph.whole(x).view.pad(2, 1, 2, outside)->pad(1, 3, 1, outside);
            const View windows = padded.window(1, size, stride, 1).window(2, size, stride, 1);
            const NodeId y = graph.add(op, {{windows, x}}, graph::ReduceAttribute{2});
            graph.add_output("y", graph.whole(y));
            Array values = filled(dtype, {2, 11, columns}, 3);
            sample.inputs.emplace("x", std::move(values));
            for (const CpuTarget& target : targets()) {
              Runner runner;
              runner.target = target;
              runner.options.round_each = true;
              SCOPED_TRACE(fmt::format("{} of {} by {} of {} columns of {} on {}", graph::name(op),
                                       size, stride, columns, static_cast<int>(dtype),
                                       target.name));
              check(sample, runner, {1e-5, 1e-5});
              if (HasFailure()) return;
            }
          }
}

/// A few steps at most, but nobody knows how many: they stay a loop.
TEST(NestAcross, ShortReductionsOfUnknownLengthBesidePadding) {
  for (const int64_t rows : {1, 4, 5}) {
    Sample sample;
    Graph& graph = sample.graph;
    const Expr m = Expr::variable("m", {1, 5});
    sample.dims = {{"m", rows}};
    const NodeId x = graph.add_input("x", DType::kF32, {m, 4, 6});
    const int order[] = {1, 2, 0};
    const View padded = *graph.whole(x).view.pad(2, 2, 1, Scalar::lowest(DType::kF32));
    const NodeId y =
        graph.add(Op::kReduceMax, {{padded.permute(order), x}}, graph::ReduceAttribute{1});
    graph.add_output("y", graph.whole(y));
    sample.inputs.emplace("x", filled(DType::kF32, {rows, 4, 6}, 3));
    Runner runner;
    check(sample, runner, {});
  }
}

}  // namespace
}  // namespace luminal::codegen
