#include "luminal/codegen/llvm/nest_kernel.h"

#include <gtest/gtest.h>

#include <cmath>

#include "luminal/codegen/llvm/jit_for_tests.h"
#include "luminal/graph/elements.h"
#include "luminal/kernel/test_kernels.h"
#include "luminal/runtime/cpu/arena.h"

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

/// Compiles the nest of a kernel and runs it in several ranges of items, as threads would.
void run_compiled(kernel::Arena& arena, const kernel::Nest& nest, const CpuTarget& target,
                  const NestKernelOptions& options, const graph::DimValues& dims,
                  Tensors& tensors) {
  const NestKernel compiled = nest_kernel(arena, nest, target, options);
  const runtime::CpuModule module(KernelCompiler(target).compile(compiled.source));
  Tensors results = kernel::empty_results(arena, nest.kernel, dims);
  std::vector<void*> buffers;
  for (const NodeId input : compiled.inputs)
    buffers.push_back(const_cast<std::byte*>(tensors.at(input).bytes().data()));
  std::vector<runtime::HostMemory> outputs;  // streaming stores rely on its alignment
  for (const NodeId output : compiled.outputs) {
    outputs.emplace_back(static_cast<int64_t>(results.at(output).bytes().size()));
    buffers.push_back(outputs.back().data());
  }
  symbolic::Values values(dims.begin(), dims.end());
  std::vector<int64_t> scalars;
  for (const std::string& dim : compiled.dims) scalars.push_back(dims.at(dim));
  const runtime::HostMemory scratch(symbolic::evaluate(compiled.scratch_bytes, values));
  const int64_t items = symbolic::evaluate(compiled.items, values);
  for (const auto& [begin, end] : {std::pair{items / 2, items}, std::pair{int64_t{0}, items / 2}})
    if (begin < end)
      module.entry("nest")(buffers.data(), scalars.data(), begin, end, scratch.data());
  for (size_t i = 0; i < outputs.size(); ++i) {
    Array& result = results.at(compiled.outputs[i]);
    std::copy_n(outputs[i].data(), outputs[i].size(), result.mutable_bytes().data());
  }
  for (auto& [tensor, value] : results) tensors.insert_or_assign(tensor, std::move(value));
}

kernel::test::RunKernel by_code(const CpuTarget& target, const kernel::NestOptions& nest_options,
                                const NestKernelOptions& options) {
  return [=](kernel::Arena& arena, const kernel::Kernel& kernel, const graph::DimValues& dims,
             Tensors& tensors) {
    const kernel::Nest nest = kernel::build_nest(arena, kernel, nest_options);
    run_compiled(arena, nest, target, options, dims, tensors);
  };
}

/// Runs a sample with the smallest cut, and with random ones, through compiled kernels.
void check(const Sample& sample, const CpuTarget& target, const kernel::NestOptions& nest_options,
           const NestKernelOptions& options, const Closeness& closeness, int random_cuts = 0) {
  kernel::test::check_cuts(sample, by_code(target, nest_options, options), closeness, random_cuts);
}

Array random_array(DType dtype, const graph::Extents& extents, uint64_t seed) {
  return kernel::test::random_array(dtype, extents, seed, 3);
}

/// softmax(x) * w along the last axis, and its rows' means, in primitives.
Sample softmax_sample(DType dtype, int64_t rows, int64_t columns, bool symbolic_dims) {
  Sample sample;
  Graph& graph = sample.graph;
  Expr m = rows;
  Expr n = columns;
  if (symbolic_dims) {
    m = Expr::variable("m", {0, 1 << 20});
    n = Expr::variable("n", {1, 1 << 20});
    sample.dims = {{"m", rows}, {"n", columns}};
  }
  const NodeId x = graph.add_input("x", dtype, {m, n});
  const NodeId most = graph.add(Op::kReduceMax, {graph.whole(x)}, graph::ReduceAttribute{1});
  const NodeId minus = graph.add_constant(Scalar::of(dtype, -1));
  const NodeId negated = graph.add(Op::kMul, {graph.whole(most), {View({}, {m}, {}), minus}});
  const Edge row{graph.whole(negated).view.insert_axis(1, n), negated};
  const NodeId sum = graph.add(Op::kAdd, {graph.whole(x), row});
  const NodeId shifted = graph.add(Op::kExp, {graph.whole(sum)});
  const NodeId total = graph.add(Op::kSum, {graph.whole(shifted)}, graph::ReduceAttribute{1});
  const Edge all{graph.whole(total).view.insert_axis(1, n), total};
  graph.add_output("y", graph.whole(graph.add(Op::kDiv, {graph.whole(shifted), all})));
  sample.inputs.emplace("x", random_array(dtype, {rows, columns}, 5));
  return sample;
}

