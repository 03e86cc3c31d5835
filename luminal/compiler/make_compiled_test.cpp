#include "luminal/compiler/make_compiled.h"

#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "luminal/compiler/build_plan.h"
#include "luminal/support/error.h"

namespace luminal::compiler {
namespace {

using graph::Array;
using graph::DType;
using graph::Edge;
using graph::Graph;
using graph::Op;
using graph::Scalar;
using graph::View;

/// Inputs by name and dims of a run.
struct Given {
  std::map<std::string, Array> inputs;
  graph::DimValues dims = {};
  std::ostream* text = nullptr;
};

std::vector<Array> run(graph::Program& program, const Given& given) {
  graph::RunRequest request;
  for (const auto& [name, value] : given.inputs) request.inputs[name] = &value;
  request.dims = given.dims;
  request.text = given.text;
  return program.run(request);
}

Array floats(graph::Extents extents, double scale = 1.0) {
  Array array(DType::kF32, std::move(extents));
  for (int64_t i = 0; i < array.size(); ++i)
    array.set(i, Scalar::of(DType::kF32, scale * static_cast<double>(i % 17) - 3.0));
  return array;
}

Array positions(const std::vector<int64_t>& values) {
  return Array::from<int64_t>(DType::kI64, {static_cast<int64_t>(values.size())}, values);
}

std::string error_of(graph::Program& program, const Given& given) {
  try {
    run(program, given);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

void expect_same(const Graph& graph, const Given& given) {
  const auto oracle = run(*graph::make_interpreter(graph), given);
  const auto actual = run(*make_compiled(graph), given);
  ASSERT_EQ(actual.size(), oracle.size());
  for (size_t k = 0; k < oracle.size(); ++k)
    EXPECT_TRUE(actual[k].identical(oracle[k])) << "output " << k;
}

/// y = table[index], rows of 4.
Graph gather_graph(const Expr& rows) {
  Graph graph;
  const NodeId table = graph.add_input("table", DType::kF32, {rows, 4});
  const NodeId index = graph.add_input("index", DType::kI64, {3});
  const graph::Shape domain{3, 4, rows};
  const View data({rows, 4}, domain, {Expr::axis(2, rows), Expr::axis(1, 4)});
  const View at({3}, {3, 4}, {Expr::axis(0, 3)});
  graph.add_output("y", graph.whole(graph.add(Op::kGather, {{at, index}, {data, table}})));
  return graph;
}

TEST(CompiledProgram, GathersInRangeAndNamesPositionsThatAreNot) {
  const Expr rows = Expr::variable("rows", {1, 100});
  const Graph graph = gather_graph(rows);
  const auto program = make_compiled(graph);
  const Given good{{{"table", floats({5, 4})}, {"index", positions({4, 0, 2})}}};
  EXPECT_TRUE(run(*program, good)[0].identical(run(*graph::make_interpreter(graph), good)[0]));
  for (const int64_t bad : {int64_t{-1}, int64_t{5}, INT64_MIN, INT64_MAX}) {
    const Given given{{{"table", floats({5, 4})}, {"index", positions({1, bad, 2})}}};
    const std::string expected = error_of(*graph::make_interpreter(graph), given);
    EXPECT_NE(expected, "");
    EXPECT_EQ(error_of(*program, given), expected);
  }
  EXPECT_TRUE(run(*program, good)[0].identical(run(*graph::make_interpreter(graph), good)[0]));
}

TEST(CompiledProgram, GathersOfASliceThatIsTooLongFailOnlyWhereTheyChooseFromBeyondIt) {
  const Expr rows = Expr::variable("rows", {1, 100});
  Graph graph;
  const NodeId table = graph.add_input("table", DType::kF32, {rows, 4});
  const NodeId index = graph.add_input("index", DType::kI64, {3});
  const View data({rows, 4}, {3, 4, 6}, {Expr::axis(2, 6), Expr::axis(1, 4)});
  const View at({3}, {3, 4}, {Expr::axis(0, 3)});
  graph.add_output("y", graph.whole(graph.add(Op::kGather, {{at, index}, {data, table}})));
  const auto program = make_compiled(graph);
  const auto oracle = graph::make_interpreter(graph);
  for (const int64_t count : {5, 6, 9, 1}) {
    for (const std::vector<int64_t>& chosen :
         {std::vector<int64_t>{0, 0, 0}, {4, 0, 2}, {1, 5, 2}, {0, 0, 6}}) {
      const Given given{{{"table", floats({count, 4})}, {"index", positions(chosen)}}};
      const std::string expected = error_of(*oracle, given);
      EXPECT_EQ(error_of(*program, given), expected) << count;
      if (!expected.empty()) continue;
      EXPECT_TRUE(run(*program, given)[0].identical(run(*oracle, given)[0])) << count;
    }
  }
}

TEST(CompiledProgram, NewDimsNeedNoNewPlan) {
  Graph graph;
  const Expr n = Expr::variable("n", {0, 10000});
  const NodeId x = graph.add_input("x", DType::kF32, {n});
  const NodeId y = graph.add(Op::kAdd, {graph.whole(x), graph.whole(x)});
  graph.add_output("y", graph.whole(y));
  graph.add_output(
      "sum", graph.whole(graph.add(Op::kReduceMax, {graph.whole(y)}, graph::ReduceAttribute{1})));
  const auto program = make_compiled(graph);
  const auto oracle = graph::make_interpreter(graph);
  for (const int64_t size : {1, 0, 1000, 7, 10000, 7}) {
    const Given given{{{"x", floats({size})}}};
    const auto actual = run(*program, given);
    const auto expected = run(*oracle, given);
    for (size_t k = 0; k < 2; ++k) EXPECT_TRUE(actual[k].identical(expected[k])) << size;
  }
}

TEST(CompiledProgram, ErrorsOfInputsAndDimsAreTheInterpreters) {
  Graph graph;
  const Expr n = Expr::variable("n", {1, 8});
  const NodeId x = graph.add_input("x", DType::kF32, {n, 2});
  const View cut({n, 2}, {3}, {Expr::axis(0, 3), 0});
  graph.add_output("y", graph.whole(graph.add(Op::kExp2, {{cut, x}})));
  const auto program = make_compiled(graph);
  const auto oracle = graph::make_interpreter(graph);
  const std::vector<Given> bad{{},
                               {{{"x", floats({3})}}},
                               {{{"x", floats({9, 2})}}},
                               {{{"x", floats({4, 3})}}},
                               {{{"x", floats({4, 2})}}, {{"n", 5}}},
                               {{{"x", floats({2, 2})}}}};  // the slice is too long
  for (size_t k = 0; k < bad.size(); ++k) {
    EXPECT_NE(error_of(*oracle, bad[k]), "") << k;
    EXPECT_EQ(error_of(*program, bad[k]), error_of(*oracle, bad[k])) << k;
  }
  EXPECT_EQ(error_of(*program, {{{"x", floats({4, 2})}}}), "");
}

TEST(CompiledProgram, OutputsMayBeInputsConstantsAndTwiceTheSame) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {4});
  const NodeId c = graph.add_constant(floats({3}));
  const NodeId one = graph.add_constant(Scalar::of(DType::kF32, 1));
  const NodeId y = graph.add(Op::kExp2, {graph.whole(x)});
  for (const NodeId id : {x, c, one, y, y})
    graph.add_output("o" + std::to_string(graph.outputs().size()), graph.whole(id));
  graph.add_output("flipped", {graph.whole(y).view.flip(0), y});
  expect_same(graph, {{{"x", floats({4})}}});
}

TEST(CompiledProgram, ResultsStayWhenTheNextRunComes) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {1000});
  graph.add_output("y", graph.whole(graph.add(Op::kAdd, {graph.whole(x), graph.whole(x)})));
  const auto program = make_compiled(graph);
  const Array first = run(*program, {{{"x", floats({1000}, 1)}}})[0];
  const Array kept(DType::kF32, {1000}, {first.bytes().begin(), first.bytes().end()});
  for (int k = 0; k < 5; ++k) run(*program, {{{"x", floats({1000}, 2)}}});
  EXPECT_TRUE(first.identical(kept));
}

