// Kernels as plans have them, which are others than those that are derived from a graph without
// passes and rules: what the space of each begins with is right, and the check says so.
#include <gtest/gtest.h>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/kernel_set.h"
#include "luminal/graph/pass.h"
#include "luminal/luminal.h"
#include "luminal/search/kernel_check.h"
#include "luminal/search/kernel_space.h"

namespace luminal::search {
namespace {

using Write = std::function<Tensor(Graph&)>;

/// Code for a schedule.
std::variant<Candidate, Rejected> built(const KernelTask& task, const std::string& schedule) {
  codegen::CpuKernelOptions options = task.options;
  options.schedule = codegen::Schedule::parse(schedule);
  return load_candidate(codegen::cpu_kernel(*task.arena, task.kernel, task.target, options),
                        codegen::KernelCompiler(task.target), task.options.dims);
}

/// Checks what each family of code begins with, for each kernel of a plan; the default is first.
void expect_right(const char* name, const Write& write) {
  Graph g;
  const Tensor y = write(g);
  graph::Graph graph = g.ir();
  graph.add_output("y", y.edge());
  graph = graph::default_passes().run(graph).graph;
  compiler::Options options;
  options.threads = 2;
  compiler::PlanDraft draft(graph, options);
  for (size_t k = 0; k < draft.kernels().size(); ++k) {
    const KernelTask task = draft.kernels().task(k);
    KernelCheck check(*task.arena, task.kernel, task.options.dims,
                      {.limit = std::chrono::minutes(5), .least = std::chrono::minutes(5)});
    const auto space = kernel_space(task);
    for (const std::string& schedule : space->starts()) {
      const auto candidate = built(task, schedule);
      ASSERT_TRUE(std::holds_alternative<Candidate>(candidate)) << name << ", " << schedule;
      const auto why = check.check(std::get<Candidate>(candidate));
      EXPECT_EQ(why, std::nullopt)
          << name << ", " << task.label << ", " << schedule << ": " << to_string(Measurement(*why));
    }
    EXPECT_FALSE(check.revoked().has_value()) << name << ": " << check.revoked()->why.detail;
  }
}

TEST(PlanKernels, WeightsOfAttentionMayBeRoundedToBf16) {
  // In a plan they are factors of one sum and terms of another.
  expect_right("attention", [](Graph& g) {
    const auto input = [&](const char* name) { return g.input(name, {3, 37, 24}, DType::kBF16); };
    return attention(input("q"), input("k"), input("v"));
  });
  expect_right("causal attention of any length", [](Graph& g) {
    const Dim n = g.dim("n", 1, 2048);
    const auto input = [&](const char* name) { return g.input(name, {2, n, 32}, DType::kBF16); };
    return attention(input("q"), input("k"), input("v"), {.causal = true});
  });
}

TEST(PlanKernels, NothingAddsScoresUpInAnotherOrderThanTheirMaximum) {
  // Far from 0 that is infinite or no number.
  for (const int64_t depth : {24, 64})
    for (const int64_t queries : {17, 128})
      expect_right("attention of f32", [&](Graph& g) {
        const Tensor q = g.input("q", {2, queries, depth});
        const Tensor k = cast(g.input("k", {2, 128, depth}, i8), f32) * g.input("s", {2, 128, 1});
        return matmul(softmax(matmul(q, transpose(k)) * 0.125F), g.input("v", {2, 128, depth}));
      });
}

TEST(PlanKernels, FunctionsThatEndInFewDigitsAreRightToThese) {
  for (const DType dtype : {DType::kF8E4M3, DType::kF8E5M2, DType::kBF16}) {
    expect_right("sigmoid", [=](Graph& g) { return sigmoid(g.input("x", {61, 302}, dtype)); });
    expect_right("gelu", [=](Graph& g) { return gelu(g.input("x", {61, 302}, dtype)); });
    expect_right("softmax", [=](Graph& g) { return softmax(g.input("x", {45, 17}, dtype)); });
    // Their roots and quotients are vectors where lanes are rows.
    for (const int64_t width : {3, 5, 8, 16})
      expect_right("norm", [=](Graph& g) { return layer_norm(g.input("x", {512, width}, dtype)); });
  }
}

TEST(PlanKernels, AnInfiniteScaleMayLeaveASum) {
  // Times a digit of 0 it is no number; times the sum of its block it is infinite.
  for (const int64_t rows : {1, 2, 8})
    expect_right("four bits", [=](Graph& g) {
      const Tensor digits = g.weight("q", {1024, 8, 32}, DType::kU4);
      const Tensor scales = g.weight("s", {1024, 8, 1}, DType::kF16);
      const Tensor weights = (cast(digits, DType::kF32) - 8.0F) * cast(scales, DType::kF32);
      return matmul(g.input("x", {rows, 256}), transpose(merge_dims(weights, 1)));
    });
}

TEST(PlanKernels, ProductsMayLeaveTheRangeOnTheWay) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16})
    for (const int64_t length : {17, 1000})
      expect_right("product", [=](Graph& g) { return prod(g.input("x", {45, length}, dtype), 1); });
  expect_right("products so far", [](Graph& g) {
    return cumprod(g.input("x", {45, 300}, DType::kF64), 1);
  });
}

TEST(PlanKernels, QuantisedResultsMayBeEitherAtATie) {
  expect_right("softmax", [](Graph& g) {
    return cast(round(softmax(g.input("x", {1500, 500})) * 2550.0F), DType::kU8);
  });
  expect_right("norm", [](Graph& g) {
    return cast(round(layer_norm(g.input("x", {1500, 500})) * 30.0F), DType::kI8);
  });
  expect_right("product", [](Graph& g) {
    const Tensor product = matmul(g.input("x", {384, 512}), g.input("w", {512, 500}));
    return cast(clip(round(product * 20.0F), -127, 127), DType::kI8);
  });
  expect_right("the largest of products", [](Graph& g) {
    return argmax(matmul(g.input("x", {64, 300}), g.input("w", {300, 500})), 1);
  });
}

TEST(PlanKernels, ACacheIsWrittenAtAnyPosition) {
  expect_right("cache", [](Graph& g) {
    const Dim p = g.dim("p", 0, 1000);
    const Tensor cache = g.input("c", {2, 1024, 32});
    return update_slice(cache, 1, p, g.input("new", {2, 1, 32}));
  });
}

}  // namespace
}  // namespace luminal::search
