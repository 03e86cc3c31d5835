#include "luminal/codegen/llvm/scan_kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "luminal/codegen/llvm/launches_for_tests.h"
#include "luminal/codegen/llvm/scan_plan.h"
#include "luminal/kernel/test_kernels.h"

namespace luminal::codegen {
namespace {

using graph::Array;
using graph::DType;
using graph::Graph;
using graph::NodeId;
using graph::Op;
using graph::Scalar;
using graph::View;
using kernel::Tensors;
using kernel::test::Closeness;
using kernel::test::Sample;
using symbolic::Expr;

/// A scan of an array of three axes, with an op before and one after it.
struct Example {
  Op op = Op::kSum;
  DType dtype = DType::kF32;
  graph::Extents extents = {3, 100, 1};
  int axis = 1;
  bool backward = false;
  bool exclusive = false;
  bool symbolic_dims = false;
};

Scalar identity_of(Op op, DType dtype) {
  if (op == Op::kReduceMax) return Scalar::lowest(dtype);
  return Scalar::of(dtype, op == Op::kProd ? 1 : 0);
}

Sample sample_of(const Example& example) {
  Sample sample;
  Graph& graph = sample.graph;
  graph::Shape shape;
  for (size_t k = 0; k < example.extents.size(); ++k) {
    const std::string name = fmt::format("d{}", k);
    shape.push_back(example.symbolic_dims ? Expr::variable(name, {0, 1 << 20})
                                          : Expr(example.extents[k]));
    if (example.symbolic_dims) sample.dims[name] = example.extents[k];
  }
  const NodeId x = graph.add_input("x", example.dtype, shape);
  const NodeId before = graph.add(Op::kMax, {graph.whole(x), graph.whole(x)});
  graph::Shape domain = shape;
  domain.push_back(shape[static_cast<size_t>(example.axis)]);
  const View all = View::identity(shape).insert_axis(3, domain.back());
  std::vector<Expr> index = all.index();
  const Expr here = all.axis(example.axis);
  const Expr element = all.axis(3);
  index[static_cast<size_t>(example.axis)] = element;
  Expr distance = example.backward ? element - here : here - element;
  if (example.exclusive) distance = distance - 1;
  const View prefixes(shape, domain, index, {{distance, domain.back()}},
                      identity_of(example.op, example.dtype));
  const NodeId scan = graph.add(example.op, {{prefixes, before}}, graph::ReduceAttribute{1});
  const NodeId after = graph.add(Op::kMax, {graph.whole(scan), graph.whole(scan)});
  graph.add_output("y", graph.whole(after));
  Array values(example.dtype, example.extents);
  std::mt19937_64 random(5);
  const double around = example.op == Op::kProd ? 1 : 0;
  const double spread = example.op == Op::kProd ? 0.01 : 1;
  for (int64_t i = 0; i < values.size(); ++i)
    kernel::store(values, i,
                  {around + spread * std::uniform_real_distribution<>(-1, 1)(random),
                   static_cast<int64_t>(random() % 7) - 3});
  sample.inputs.emplace("x", std::move(values));
  return sample;
}

/// Runs a sample as one kernel, by the template; gives its schedule.
std::string check(const Sample& sample, const CpuTarget& target, CpuKernelOptions options,
                  const Closeness& closeness) {
  const kernel::GraphProgram program(sample.graph);
  const auto order = *kernel::topological_order(program);
  const Tensors oracle = kernel::test::oracle_values(sample, program, order);
  kernel::Arena arena;
  std::string schedule;
  kernel::test::check_cut(
      arena, sample, program, order, kernel::smallest_cut(program, order), oracle,
      [&](kernel::Arena& bodies, const kernel::Kernel& kernel, const graph::DimValues& dims,
          Tensors& tensors) {
        const auto code = scan_kernel(bodies, kernel, target, options);
        ASSERT_TRUE(code.has_value()) << to_string(bodies, kernel);
        schedule = code->schedule.to_string();
        run_launches(bodies, kernel, *code, target, dims, tensors);
      },
      closeness);
  return schedule;
}

Closeness closeness_of(DType dtype) {
  if (!graph::is_float(dtype)) return {};
  if (dtype == DType::kF64) return {1e-12, 1e-12};
  return dtype == DType::kF32 ? Closeness{1e-5, 1e-6} : Closeness{0.02, 0.008};
}

std::vector<CpuTarget> targets() {
  std::vector<CpuTarget> result;
  for (const char* name : {"x86-64", "haswell", "skylake-avx512"})
    if (runs_here(cpu_target(name))) result.push_back(cpu_target(name));
  return result;
}

TEST(ScanKernel, EveryDirectionAndAxisEqualsTheOracle) {
  for (const CpuTarget& target : targets())
    for (const graph::Extents& extents :
         {graph::Extents{2, 37, 5}, {1, 1, 1}, {3, 1, 40}, {1, 16, 200}, {2, 0, 3}, {0, 4, 4}})
      for (const int axis : {0, 1, 2})
        for (const int form : {0, 1, 2, 3}) {
          SCOPED_TRACE(fmt::format("{} axis {} form {} of {}", target.name, axis, form,
                                   testing::PrintToString(extents)));
          const Example example{.extents = extents,
                                .axis = axis,
                                .backward = form / 2 == 1,
                                .exclusive = form % 2 == 1};
          // An axis of one element needs no scan.
          if (extents[static_cast<size_t>(axis)] <= 1) continue;
          if (graph::element_count(extents) == 0) continue;
          check(sample_of(example), target, {}, {1e-5, 1e-6});
          if (HasFailure()) return;
        }
}

TEST(ScanKernel, EveryDtypeEqualsTheOracle) {
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBF16, DType::kF16, DType::kI64,
                            DType::kI32, DType::kU8, DType::kBool})
    for (const Op op : {Op::kSum, Op::kProd, Op::kReduceMax})
      for (const int axis : {1, 2}) {
        if (dtype == DType::kBool && op != Op::kReduceMax) continue;
        SCOPED_TRACE(
            fmt::format("{} of dtype {} axis {}", graph::name(op), static_cast<int>(dtype), axis));
        const Example example{.op = op, .dtype = dtype, .extents = {2, 45, 70}, .axis = axis};
        check(sample_of(example), host_target(), {}, closeness_of(dtype));
        check(sample_of(example), host_target(), {.round_each = true}, closeness_of(dtype));
        if (HasFailure()) return;
      }
}

