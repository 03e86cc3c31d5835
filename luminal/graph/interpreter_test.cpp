// The interpreter as a whole: dims, inputs, what is stored and what is computed on the way, reports
// and effects.
#include <gtest/gtest.h>

#include <cmath>

#include "luminal/graph/interpreter_harness.h"
#include "luminal/graph/interpreter_steps.h"
#include "luminal/graph/view_reference.h"

namespace luminal::graph {
namespace {

/// Sum over k of a[i, k] * b[k, j], from two expanded edges. `stored` keeps the product as an
/// output, so that it must exist as a whole.
Graph matmul_graph(DType dtype, const Expr& m, const Expr& k, const Expr& n, bool stored = false) {
  Graph graph;
  const Edge a = graph.whole(graph.add_input("x0", dtype, {m, k}));
  const Edge b = graph.whole(graph.add_input("x1", dtype, {k, n}));
  const int swapped[] = {1, 0};
  const View left = a.view.insert_axis(1, n);
  const View right = b.view.permute(swapped).insert_axis(0, m);
  const NodeId product = graph.add(Op::kMul, {{left, a.node}, {right, b.node}});
  graph.add_output("y", graph.whole(graph.add(Op::kSum, {graph.whole(product)})));
  if (stored) graph.add_output("product", graph.whole(product));
  return graph;
}

Array random_array(DType dtype, Extents extents, uint32_t seed) {
  std::vector<double> values(static_cast<size_t>(element_count(extents)));
  for (double& value : values) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<double>(seed >> 8) / (1 << 23) - 1.0;
  }
  return Array::from<double>(dtype, std::move(extents), values);
}

// How long it takes is for benchmarks to say; that 16 million products are never stored makes it
// quick.
TEST(Interpreter, ALargeMatmulStoresNoProducts) {
  const Array a = random_array(DType::kF32, {256, 256}, 1);
  const Array b = random_array(DType::kF32, {256, 256}, 2);
  const Graph graph = matmul_graph(DType::kF32, 256, 256, 256);
  EXPECT_EQ(plan_steps(graph).back().name, "mul + sum");
  const Array c = run_graph(graph, {a, b})[0];
  for (const auto& [i, j] : {std::pair{0, 0}, std::pair{17, 200}, std::pair{255, 255}}) {
    double sum = 0;
    for (int k = 0; k < 256; ++k)
      sum += static_cast<double>(
          static_cast<float>(a.at(i * 256 + k).as_double() * b.at(k * 256 + j).as_double()));
    EXPECT_EQ(c.at(i * 256 + j), Scalar::of(DType::kF32, sum));
  }
}

TEST(Interpreter, ProductsComputedOnTheWayGiveTheSameAsStoredOnes) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kI8,
                            DType::kU4, DType::kF64}) {
    const Array a = random_array(dtype, {5, 7}, 3);
    const Array b = random_array(dtype, {7, 300}, 4);
    const Graph fused = matmul_graph(dtype, 5, 7, 300);
    const Graph stored = matmul_graph(dtype, 5, 7, 300, true);
    EXPECT_EQ(plan_steps(fused).size(), 3U);
    EXPECT_EQ(plan_steps(fused).back().name, "mul + sum");
    EXPECT_EQ(plan_steps(stored).size(), 4U);
    EXPECT_TRUE(run_graph(fused, {a, b})[0].identical(run_graph(stored, {a, b})[0])) << name(dtype);
  }
}

