#include "luminal/codegen/llvm/few_digits.h"

#include <gtest/gtest.h>

#include "checks.h"
#include "luminal/kernel/derive.h"
#include "luminal/luminal.h"

namespace luminal::kernel {
namespace {

using graph::Op;
using luminal::Graph;

/// Whether the operand of the only op of this kind in a kernel is one that is compared.
bool is_compared(const std::function<Tensor(const Tensor&)>& function, Op op) {
  Graph g;
  const Tensor y = function(g.input("x", {64}, bf16)).named("y");
  const graph::Graph graph = graph_of({y});
  const GraphProgram program(graph);
  const auto order = *topological_order(program);
  Arena arena;
  const auto derived = derive(arena, program, smallest_cut(program, order), program.roots()[0]);
  const auto& kernel = std::get<Kernel>(derived);
  const auto compared = codegen::values_compared(arena, kernel.roots);
  for (const BodyId id : arena.reachable(std::span(&kernel.roots[0].value, 1)))
    if (arena[id].kind == BodyKind::kOp && arena[id].op == op) return compared.contains(id);
  ADD_FAILURE() << "no such op";
  return false;
}

TEST(FewDigits, AMagnitudeDoesNotCompareWhatItIsOf) {
  EXPECT_FALSE(is_compared([](const Tensor& x) { return sqrt(abs(sin(x))); }, Op::kSin));
  EXPECT_TRUE(is_compared([](const Tensor& x) { return floor(abs(sin(x))); }, Op::kSin));
  EXPECT_TRUE(is_compared(
      [](const Tensor& x) {
        const Tensor s = sin(x);
        return where(less_equal(s, 0), x, abs(s));
      },
      Op::kSin));
}

}  // namespace
}  // namespace luminal::kernel