TEST(ScanKernel, SymbolicDimsFitEverySize) {
  for (const graph::Extents& extents :
       {graph::Extents{0, 5, 1}, {2, 0, 3}, {1, 1, 1}, {3, 50, 1}, {3, 7, 130}})
    for (const int axis : {0, 1, 2}) {
      SCOPED_TRACE(fmt::format("axis {} of {}", axis, testing::PrintToString(extents)));
      check(sample_of({.extents = extents, .axis = axis, .symbolic_dims = true}), host_target(), {},
            {1e-5, 1e-6});
      if (HasFailure()) return;
    }
}

TEST(ScanKernel, LongRowsAreSharedInParts) {
  for (const Op op : {Op::kSum, Op::kReduceMax}) {
    const Example example{.op = op, .extents = {1, 2, 70'001}, .axis = 2};
    const std::string schedule =
        check(sample_of(example), host_target(), {.threads = 2}, {1e-4, 1e-6});
    EXPECT_NE(schedule.find("part=16384"), std::string::npos) << schedule;
    // Results do not depend on the number of threads.
    EXPECT_EQ(check(sample_of(example), host_target(), {}, {1e-4, 1e-6}), schedule);
  }
}

TEST(ScanKernel, LargeResultsAreStreamed) {
  const Example rows{.extents = {1, 6, 64}, .axis = 2};
  const Example columns{.extents = {1, 6, 64}, .axis = 1};
  for (const Example& example : {rows, columns}) {
    const std::string schedule =
        check(sample_of(example), host_target(), {.streaming_bytes = 64}, {1e-5, 1e-6});
    EXPECT_TRUE(schedule.ends_with("streaming=always")) << schedule;
  }
  // Rows of 65 are not aligned.
  const Example odd{.extents = {1, 6, 65}, .axis = 2};
  EXPECT_FALSE(check(sample_of(odd), host_target(), {.streaming_bytes = 64}, {1e-5, 1e-6})
                   .ends_with("streaming"));
}

TEST(ScanKernel, NanAndInfinityStayWhereTheyBegin) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {infinity, -infinity, std::nan("")})
    for (const Op op : {Op::kSum, Op::kReduceMax, Op::kProd})
      for (const int axis : {1, 2})
        for (const int64_t at : {0, 17, 99}) {
          Sample sample = sample_of({.op = op, .extents = {1, 100, 100}, .axis = axis});
          kernel::store(sample.inputs.at("x"), at * 101, {value, 0});
          check(sample, host_target(), {}, {1e-5, 1e-5});
          if (HasFailure()) return;
        }
}