std::vector<CpuTarget> targets() {
  std::vector<CpuTarget> result;
  for (const char* name : {"x86-64", "haswell", "skylake-avx512"})
    if (runs_here(cpu_target(name))) result.push_back(cpu_target(name));
  return result;
}

TEST(NestKernel, SoftmaxRowsInEveryForm) {
  for (const CpuTarget& target : targets())
    for (const bool online : {false, true})
      for (const bool keep : {false, true})
        for (const int64_t columns : {1, 5, 33, 200})
          check(softmax_sample(DType::kF32, 7, columns, columns == 33), target,
                {.online = online, .keep_rows = keep}, {.streaming_bytes = columns >= 33 ? 64 : 0},
                {1e-7, 3e-6});
}

TEST(NestKernel, SoftmaxOfNarrowFloatsKeepsMorePrecision) {
  for (const DType dtype : {DType::kBF16, DType::kF16})
    check(softmax_sample(dtype, 5, 50, false), host_target(), {.online = false, .keep_rows = true},
          {}, {2e-2, 2e-2});
}

TEST(NestKernel, SoftmaxInF64) {
  check(softmax_sample(DType::kF64, 5, 50, true), host_target(),
        {.online = false, .keep_rows = true}, {}, {1e-14, 1e-13});
}

/// A softmax along the middle of three axes, times a number for each row of it, and what its
/// denominators are. Some of what is summed is infinite or no number.
Sample middle_sample(DType dtype, int64_t batch, int64_t rows, int64_t columns,
                     bool symbolic_dims = false) {
  Sample sample;
  Graph& graph = sample.graph;
  Expr b = batch;
  Expr m = rows;
  Expr n = columns;
  if (symbolic_dims) {
    b = Expr::variable("b", {0, 1 << 20});
    m = Expr::variable("m", {0, 1 << 20});
    n = Expr::variable("n", {0, 1 << 20});
    sample.dims = {{"b", batch}, {"m", rows}, {"n", columns}};
  }
  const int inwards[] = {0, 2, 1};
  const auto along = [&](NodeId node) {
    return Edge{graph.whole(node).view.insert_axis(1, m), node};
  };
  const auto down = [&](NodeId node) {
    return Edge{graph.whole(node).view.permute(inwards), node};
  };
  const NodeId x = graph.add_input("x", dtype, {b, m, n});
  const NodeId scale = graph.add_input("scale", dtype, {m});
  const NodeId most = graph.add(Op::kReduceMax, {down(x)}, graph::ReduceAttribute{1});
  const NodeId minus = graph.add_constant(Scalar::of(dtype, -1));
  const NodeId negated = graph.add(Op::kMul, {graph.whole(most), {View({}, {b, n}, {}), minus}});
  const NodeId sum = graph.add(Op::kAdd, {graph.whole(x), along(negated)});
  const NodeId e = graph.add(Op::kExp, {graph.whole(sum)});
  const NodeId total = graph.add(Op::kSum, {down(e)}, graph::ReduceAttribute{1});
  const NodeId y = graph.add(Op::kDiv, {graph.whole(e), along(total)});
  const Edge of_row{graph.whole(scale).view.insert_axis(1, n).insert_axis(0, b), scale};
  graph.add_output("y", graph.whole(graph.add(Op::kMul, {graph.whole(y), of_row})));
  graph.add_output("total", graph.whole(total));
  Array values = random_array(dtype, {batch, rows, columns}, 5);
  const double specials[] = {NAN, INFINITY, -INFINITY};
  for (size_t k = 0; k < std::size(specials) && batch * rows * columns > 7; ++k)
    graph::store(dtype, values.mutable_bytes().data(),
                 static_cast<int64_t>(k) * 2 % (batch * rows * columns), {&specials[k], 1});
  sample.inputs.emplace("x", std::move(values));
  sample.inputs.emplace("scale", random_array(dtype, {rows}, 6));
  return sample;
}

Closeness closeness_of(DType dtype) {
  if (dtype == DType::kF64) return {1e-13, 1e-13};
  return dtype == DType::kF32 ? Closeness{1e-5, 3e-6} : Closeness{3e-2, 3e-2};
}

