// Kernels as plans have them, which are others than those that are derived from a graph without
// passes and rules: the schedule that each begins with is right, and the check says so.
#include <gtest/gtest.h>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/kernel_set.h"
#include "luminal/graph/pass.h"
#include "luminal/luminal.h"
#include "luminal/search/kernel_check.h"

namespace luminal::search {
namespace {

using Write = std::function<Tensor(Graph&)>;

/// Checks the default of each kernel of a plan.
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
    const auto candidate =
        load_candidate(codegen::cpu_kernel(*task.arena, task.kernel, task.target, task.options),
                       codegen::KernelCompiler(task.target), task.options.dims);
    ASSERT_TRUE(std::holds_alternative<Candidate>(candidate)) << name << ", " << task.label;
    KernelCheck check(*task.arena, task.kernel, task.options.dims,
                      {.limit = std::chrono::minutes(5)});
    const auto why = check.check(std::get<Candidate>(candidate));
    EXPECT_EQ(why, std::nullopt) << name << ", " << task.label << ": "
                                 << to_string(Measurement(*why));
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

TEST(PlanKernels, FunctionsThatEndInFewDigitsAreRightToThese) {
  for (const DType dtype : {DType::kF8E4M3, DType::kF8E5M2, DType::kBF16}) {
    expect_right("sigmoid", [=](Graph& g) { return sigmoid(g.input("x", {61, 302}, dtype)); });
    expect_right("gelu", [=](Graph& g) { return gelu(g.input("x", {61, 302}, dtype)); });
    expect_right("softmax", [=](Graph& g) { return softmax(g.input("x", {45, 17}, dtype)); });
  }
}

TEST(PlanKernels, ProductsMayLeaveTheRangeOnTheWay) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16})
    for (const int64_t length : {17, 1000})
      expect_right("product", [=](Graph& g) { return prod(g.input("x", {45, length}, dtype), 1); });
  expect_right("products so far", [](Graph& g) {
    return cumprod(g.input("x", {45, 300}, DType::kF64), 1);
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