TEST(ScanKernel, SumsOverflowOnlyWhereTheResultDoes) {
  const std::vector<double> row{-3e38, 3e38, 3e38, -3e38, 0, 1e32, 2e32, 3e32};
  for (const int axis : {1, 2})
    for (const bool backward : {false, true})
      for (const bool exclusive : {false, true}) {
        Sample sample = sample_of(
            {.extents = {1, 40, 40}, .axis = axis, .backward = backward, .exclusive = exclusive});
        for (int64_t i = 0; i < 1600; ++i) {
          const auto at = static_cast<size_t>(axis == 2 ? i : i / 40) % row.size();
          kernel::store(sample.inputs.at("x"), i, {row[at], 0});
        }
        check(sample, host_target(), {}, {0, 1e-6});
      }
}

TEST(ScanKernel, LongSumsKeepTheirDigits) {
  // Added one by one in f32, ten million times 0.1 would be wrong in the second digit.
  const int64_t n = 10'000'000;
  Sample sample = sample_of({.extents = {1, 1, n}, .axis = 2});
  for (int64_t i = 0; i < n; ++i) kernel::store(sample.inputs.at("x"), i, {0.1, 0});
  check(sample, host_target(), {}, {0, 1.2e-7});
}

TEST(ScanKernel, WithoutReassociationRowsAreAddedInOrder) {
  const std::string schedule = check(sample_of({.extents = {2, 3, 50}, .axis = 2}), host_target(),
                                     {.reassociate = false}, {0, 6e-8});
  EXPECT_NE(schedule.find("lanes=1 "), std::string::npos) << schedule;
}

TEST(ScanKernel, OtherReductionsAreNone) {
  Graph graph;
  const NodeId x = graph.add_input("x", DType::kF32, {20, 20});
  // Every element of a row up to twice the position.
  const View all = View::identity({20, 20}).insert_axis(1, 20);
  const View far(all.source(), all.domain(), all.index(), {{2 * all.axis(1) - all.axis(2), 40}},
                 Scalar::of(DType::kF32, 0));
  // The order of a scan, but elements that are not in it count as one.
  const View ones(all.source(), all.domain(), all.index(), {{all.axis(1) - all.axis(2), 20}},
                  Scalar::of(DType::kF32, 1));
  for (const View& view : {far, ones}) {
    const NodeId y = graph.add(Op::kSum, {{view, x}}, graph::ReduceAttribute{1});
    graph.add_output(fmt::format("y{}", y.value), graph.whole(y));
  }
  const kernel::GraphProgram program(graph);
  const auto order = *kernel::topological_order(program);
  kernel::Arena arena;
  std::vector<std::string> reasons;
  for (const NodeId root : program.roots()) {
    const auto derived = kernel::derive(arena, program, kernel::smallest_cut(program, order), root);
    reasons.push_back(match_scan(arena, std::get<kernel::Kernel>(derived)).why());
  }
  EXPECT_EQ(reasons, (std::vector<std::string>{
                         "elements are not chosen by whether they stand before the result",
                         "elements that are not chosen count too"}));
}

}  // namespace
}  // namespace luminal::codegen