TEST(NestKernel, SoftmaxOfTheMiddleGoesRowByRow) {
  struct Size {
    int64_t batch, rows, columns;
  };
  for (const CpuTarget& target : targets())
    for (const bool keep : {false, true})
      for (const Size& size : {Size{2, 20, 40},
                               {3, 17, 5},
                               {1, 100, 2100},
                               {2, 600, 64},
                               {2, 1, 33},
                               {2, 0, 20},
                               {0, 20, 20},
                               {3, 8, 1},
                               {2, 9, 70}})
        for (const bool symbolic_dims : {false, true})
          check(middle_sample(DType::kF32, size.batch, size.rows, size.columns, symbolic_dims),
                target, {.online = false, .keep_rows = keep},
                {.streaming_bytes = keep && size.columns % 16 == 0 ? 64 : 0},
                closeness_of(DType::kF32));
}

TEST(NestKernel, SoftmaxOfTheMiddleInOtherDtypes) {
  for (const DType dtype : {DType::kF64, DType::kBF16, DType::kF16})
    for (const int64_t columns : {5, 37, 64})
      check(middle_sample(dtype, 2, 30, columns), host_target(),
            {.online = false, .keep_rows = true}, {}, closeness_of(dtype));
}

/// Of rows that lie `gap` apart: a softmax times a number for each column and each row, and their
/// sums.
Sample short_rows_sample(DType dtype, int64_t rows, int64_t columns, int64_t gap,
                         bool symbolic_rows) {
  Sample sample;
  Graph& graph = sample.graph;
  Expr m = rows;
  if (symbolic_rows) {
    m = Expr::variable("m", {0, 1 << 20});
    sample.dims = {{"m", rows}};
  }
  const Expr n = columns;
  const NodeId x = graph.add_input("x", dtype, {m, columns + gap});
  const NodeId by_column = graph.add_input("by_column", dtype, {n});
  const NodeId by_row = graph.add_input("by_row", dtype, {m});
  const Edge seen{graph.whole(x).view.slice(1, 0, n), x};
  const auto along = [&](NodeId row) { return Edge{graph.whole(row).view.insert_axis(1, n), row}; };
  const NodeId most = graph.add(Op::kReduceMax, {seen}, graph::ReduceAttribute{1});
  const NodeId minus = graph.add_constant(Scalar::of(dtype, -1));
  const NodeId negated = graph.add(Op::kMul, {graph.whole(most), {View({}, {m}, {}), minus}});
  const NodeId e = graph.add(Op::kExp, {graph.whole(graph.add(Op::kAdd, {seen, along(negated)}))});
  const NodeId total = graph.add(Op::kSum, {graph.whole(e)}, graph::ReduceAttribute{1});
  const NodeId y = graph.add(Op::kDiv, {graph.whole(e), along(total)});
  const Edge of_column{graph.whole(by_column).view.insert_axis(0, m), by_column};
  const NodeId scaled = graph.add(Op::kMul, {graph.whole(y), of_column});
  graph.add_output("y", graph.whole(graph.add(Op::kAdd, {graph.whole(scaled), along(by_row)})));
  graph.add_output("sum", graph.whole(graph.add(Op::kSum, {seen}, graph::ReduceAttribute{1})));
  Array values = random_array(dtype, {rows, columns + gap}, 5);
  const double specials[] = {NAN, INFINITY, -INFINITY};
  for (size_t k = 0; k < std::size(specials) && rows > 20; ++k)
    graph::store(dtype, values.mutable_bytes().data(),
                 static_cast<int64_t>(7 * k + 1) * (columns + gap) + columns / 2,
                 {&specials[k], 1});
  sample.inputs.emplace("x", std::move(values));
  sample.inputs.emplace("by_column", random_array(dtype, {columns}, 6));
  sample.inputs.emplace("by_row", random_array(dtype, {rows}, 7));
  return sample;
}

TEST(NestKernel, ShortRowsOfEveryLength) {
  for (const CpuTarget& target : targets())
    for (const int64_t columns : {1, 2, 3, 4, 5, 7, 8, 9, 10, 13, 16, 17, 31, 33, 48, 64, 100, 128})
      for (const int64_t rows : {63, 64, 83, 400})
        check(short_rows_sample(DType::kF32, rows, columns, rows == 83 ? 2 : 0, rows == 400),
              target, {.online = false, .keep_rows = rows != 64},
              {.streaming_bytes = rows == 64 || rows == 83 ? 0 : 64}, closeness_of(DType::kF32));
}