TEST(Interpreter, ChainsAndPermutedProductsAreComputedOnTheWay) {
  // sum over the first axis of (x * 2) cast to f32: cast and mul feed one sum through a permute.
  Graph graph;
  const Array x = random_array(DType::kF16, {40, 50}, 5);
  const Edge input = add_inputs(graph, {x})[0];
  const NodeId two = graph.add_constant(Scalar::of(DType::kF16, 2.0));
  const NodeId twice = graph.add(Op::kMul, {input, {graph.whole(two).view.expand({40, 50}), two}});
  const NodeId wide = graph.add_cast(Op::kCast, graph.whole(twice), DType::kF32);
  const int swapped[] = {1, 0};
  const View columns = View::identity({40, 50}).permute(swapped);
  const NodeId sum = graph.add(Op::kSum, {{columns, wide}});
  graph.add_output("y", graph.whole(sum));
  const std::vector<Step> steps = plan_steps(graph);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[2].name, "mul + cast + sum");
  const Array result = run_graph(graph, {x})[0];
  for (int64_t column = 0; column < 50; ++column) {
    double expected = 0;
    for (int64_t row = 0; row < 40; ++row)
      expected += Scalar::of(DType::kF16, 2 * x.at(row * 50 + column).as_double()).as_double();
    EXPECT_EQ(result.at(column), Scalar::of(DType::kF32, expected));
  }
}

TEST(Interpreter, WhatIsReadTwiceOrPaddedIsStored) {
  const auto stored = [](auto build) {
    Graph graph;
    const Edge x = graph.whole(graph.add_input("x0", DType::kF32, {4, 4}));
    const NodeId product = graph.add(Op::kMul, {x, x});
    graph.add_output("y",
                     graph.whole(graph.add(Op::kSum, {{build(graph.whole(product)), product}})));
    for (const Step& step : plan_steps(graph))
      if (step.node == product) return true;
    return false;
  };
  EXPECT_FALSE(stored([](const Edge& edge) { return edge.view; }));
  EXPECT_FALSE(stored([](const Edge& edge) { return edge.view.flip(0); }));
  EXPECT_TRUE(stored([](const Edge& edge) { return edge.view.insert_axis(0, 3); }));
  EXPECT_TRUE(stored([](const Edge& edge) { return edge.view.window(0, 2); }));
  EXPECT_TRUE(stored(
      [](const Edge& edge) { return *edge.view.pad(0, 1, 1, Scalar::of(DType::kF32, 1.0)); }));
}

TEST(Interpreter, ViewsOfEveryKindAreReadUnderEveryKindOfOp) {
  const Scalar fill = Scalar::of(DType::kI16, 3);
  const Array x = [] {
    std::vector<int64_t> values(24);
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i * 5 % 17);
    return integers_of(DType::kI16, {4, 6}, values);
  }();
  const View whole = View::identity({4, 6});
  const int swapped[] = {1, 0};
  const std::vector<View> views{
      whole,
      whole.permute(swapped),
      whole.insert_axis(1, 3),
      whole.slice(1, 5, 0, -2),
      whole.flip(0),
      *whole.pad(0, 1, 2, fill),
      whole.pad(1, 2, 0, fill)->flip(1),
      whole.permute(swapped).merge(0, 2),
      whole.permute(swapped).reshape({3, 8}),
      whole.window(1, 3, 2),
      whole.diagonal(0, 1, 1),
  };
  for (const View& view : views) {
    Graph graph;
    const Edge seen{view, add_inputs(graph, {x})[0].node};
    const NodeId copy = graph.add(Op::kCopy, {seen});
    graph.add_output("copy", graph.whole(copy));
    graph.add_output("output", seen);
    graph.add_output("sum", graph.whole(graph.add(Op::kAdd, {seen, seen})));
    graph.add_output("bits", graph.whole(graph.add_cast(Op::kBitcast, seen, DType::kU16)));
    graph.add_output("reduced", graph.whole(graph.add(Op::kSum, {seen})));
    graph.add_output("order", graph.whole(graph.add(Op::kArgSort, {seen})));
    graph.add_output("expected_order", graph.whole(graph.add(Op::kArgSort, {graph.whole(copy)})));
    const auto results = run_graph(graph, {x});
    const std::vector<int64_t> expected = [&] {
      std::vector<int64_t> values;
      for (const int64_t position : reference::evaluate(view).values)
        values.push_back(position == reference::kFill ? 3 : x.at(position).as_int64());
      return values;
    }();
    const std::string text = view.to_string();
    EXPECT_EQ(results[0].to_vector<int64_t>(), expected) << text;
    EXPECT_EQ(results[1].to_vector<int64_t>(), expected) << text;
    std::vector<int64_t> doubled = expected;
    for (int64_t& value : doubled) value *= 2;
    EXPECT_EQ(results[2].to_vector<int64_t>(), doubled) << text;
    EXPECT_EQ(results[3].to_vector<int64_t>(), expected) << text;
    const int64_t row = results[0].extents().back();
    for (int64_t i = 0; i < results[4].size(); ++i) {
      int64_t sum = 0;
      for (int64_t k = 0; k < row; ++k) sum += expected[static_cast<size_t>(i * row + k)];
      EXPECT_EQ(results[4].at(i).as_int64(), sum) << text;
    }
    EXPECT_TRUE(results[5].identical(results[6])) << text;
  }
}