TEST(CompiledProgram, MemoryOfDroppedResultsIsUsedAgain) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {1000});
  graph.add_output("y", graph.whole(graph.add(Op::kAdd, {graph.whole(x), graph.whole(x)})));
  const auto program = make_compiled(graph);
  const Given given{{{"x", floats({1000})}}};
  const std::byte* first = run(*program, given)[0].bytes().data();
  EXPECT_EQ(run(*program, given)[0].bytes().data(), first);
}

/// cache with rows [p, p + 2) replaced; what reads the old cache comes before or after.
Graph update_graph(bool keep_old, bool cache_is_input) {
  Graph graph;
  const Expr p = Expr::variable("p", {0, 6});
  const NodeId input = graph.add_input("cache", DType::kF32, {8, 4});
  const NodeId cache =
      cache_is_input
          ? input
          : graph.add(Op::kScatter,
                      {graph.whole(input),
                       graph.whole(graph.add_iota(DType::kI64, {8, 4}, Expr::axis(1, 4))),
                       graph.whole(input)},
                      graph::ScatterAttribute{});
  const NodeId rows = graph.add_input("rows", DType::kF32, {2, 4});
  const graph::Shape shape{8, 4};
  const Expr i = Expr::axis(0, 8);
  const View placed({2, 4}, shape, {i - p, Expr::axis(1, 4)}, {{i - p, 2}},
                    Scalar::of(DType::kF32, 0));
  const NodeId inside = graph.add_iota(
      DType::kBool, shape,
      symbolic::logical_and(symbolic::greater_equal(i, p), symbolic::less(i, p + 2)));
  const NodeId updated =
      graph.add(Op::kSelect, {graph.whole(inside), {placed, rows}, graph.whole(cache)});
  graph.add_output("updated", graph.whole(updated));
  const NodeId sums = graph.add(Op::kSum, {graph.whole(updated)}, graph::ReduceAttribute{1});
  graph.add_output("sums", graph.whole(sums));
  if (keep_old) graph.add_output("old", graph.whole(cache));
  return graph;
}