TEST(NestKernel, ShortRowsOfEveryDtype) {
  for (const DType dtype : {DType::kF64, DType::kBF16, DType::kF16})
    for (const int64_t columns : {3, 8, 10, 16, 20, 48, 100, 200})
      for (const bool streaming : {false, true})
        check(short_rows_sample(dtype, 85, columns, streaming ? 0 : 1, streaming), host_target(),
              {.online = false, .keep_rows = true}, {.streaming_bytes = streaming ? 64 : 0},
              closeness_of(dtype));
}

/// Each row less its largest element, and that element's count: integers and what is compared.
TEST(NestKernel, ShortRowsOfIntegers) {
  for (const DType dtype : {DType::kI8, DType::kU8, DType::kI16, DType::kI32, DType::kI64})
    for (const int64_t columns : {2, 6, 10, 16, 40}) {
      Sample sample;
      Graph& graph = sample.graph;
      const int64_t rows = 150;
      const auto along = [&](NodeId row) {
        return Edge{graph.whole(row).view.insert_axis(1, columns), row};
      };
      const NodeId x = graph.add_input("x", dtype, {rows, columns});
      const NodeId most = graph.add(Op::kReduceMax, {graph.whole(x)}, graph::ReduceAttribute{1});
      const NodeId hit = graph.add(Op::kEqual, {graph.whole(x), along(most)});
      const NodeId number = graph.add_cast(Op::kCast, graph.whole(hit), DType::kI32);
      const NodeId count = graph.add(Op::kSum, {graph.whole(number)}, graph::ReduceAttribute{1});
      graph.add_output("product", graph.whole(graph.add(Op::kMul, {graph.whole(x), along(most)})));
      graph.add_output("shares",
                       graph.whole(graph.add(Op::kMul, {graph.whole(number), along(count)})));
      sample.inputs.emplace("x", random_array(dtype, {rows, columns}, 5));
      for (const CpuTarget& target : targets())
        check(sample, target, {.online = false, .keep_rows = true}, {.round_each = true}, {});
    }
}

/// A softmax of one row, kept before the loop that stores it, times sums that this loop finds:
/// along the columns of a matrix or along its rows.
TEST(NestKernel, RowsAreReadByLoopsThatReduceToo) {
  for (const bool down : {false, true})
    for (const int64_t length : {3, 10, 30, 100}) {
      Sample sample;
      Graph& graph = sample.graph;
      const int64_t n = 100;
      const auto spread = [&](NodeId node) {
        return Edge{graph.whole(node).view.insert_axis(0, n), node};
      };
      const NodeId x = graph.add_input("x", DType::kF32, {n});
      const NodeId w = graph.add_input("w", DType::kF32,
                                       down ? graph::Shape{length, n} : graph::Shape{n, length});
      const NodeId most = graph.add(Op::kReduceMax, {graph.whole(x)}, graph::ReduceAttribute{1});
      const NodeId minus = graph.add_constant(Scalar::of(DType::kF32, -1));
      const NodeId negated = graph.add(Op::kMul, {graph.whole(most), graph.whole(minus)});
      const NodeId e = graph.add(
          Op::kExp, {graph.whole(graph.add(Op::kAdd, {graph.whole(x), spread(negated)}))});
      const NodeId total = graph.add(Op::kSum, {graph.whole(e)}, graph::ReduceAttribute{1});
      const NodeId y = graph.add(Op::kDiv, {graph.whole(e), spread(total)});
      const int swap[] = {1, 0};
      const View seen = down ? graph.whole(w).view.permute(swap) : graph.whole(w).view;
      const NodeId sums = graph.add(Op::kSum, {{seen, w}}, graph::ReduceAttribute{1});
      graph.add_output("y", graph.whole(graph.add(Op::kMul, {graph.whole(y), graph.whole(sums)})));
      sample.inputs.emplace("x", random_array(DType::kF32, {n}, 5));
      sample.inputs.emplace(
          "w", random_array(DType::kF32,
                            down ? graph::Extents{length, n} : graph::Extents{n, length}, 6));
      check(sample, host_target(), {.online = false, .keep_rows = true}, {}, {1e-5, 1e-5});
    }
}