TEST(Interpreter, PaddingIsCastToTheDtypeOfTheTensor) {
  for (const DTypeInfo& row : kDTypes) {
    Graph graph;
    const Array x = array_of(row.dtype, {1}, {0});
    const Edge input = add_inputs(graph, {x})[0];
    const View padded = *input.view.pad(0, 0, 2, Scalar::of(row.dtype, 1));
    graph.add_output("y", {padded, input.node});
    const Array y = run_graph(graph, {x})[0];
    EXPECT_EQ(y.to_vector<int32_t>(), (std::vector<int32_t>{0, 1, 1})) << row.name;
  }
}

TEST(Interpreter, IotaEvaluatesItsExpressionForEveryDtype) {
  const Expr i = Expr::axis(0, 3), j = Expr::axis(1, 4);
  for (const DTypeInfo& row : kDTypes) {
    Graph graph;
    graph.add_output("affine", graph.whole(graph.add_iota(row.dtype, {3, 4}, 4 * i + j - 5)));
    graph.add_output("general", graph.whole(graph.add_iota(row.dtype, {3, 4},
                                                           symbolic::mod(4 * i + 3 * j, Expr(5)))));
    const auto results = run_graph(graph, {});
    for (int64_t k = 0; k < 12; ++k) {
      EXPECT_EQ(results[0].at(k), Scalar::of(row.dtype, k - 5)) << row.name;
      EXPECT_EQ(results[1].at(k), Scalar::of(row.dtype, (4 * (k / 4) + 3 * (k % 4)) % 5));
    }
  }
}

TEST(Interpreter, DimsComeFromTheInputsOrTheRequest) {
  const Expr batch = Expr::variable("batch", {1, 8}), seq = Expr::variable("seq", {1, 64});
  Graph graph;
  const Edge x = graph.whole(graph.add_input("x0", DType::kF32, {batch, 2 * seq}));
  graph.add_output("sum", graph.whole(graph.add(Op::kSum, {x})));
  graph.add_output("iota",
                   graph.whole(graph.add_iota(DType::kI64, {seq}, Expr::axis(0, seq) + batch)));
  const auto results =
      run_graph(graph, {array_of(DType::kF32, {2, 6}, std::vector<double>(12, 1))});
  EXPECT_EQ(results[0].to_vector<int32_t>(), (std::vector<int32_t>{6, 6}));
  EXPECT_EQ(results[1].to_vector<int32_t>(), (std::vector<int32_t>{2, 3, 4}));

  Graph sourceless;
  sourceless.add_output(
      "iota", sourceless.whole(sourceless.add_iota(DType::kI64, {seq}, Expr::axis(0, seq))));
  EXPECT_EQ(run_graph(sourceless, {}, {{"seq", 3}})[0].size(), 3);
  EXPECT_EQ(error_of([&] { run_graph(sourceless, {}); }),
            "run: the dim 'seq' has no value; set it, or give an input whose shape says it");
  EXPECT_EQ(error_of([&] {
              run_graph(sourceless, {}, {{"seq", 65}});
            }),
            "run: the dim 'seq' is 65, outside its range [1, 64]");
}

