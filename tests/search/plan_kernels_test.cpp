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

TEST(PlanKernels, ACacheIsWrittenAtAnyPosition) {
  expect_right("cache", [](Graph& g) {
    const Dim p = g.dim("p", 0, 1000);
    const Tensor cache = g.input("c", {2, 1024, 32});
    return update_slice(cache, 1, p, g.input("new", {2, 1, 32}));
  });
}

}  // namespace
}  // namespace luminal::search