TEST(CompiledProgram, UpdatesOfARegionLeaveTheOldTensorAloneWhereItIsNeeded) {
  for (const bool keep_old : {false, true})
    for (const bool cache_is_input : {false, true})
      for (const int64_t p : {0, 3, 6})
        expect_same(update_graph(keep_old, cache_is_input),
                    {{{"cache", floats({8, 4})}, {"rows", floats({2, 4}, 5)}}, {{"p", p}}});
}

TEST(CompiledProgram, EffectsWriteInOrder) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {4});
  const NodeId first = graph.add(Op::kPrint, {graph.whole(x)}, graph::PrintAttribute{"first"});
  const NodeId y = graph.add(Op::kExp2, {graph.whole(x)});
  graph.add(Op::kPrint, {graph.whole(y)}, graph::PrintAttribute{"second"});
  graph.add_output("z", graph.whole(first));
  std::ostringstream ours, theirs;
  const Given given{{{"x", floats({4})}}};
  run(*make_compiled(graph), {given.inputs, {}, &ours});
  run(*graph::make_interpreter(graph), {given.inputs, {}, &theirs});
  EXPECT_EQ(ours.str(), theirs.str());
  EXPECT_LT(ours.str().find("first"), ours.str().find("second"));
}

TEST(CompiledProgram, EqualLayersShareOneKernel) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {64, 64});
  const int swap[] = {1, 0};
  NodeId h = x;
  for (int k = 0; k < 6; ++k) {
    const NodeId w = graph.add_input("w" + std::to_string(k), DType::kF32, {64, 64});
    const View left = graph.whole(h).view.insert_axis(1, 64);
    const View right = graph.whole(w).view.permute(swap).insert_axis(0, 64);
    const NodeId product = graph.add(Op::kMul, {{left, h}, {right, w}});
    h = graph.add(Op::kSum, {graph.whole(product)}, graph::ReduceAttribute{1});
  }
  graph.add_output("y", graph.whole(h));
  const Plan plan = build_plan(graph, {.threads = 2});
  EXPECT_EQ(plan.steps.size(), 6U);
  EXPECT_EQ(plan.kernels.size(), 1U);
  EXPECT_LE(plan.slots, 2U);
}

/// Reductions of all elements of a row up to each one.
NodeId add_scan(Graph& graph, NodeId x, Op op, const Scalar& identity) {
  const graph::Shape& shape = graph.node(x).shape();
  const View all = View::identity(shape).insert_axis(1, shape[1]);
  const View prefixes(shape, all.domain(), all.index(), {{all.axis(1) - all.axis(2), shape[1]}},
                      identity);
  return graph.add(op, {{prefixes, x}}, graph::ReduceAttribute{1});
}