TEST(Interpreter, TheSameProgramRunsWithOtherDims) {
  const Expr seq = Expr::variable("seq", {0, 64});
  const auto program = make_interpreter(matmul_graph(DType::kF32, seq, 3, seq));
  for (const int64_t n : {4, 1, 0, 7}) {
    const Array a = random_array(DType::kF32, {n, 3}, 1);
    const Array b = random_array(DType::kF32, {3, n}, 2);
    RunRequest request;
    request.inputs = {{"x0", &a}, {"x1", &b}};
    const Array c = program->run(request)[0];
    EXPECT_EQ(c.extents(), (Extents{n, n}));
  }
}

TEST(Interpreter, MissingAndUnfitInputsAreNamed) {
  const Expr seq = Expr::variable("seq", {1, 64});
  Graph graph;
  const Edge x = graph.whole(graph.add_input("x0", DType::kF32, {seq, 2}));
  const Edge y = graph.whole(graph.add_input("x1", DType::kF32, {seq, 2}));
  graph.add_output("z", graph.whole(graph.add(Op::kAdd, {x, y})));
  const Array three(DType::kF32, {3, 2}), four(DType::kF32, {4, 2});
  EXPECT_EQ(error_of([&] { run_graph(graph, {three}); }),
            "run: input 'x1' of type f32[seq, 2] has no data");
  EXPECT_EQ(error_of([&] {
              run_graph(graph, {three, Array(DType::kI32, {3, 2})});
            }),
            "run: input 'x1' takes f32[seq, 2], but was given i32[3, 2]");
  EXPECT_EQ(error_of([&] {
              run_graph(graph, {three, four});
            }),
            "run: axis 0 of input 'x1' is seq = 3, but the data has 4");
  EXPECT_EQ(error_of([&] {
              run_graph(graph, {three, three}, {{"seq", 5}});
            }),
            "run: axis 0 of input 'x0' is seq = 5, but the data has 3");
  EXPECT_EQ(error_of([&] {
              run_graph(graph, {three, Array(DType::kF32, {3})});
            }),
            "run: input 'x1' has shape [seq, 2], but the data has 1 axes");
}

TEST(Interpreter, UnusedNodesAreNotComputedAndUnusedInputsNotNeeded) {
  Graph graph;
  const Edge x = graph.whole(graph.add_input("x0", DType::kF32, {2}));
  const Edge unused = graph.whole(graph.add_input("x1", DType::kI64, {2}));
  graph.add(Op::kGather, {{unused.view, unused.node}, {x.view.insert_axis(0, 2), x.node}});
  graph.add_output("y", x);
  const Array value(DType::kF32, {2});
  EXPECT_TRUE(run_graph(graph, {value})[0].identical(value));
  EXPECT_EQ(plan_steps(graph).size(), 1U);
}

TEST(Interpreter, ArraysAreFreedAfterTheirLastUse) {
  Graph graph;
  Edge x = graph.whole(graph.add_input("x0", DType::kF32, {2}));
  const NodeId first = graph.add(Op::kExp, {x});
  const NodeId second = graph.add(Op::kSin, {graph.whole(first)});
  const NodeId third = graph.add(Op::kAdd, {graph.whole(first), graph.whole(second)});
  graph.add_output("third", graph.whole(third));
  graph.add_output("second", graph.whole(second));
  const std::vector<Step> steps = plan_steps(graph);
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[1].last_reads, std::vector<NodeId>{x.node});
  EXPECT_TRUE(steps[2].last_reads.empty());
  EXPECT_EQ(steps[3].last_reads, std::vector<NodeId>{first});
}