/// Sums along either axis of a matrix, plain and transposed, with a scale.
Sample sums_sample(int64_t rows, int64_t columns, bool down) {
  Sample sample;
  Graph& graph = sample.graph;
  const NodeId x = graph.add_input("x", DType::kF32, {rows, columns});
  const int swap[] = {1, 0};
  const View view = down ? graph.whole(x).view.permute(swap) : graph.whole(x).view;
  const NodeId total = graph.add(Op::kSum, {{view, x}}, graph::ReduceAttribute{1});
  graph.add_output("y", graph.whole(graph.add(Op::kExp2, {graph.whole(total)})));
  graph.add_output(
      "all", graph.whole(graph.add(Op::kReduceMax, {graph.whole(x)}, graph::ReduceAttribute{2})));
  sample.inputs.emplace("x", random_array(DType::kF32, {rows, columns}, 9));
  return sample;
}

TEST(NestKernel, SumsAlongRowsAndColumns) {
  for (const CpuTarget& target : targets())
    for (const bool down : {false, true})
      for (const auto& [rows, columns] :
           {std::pair<int64_t, int64_t>{1, 1}, {3, 40}, {37, 19}, {16, 64}, {0, 5}, {5, 0}})
        check(sums_sample(rows, columns, down), target, {.online = false}, {}, {1e-5, 1e-5});
}

/// A transposed copy, a flipped one and a padded one.
TEST(NestKernel, ViewsAreReadWhereTheyLie) {
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI8, DType::kF64, DType::kBool}) {
    Sample sample;
    Graph& graph = sample.graph;
    const NodeId x = graph.add_input("x", dtype, {21, 35});
    const int swap[] = {1, 0};
    const auto copy = [&](const char* name, const View& view) {
      graph.add_output(name, graph.whole(graph.add(Op::kCopy, {{view, x}})));
    };
    copy("transposed", graph.whole(x).view.permute(swap));
    copy("flipped", graph.whole(x).view.flip(1));
    copy("padded", *graph.whole(x).view.pad(1, 2, 3, Scalar::of(dtype, 1)));
    sample.inputs.emplace("x", random_array(dtype, {21, 35}, 3));
    for (const CpuTarget& target : targets()) check(sample, target, {}, {.round_each = true}, {});
  }
}

TEST(NestKernel, TransposedOperandsMeetPlainOnes) {
  for (const auto& [rows, columns] :
       {std::pair<int64_t, int64_t>{16, 16}, {70, 33}, {5, 200}, {600, 17}, {0, 4}})
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI8, DType::kF64}) {
      Sample sample;
      Graph& graph = sample.graph;
      const NodeId x = graph.add_input("x", dtype, {3, rows, columns});
      const NodeId y = graph.add_input("y", dtype, {3, columns, rows});
      const int swap[] = {0, 2, 1};
      const Edge turned{graph.whole(x).view.permute(swap), x};
      const NodeId product = graph.add(Op::kMul, {turned, graph.whole(y)});
      graph.add_output("sum", graph.whole(graph.add(Op::kAdd, {turned, graph.whole(product)})));
      sample.inputs.emplace("x", random_array(dtype, {3, rows, columns}, 3));
      sample.inputs.emplace("y", random_array(dtype, {3, columns, rows}, 4));
      for (const CpuTarget& target : targets()) check(sample, target, {}, {.round_each = true}, {});
    }
}

/// Runs random graphs: every op and dtype, views, gathers, symbolic dims.
void check_random(uint64_t first, uint64_t last, const CpuTarget& target,
                  const NestKernelOptions& options) {
  for (uint64_t seed = first; seed < last; ++seed) {
    SCOPED_TRACE(fmt::format("seed {} on {}", seed, target.name));
    const Sample sample = kernel::test::random_sample(seed, 10);
    for (const bool online : {true, false})
      check(sample, target, {.online = online, .keep_rows = !online}, options, {1e-4, 1e-4}, 1);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(NestKernel, RandomGraphsEqualTheOracle) {
  check_random(0, 60, host_target(), {.round_each = true});
  check_random(60, 80, cpu_target("x86-64"), {.round_each = true});
  if (runs_here(cpu_target("haswell")))
    check_random(80, 100, cpu_target("haswell"), {.round_each = true});
}

TEST(NestKernel, ScalarCodeIsTheSame) {
  check_random(0, 20, host_target(), {.lanes = 1, .round_each = true});
}

}  // namespace
}  // namespace luminal::codegen
