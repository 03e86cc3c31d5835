// Rows of which several are worked on at a time: the same bits as row by row, whatever the run.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "luminal/codegen/llvm/jit_for_tests.h"
#include "luminal/codegen/llvm/nest_plan.h"
#include "luminal/codegen/llvm/nest_runner_for_tests.h"
#include "luminal/graph/elements.h"

namespace luminal::codegen {
namespace {

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

/// Writes row kernels on x[batch, rows, columns].
struct Rows {
  Sample sample = {};
  DType dtype = DType::kF32;
  int64_t batch = 1;
  int64_t rows = 512;
  int64_t columns = 512;

  Graph& graph() { return sample.graph; }
  graph::Shape shape() const {
    return batch > 1 ? graph::Shape{batch, rows, columns} : graph::Shape{rows, columns};
  }
  int last() const { return batch > 1 ? 2 : 1; }
  NodeId input(const char* name, const graph::Shape& of, uint64_t seed) {
    graph::Extents extents;
    for (const Expr& extent : of) extents.push_back(*extent.constant_value());
    sample.inputs.emplace(name, filled(dtype, extents, seed));
    return graph().add_input(name, dtype, of);
  }
  NodeId constant(Op op, NodeId x, double value) {
    const NodeId number = graph().add_constant(Scalar::of(dtype, value));
    return graph().add(op, {graph().whole(x), {View({}, graph().node(x).type.shape, {}), number}});
  }
  NodeId unary(Op op, NodeId x) { return graph().add(op, {graph().whole(x)}); }
  NodeId binary(Op op, NodeId x, NodeId y) {
    return graph().add(op, {graph().whole(x), graph().whole(y)});
  }
  NodeId reduced(Op op, NodeId x) {
    return graph().add(op, {graph().whole(x)}, graph::ReduceAttribute{1});
  }
  NodeId with_row(Op op, NodeId x, NodeId of_row) {
    return graph().add(
        op, {graph().whole(x), {graph().whole(of_row).view.insert_axis(last(), columns), of_row}});
  }
  NodeId with_column(Op op, NodeId x, NodeId of_column) {
    View view = graph().whole(of_column).view.insert_axis(0, rows);
    if (batch > 1) view = view.insert_axis(0, batch);
    return graph().add(op, {graph().whole(x), {view, of_column}});
  }
  NodeId mean(NodeId x) {
    return constant(Op::kMul, reduced(Op::kSum, x), 1.0 / static_cast<double>(columns));
  }
  NodeId less_row(NodeId x, NodeId of_row) {
    return with_row(Op::kAdd, x, constant(Op::kMul, of_row, -1));
  }
  NodeId normalised(NodeId x) {
    const NodeId square = mean(binary(Op::kMul, x, x));
    const NodeId root = unary(Op::kSqrt, constant(Op::kAdd, square, 1e-5));
    return with_row(Op::kMul, x, unary(Op::kRecip, root));
  }
  /// The kernel of a name, written on x.
  void write(const std::string& name) {
    NodeId x = input("x", shape(), 3);
    if (batch > 1) {
      const NodeId bias = input("bias", {rows, columns}, 4);
      x = graph().add(Op::kAdd,
                      {graph().whole(x), {graph().whole(bias).view.insert_axis(0, batch), bias}});
    }
    if (name == "residual softmax") {
      x = binary(Op::kAdd, x, input("residual", shape(), 5));
      graph().add_output("sum", graph().whole(x));
    }
    if (name.ends_with("softmax") || name == "softmax and maximum") {
      const NodeId most = reduced(Op::kReduceMax, x);
      const NodeId shifted = less_row(x, most);
      const NodeId e = unary(Op::kExp, shifted);
      const NodeId total = reduced(Op::kSum, e);
      NodeId y = name == "log softmax" ? less_row(shifted, unary(Op::kLog, total))
                                       : with_row(Op::kMul, e, unary(Op::kRecip, total));
      if (name == "gated softmax") y = binary(Op::kMul, y, input("gate", shape(), 8));
      graph().add_output("y", graph().whole(y));
      if (name == "softmax and maximum") graph().add_output("most", graph().whole(most));
    } else if (name == "norm of exponentials") {
      const NodeId e = unary(Op::kExp, x);
      graph().add_output("y", graph().whole(normalised(less_row(e, mean(e)))));
    } else if (name == "sums") {
      graph().add_output("y", graph().whole(reduced(Op::kSum, x)));
    } else {
      NodeId y = normalised(name == "layer norm" ? less_row(x, mean(x)) : x);
      if (name == "rms norm with weights") {
        y = with_column(Op::kMul, y, input("weight", {columns}, 6));
        y = with_column(Op::kAdd, y, input("bias_of_column", {columns}, 7));
      }
      graph().add_output("y", graph().whole(y));
    }
    const double specials[] = {NAN, INFINITY, -INFINITY};
    for (int64_t k = 0; k < 3; ++k)
      graph::store(dtype, sample.inputs.at("x").mutable_bytes().data(),
                   (5 * k + 1) * columns + 77 * k, {&specials[k], 1});
  }
};

Closeness closeness_of(DType dtype) {
  return graph::bits(dtype) < 32 ? Closeness{3e-2, 3e-2} : Closeness{1e-4, 1e-4};
}

/// Runs a nest in runs of `run` items, the later ones first.
std::vector<runtime::HostMemory> results_of(kernel::Arena& arena, const kernel::Nest& nest,
                                            const CpuTarget& target,
                                            const NestKernelOptions& options, int64_t run,
                                            const Tensors& tensors, const Tensors& shapes) {
  const NestKernel code = nest_kernel(arena, nest, target, options);
  const runtime::CpuModule module(KernelCompiler(target).compile(code.source));
  std::vector<void*> buffers;
  for (const NodeId input : code.inputs)
    buffers.push_back(const_cast<std::byte*>(tensors.at(input).bytes().data()));
  std::vector<runtime::HostMemory> outputs;
  for (const NodeId output : code.outputs) {
    outputs.emplace_back(static_cast<int64_t>(shapes.at(output).bytes().size()));
    std::memset(outputs.back().data(), 0x55, static_cast<size_t>(outputs.back().size()));
    buffers.push_back(outputs.back().data());
  }
  const runtime::HostMemory scratch(*code.scratch_bytes.constant_value());
  const int64_t items = *code.items.constant_value();
  for (int64_t begin = (items - 1) / run * run; begin >= 0; begin -= run)
    module.entry("nest")(buffers.data(), nullptr, begin, std::min(items, begin + run),
                         scratch.data());
  return outputs;
}

/// Elements that differ, NaNs being equal.
int64_t differences(DType dtype, const runtime::HostMemory& a, const runtime::HostMemory& b) {
  const auto numbers_of = [dtype](const runtime::HostMemory& memory) {
    std::vector<double> numbers(static_cast<size_t>(memory.size() * 8 / graph::bits(dtype)));
    graph::load(dtype, memory.data(), {.count = static_cast<int64_t>(numbers.size())},
                numbers.data());
    return numbers;
  };
  const std::vector<double> left = numbers_of(a);
  const std::vector<double> right = numbers_of(b);
  int64_t count = 0;
  for (size_t i = 0; i < left.size(); ++i) {
    const bool are_equal = std::bit_cast<uint64_t>(left[i]) == std::bit_cast<uint64_t>(right[i]);
    if (!are_equal && !(std::isnan(left[i]) && std::isnan(right[i]))) ++count;
  }
  return count;
}

/// Compares runs of several lengths with what row by row gives, and that with the oracle. Items are
/// single rows. Gives the stages of the pipeline, 0 if there is none.
size_t check_runs(const Rows& rows, const CpuTarget& target, bool keep, std::vector<int64_t> runs) {
  size_t stages = 0;
  const DType dtype = rows.dtype;
  const auto run = [&](kernel::Arena& arena, const kernel::Kernel& kernel,
                       const graph::DimValues& dims, Tensors& tensors) {
    const FlatKernel flat = flattened(arena, kernel);
    Tensors given = tensors;
    Tensors results = kernel::empty_results(arena, kernel, dims);
    Tensors shapes = results;
    for (const auto& [alias, original] : flat.originals) {
      if (tensors.contains(original)) given.insert_or_assign(alias, tensors.at(original));
      if (results.contains(original)) shapes.insert_or_assign(alias, results.at(original));
    }
    const kernel::Nest nest =
        kernel::build_nest(arena, flat.kernel, {.online = false, .keep_rows = keep});
    NestKernelOptions options{.block = 1, .streaming_bytes = 1};
    const NestPlan plan(arena, nest, target, options);
    stages = plan.pipeline() ? plan.pipeline()->loops.size() : 0;
    NestKernelOptions plain = options;
    plain.prefetch_rows = false;
    EXPECT_FALSE(NestPlan(arena, nest, target, plain).pipeline());
    const auto expected = results_of(arena, nest, target, plain, 1 << 20, given, shapes);
    for (const int64_t length : runs) {
      const auto actual = results_of(arena, nest, target, options, length, given, shapes);
      for (size_t k = 0; k < actual.size(); ++k)
        EXPECT_EQ(differences(dtype, actual[k], expected[k]), 0)
            << "output " << k << ", run " << length;
    }
    for (size_t k = 0; k < plan.outputs().size(); ++k) {
      const auto alias = flat.originals.find(plan.outputs()[k]);
      const NodeId output = alias == flat.originals.end() ? plan.outputs()[k] : alias->second;
      graph::Array& result = results.at(output);
      std::memcpy(result.mutable_bytes().data(), expected[k].data(), result.bytes().size());
    }
    for (auto& [tensor, value] : results) tensors.insert_or_assign(tensor, std::move(value));
  };
  kernel::test::check_cuts(rows.sample, run, closeness_of(dtype), 0);
  return stages;
}

/// Where it is known which rows of the tests are a pipeline: others have shorter vectors.
bool has_wide_vectors(const CpuTarget& target) {
  return target.has(runtime::CpuFeature::kAvx512bw);
}

/// Whether rows of narrow results may be a pipeline, too.
bool takes_narrow(const CpuTarget& target) { return target.products_at_once() > 1; }

TEST(NestPipeline, RunsOfAnyLengthHaveTheBitsOfRowByRow) {
  struct Case {
    const char* name;
    int64_t columns;
    size_t stages;
    DType dtype = DType::kF32;
  };
  for (const Case& each : {Case{"softmax", 512, 3},
                           {"log softmax", 512, 3},
                           {"residual softmax", 512, 3},
                           {"norm of exponentials", 512, 3},
                           {"rms norm", 2048, 2},
                           {"rms norm with weights", 2048, 2},
                           {"softmax", 512, 3, DType::kBF16},
                           {"softmax", 512, 3, DType::kF16},
                           {"log softmax", 512, 3, DType::kBF16},
                           {"rms norm", 2048, 2, DType::kBF16},
                           {"rms norm", 2048, 2, DType::kF16},
                           {"rms norm with weights", 2048, 2, DType::kBF16}})
    for (const bool keep : {true, false})
      for (const CpuTarget& target : targets_that_run_here()) {
        Rows rows{.dtype = each.dtype, .rows = 513, .columns = each.columns};
        rows.write(each.name);
        SCOPED_TRACE(fmt::format("{} {}, keep {}, {}", graph::name(each.dtype), each.name, keep,
                                 target.name));
        const size_t stages = check_runs(rows, target, keep, {1, 2, 3, 4, 5, 257, 511, 512, 513});
        if (has_wide_vectors(target)) {
          const bool is_narrow = graph::bits(each.dtype) < 32;
          EXPECT_EQ(stages, is_narrow && !takes_narrow(target) ? 0U : each.stages);
        }
        if (HasFailure()) return;
      }
}

TEST(NestPipeline, ManyRowsOfSeveralLengths) {
  for (const char* name : {"softmax", "norm of exponentials", "rms norm"})
    for (const int64_t count : {512, 1000})
      for (const int64_t columns : {768, 2048, 4096}) {
        if (count * columns > 1000 * 2048 || (columns < 2048 && name[0] == 'r')) continue;
        Rows rows{.rows = count, .columns = columns};
        rows.write(name);
        SCOPED_TRACE(fmt::format("{} of {}x{}", name, count, columns));
        const size_t stages = check_runs(rows, host_target(), true, {37, 1000});
        if (has_wide_vectors(host_target())) {
          EXPECT_GT(stages, 0U);
        }
        if (HasFailure()) return;
      }
}

/// Rows of several axes, which do not follow each other in everything that is read.
TEST(NestPipeline, RowsOfSeveralAxesRunWithinAnItem) {
  for (const char* name : {"softmax", "log softmax", "residual softmax"}) {
    Rows rows{.batch = 2, .rows = 515, .columns = 512};
    rows.write(name);
    SCOPED_TRACE(name);
    const size_t stages = check_runs(rows, host_target(), true, {1, 3, 100});
    if (has_wide_vectors(host_target())) {
      EXPECT_GT(stages, 0U);
    }
    if (HasFailure()) return;
  }
}

TEST(NestPipeline, OthersGoRowByRow) {
  const auto stages = [](int64_t rows, int64_t columns, DType dtype, const char* name) {
    Rows kernel{.dtype = dtype, .rows = rows, .columns = columns};
    kernel.write(name);
    Runner runner;
    runner.options.streaming_bytes = 1;
    size_t result = 0;
    const auto run = [&](kernel::Arena& arena, const kernel::Kernel& each,
                         const graph::DimValues& dims, Tensors& tensors) {
      const kernel::Nest nest =
          kernel::build_nest(arena, each, {.online = false, .keep_rows = true});
      const NestPlan plan(arena, nest, host_target(), {.streaming_bytes = 1});
      result = plan.pipeline() ? plan.pipeline()->loops.size() : 0;
      runner(arena, each, dims, tensors);
    };
    kernel::test::check_cuts(kernel.sample, run, closeness_of(dtype), 0);
    return result;
  };
  EXPECT_EQ(stages(511, 512, DType::kF32, "softmax"), 0U);  // few rows
  EXPECT_EQ(stages(512, 500, DType::kF32, "softmax"), 0U);  // the end of a row is masked
  EXPECT_EQ(stages(600, 128, DType::kF32, "softmax"), 0U);  // short rows
  EXPECT_EQ(stages(512, 512, DType::kF32, "sums"), 0U);     // nothing is stored along a row
  EXPECT_EQ(stages(512, 1024, DType::kF32, "rms norm"), 0U);
  EXPECT_EQ(stages(512, 2048, DType::kF32, "layer norm"), 0U);  // three rows at a time
  EXPECT_EQ(stages(512, 4096, DType::kF32, "rms norm with weights"), 0U);
  EXPECT_EQ(stages(512, 512, DType::kF32, "gated softmax"), 0U);  // two operands from memory
}

TEST(NestPipeline, ResultsOfWholeRowsBesideTheirSums) {
  Rows rows{.rows = 520, .columns = 512};
  rows.write("softmax and maximum");
  check_runs(rows, host_target(), true, {1, 7, 520});
}

}  // namespace
}  // namespace luminal::codegen