TEST(Interpreter, StepsAreReportedWithShapesAndTimes) {
  const Expr seq = Expr::variable("seq", {1, 64});
  const auto program = make_interpreter(matmul_graph(DType::kBF16, seq, 3, 4));
  const Array a(DType::kBF16, {2, 3}), b(DType::kBF16, {3, 4});
  RunRequest request;
  request.inputs = {{"x0", &a}, {"x1", &b}};
  std::vector<StepReport> reports;
  request.on_step = [&](const StepReport& report) { reports.push_back(report); };
  program->run(request);
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_EQ(reports[0].name, "input");
  EXPECT_EQ(reports[2].name, "mul + sum");
  EXPECT_EQ(reports[2].dtype, DType::kBF16);
  EXPECT_EQ(reports[2].extents, (Extents{2, 4}));
  EXPECT_EQ(reports[2].node, (NodeId{3}));
  EXPECT_GE(reports[2].microseconds, 0.0);
}

TEST(Interpreter, PrintWritesInOrderAndPassesItsValueOn) {
  Graph graph;
  const Array x = array_of(DType::kI32, {3}, {1, 2, 3});
  const Edge input = add_inputs(graph, {x})[0];
  const NodeId printed = graph.add(Op::kPrint, {input}, PrintAttribute{"before"});
  const NodeId twice = graph.add(Op::kAdd, {graph.whole(printed), graph.whole(printed)});
  graph.add(Op::kPrint, {{graph.whole(twice).view.flip(0), twice}}, PrintAttribute{"after"});
  graph.add_output("y", graph.whole(twice));
  std::ostringstream text;
  RunRequest request;
  request.inputs["x0"] = &x;
  request.text = &text;
  EXPECT_EQ(make_interpreter(graph)->run(request)[0].to_vector<int32_t>(),
            (std::vector<int32_t>{2, 4, 6}));
  EXPECT_EQ(text.str(), "before: i32[3] = 1 2 3\nafter: i32[3] = 6 4 2\n");
}

TEST(Interpreter, CustomFunctionsSeeContiguousOperands) {
  Graph graph;
  const Array x = array_of(DType::kF32, {2, 2}, {1, 2, 3, 4});
  const Edge input = add_inputs(graph, {x})[0];
  const int swapped[] = {1, 0};
  const auto function = std::make_shared<CustomFunction>(
      CustomFunction{"negate", [](std::span<const Array> operands, Array& result) {
                       for (size_t i = 0; i < 4; ++i)
                         result.mutable_as<float>()[i] = -operands[0].as<float>()[i];
                     }});
  const NodeId node = graph.add_custom(function, {{input.view.permute(swapped), input.node}},
                                       {DType::kF32, {2, 2}});
  graph.add_output("y", graph.whole(node));
  EXPECT_EQ(run_graph(graph, {x})[0].to_vector<float>(), (std::vector<float>{-1, -3, -2, -4}));

  Graph bad;
  const auto resize = std::make_shared<CustomFunction>(CustomFunction{
      "resize", [](std::span<const Array>, Array& result) { result = Array(DType::kF64, {1}); }});
  bad.add_output("y", bad.whole(bad.add_custom(resize, {}, {DType::kF32, {2, 2}})));
  EXPECT_EQ(error_of([&] { run_graph(bad, {}); }), "resize: must give f32[2, 2], but gave f64[1]");
}

TEST(Interpreter, InputsAreNotChangedAndOutputsMayShareThem) {
  Graph graph;
  const Array x = array_of(DType::kF32, {2}, {1, 2});
  const Edge input = add_inputs(graph, {x})[0];
  graph.add_output("same", input);
  graph.add_output("sum", graph.whole(graph.add(Op::kAdd, {input, input})));
  auto results = run_graph(graph, {x});
  results[0].mutable_as<float>()[0] = 9;
  EXPECT_EQ(x.as<float>()[0], 1);
}

}  // namespace
}  // namespace luminal::graph
