#include "luminal/codegen/llvm/few_digits.h"

#include <gtest/gtest.h>

#include "checks.h"
#include "luminal/kernel/derive.h"
#include "luminal/luminal.h"

namespace luminal::kernel {
namespace {

using graph::Op;
using luminal::Graph;

using Function = std::function<Tensor(const Tensor&)>;
using Finder = std::set<BodyId> (*)(const Arena&, std::span<const Root>);

/// Whether the only op of this kind in a kernel of one result is among what is found in it.
bool is_found(Finder find, const Function& function, Op op) {
  Graph g;
  const Tensor y = function(g.input("x", {64}, bf16)).named("y");
  const graph::Graph graph = graph_of({y});
  const GraphProgram program(graph);
  const auto order = *topological_order(program);
  Arena arena;
  const auto derived = derive(arena, program, smallest_cut(program, order), program.roots()[0]);
  const auto& kernel = std::get<Kernel>(derived);
  const std::set<BodyId> found = find(arena, kernel.roots);
  for (const BodyId id : arena.reachable(std::span(&kernel.roots[0].value, 1)))
    if (arena[id].kind == BodyKind::kOp && arena[id].op == op) return found.contains(id);
  ADD_FAILURE() << "no such op";
  return false;
}

bool is_compared(const Function& function, Op op) {
  const Finder compared = [](const Arena& arena, std::span<const Root> roots) {
    return codegen::values_compared(arena, roots);
  };
  return is_found(compared, function, op);
}

bool has_few_digits(const Function& function, Op op) {
  return is_found(codegen::values_of_few_digits, function, op);
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

TEST(FewDigits, WhatBecomesAnIntegerIsSeenInFull) {
  const auto after = [](DType dtype) {
    return [dtype](const Tensor& x) { return cast(cast(exp(cast(x, f32)) * 100.0, dtype), bf16); };
  };
  EXPECT_TRUE(has_few_digits(after(f32), Op::kExp));
  EXPECT_TRUE(has_few_digits(after(f64), Op::kExp));
  for (const DType dtype : {i32, u8, i64}) EXPECT_FALSE(has_few_digits(after(dtype), Op::kExp));
}

/// Terms of one sign do not cancel: x - max(x) and -exp(x) do not, x - max(y) may be anything.
TEST(FewDigits, OnlyTheMaximumOfItsOwnRowIsAboveAValue) {
  const auto less_exp = [](const Function& other) {
    return [other](const Tensor& narrow) {
      const Tensor x = cast(narrow, f32);
      return cast((x - max(other(x), 0, true)) - exp(x), bf16);
    };
  };
  EXPECT_TRUE(has_few_digits(less_exp([](const Tensor& x) { return x; }), Op::kExp));
  EXPECT_FALSE(has_few_digits(less_exp([](const Tensor& x) { return x * x; }), Op::kExp));
  EXPECT_FALSE(has_few_digits(less_exp([](const Tensor& x) { return flip(x, {0}); }), Op::kExp));
}

}  // namespace
}  // namespace luminal::kernel