TEST(CompiledProgram, ScansStayScansWhateverTheirResultsAreUsedFor) {
  for (const DType result : {DType::kI32, DType::kI4}) {
    Graph graph;
    const NodeId x = graph.add_input("x", DType::kI32, {3, 400});
    const NodeId sums = add_scan(graph, x, Op::kSum, Scalar::of(DType::kI32, 0));
    const NodeId largest = add_scan(graph, x, Op::kReduceMax, Scalar::lowest(DType::kI32));
    const NodeId both = graph.add(Op::kAdd, {graph.whole(sums), graph.whole(largest)});
    const NodeId narrow =
        result == DType::kI32 ? both : graph.add_cast(Op::kCast, graph.whole(both), result);
    graph.add_output("y", graph.whole(narrow));
    int scans = 0;
    for (const PlanStep& step : build_plan(graph, {.threads = 2}).steps)
      scans += step.schedule.starts_with("scan ") ? 1 : 0;
    EXPECT_EQ(scans, 2) << graph::name(result);
    expect_same(graph, {{{"x", floats({3, 400}).cast(DType::kI32)}}});
  }
}

TEST(CompiledProgram, RunsInSeveralThreadsAtOnce) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {300, 70});
  const NodeId y = graph.add(Op::kExp2, {graph.whole(x)});
  graph.add_output(
      "y", graph.whole(graph.add(Op::kReduceMax, {graph.whole(y)}, graph::ReduceAttribute{1})));
  const Given given{{{"x", floats({300, 70})}}};
  const Array expected = run(*make_compiled(graph), given)[0];
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      const auto program = make_compiled(graph);
      for (int k = 0; k < 50; ++k)
        if (!run(*program, given)[0].identical(expected)) ++wrong[t];
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

/// y = exp(x) and z = x + 1, of which nothing is fused.
Graph two_kernels() {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {64, 32});
  graph.add_output("y", graph.whole(graph.add(Op::kExp, {graph.whole(x)})));
  const NodeId sums = graph.add(Op::kSum, {graph.whole(x)}, graph::ReduceAttribute{1});
  graph.add_output("z", graph.whole(sums));
  return graph;
}

/// Of all kernels, those that share a launch included.
std::vector<codegen::Schedule> schedules_of(const Plan& plan) {
  std::vector<codegen::Schedule> result;
  for (const PlanStep& step : plan.steps)
    for (size_t begin = 0; begin < step.schedule.size();) {
      const size_t end = std::min(step.schedule.find(" | ", begin), step.schedule.size());
      result.push_back(codegen::Schedule::parse(step.schedule.substr(begin, end - begin)));
      begin = end + 3;
    }
  return result;
}

TEST(Schedules, AreAskedForEveryKernelAndRecordedByItsSteps) {
  const Graph graph = two_kernels();
  const std::vector<codegen::Schedule> own = schedules_of(build_plan(graph, {.threads = 2}));
  ASSERT_EQ(own.size(), 2U);
  std::vector<std::string> asked;
  Options options{.threads = 2};
  options.schedules = [&](const KernelRequest& request) {
    asked.push_back(request.text);
    EXPECT_EQ(request.options.threads, 2);
    return std::optional(own[(asked.size() - 1) % own.size()].with("unroll", 4));
  };
  const std::vector<codegen::Schedule> chosen = schedules_of(build_plan(graph, options));
  EXPECT_EQ(asked.size(), 2U);
  ASSERT_EQ(chosen.size(), own.size());
  for (const codegen::Schedule& each : chosen) EXPECT_EQ(each.at("unroll"), 4) << each.to_string();
}

TEST(Schedules, OnesThatDoNotFitArePassedOver) {
  Options options{.threads = 2};
  options.schedules = [](const KernelRequest&) { return codegen::Schedule::parse("gemm mr=8"); };
  const Plan plan = build_plan(two_kernels(), options);
  const Plan own = build_plan(two_kernels(), {.threads = 2});
  ASSERT_EQ(plan.steps.size(), own.steps.size());
  for (size_t k = 0; k < own.steps.size(); ++k)
    EXPECT_EQ(plan.steps[k].schedule, own.steps[k].schedule);
}

}  // namespace
}  // namespace luminal::compiler
