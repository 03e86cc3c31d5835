// Which kernels are the same: names and orders do not matter, what is computed does.
#include <gtest/gtest.h>

#include <set>

#include "luminal/kernel/canonical.h"
#include "luminal/kernel/cut_search.h"
#include "luminal/tensor/build.h"
#include "models.h"

namespace luminal::kernel {
namespace {

using luminal::Graph;

CanonicalKernel canonical(const Tensor& result, const std::string& facts = "") {
  graph::Graph ir = result.graph().ir();
  ir.add_output("y", result.edge());
  const GraphProgram program(ir);
  const Cut cut = smallest_cut(program, *topological_order(program));
  Arena arena;
  return canonicalize(arena, std::get<Kernel>(derive(arena, program, cut, program.output(0))),
                      facts);
}

TEST(Canonical, TheTextSaysEverything) {
  Graph g;
  const Dim n = g.dim("n", 1, 64);
  const CanonicalKernel kernel = canonical(sum(g.input("x", {n, 4}) * 2.0, 1));
  EXPECT_EQ(kernel.text,
            "dim S0 1 64\n"
            "axes i0<S0\n"
            "tensor t0 f32[S0, 4]\n"
            "tensor t1 f32[S0]\n"
            "%0 = f32 t0[i0, i1064]\n"
            "%1 = f32 2\n"
            "%2 = f32 mul %0 %1\n"
            "%3 = f32 sum i1064<4 %2\n"
            "store t1[i0] %3\n");
  EXPECT_EQ(kernel.key, support::hash128(kernel.text));
  EXPECT_EQ(kernel.tensors.size(), 2U);
  EXPECT_EQ(kernel.dims, std::vector<Expr>{n});
}

/// A kernel with two dims and operands in some order.
CanonicalKernel two_dims(const std::string& first, const std::string& second, bool swapped,
                         bool constants_first) {
  Graph g;
  if (constants_first) g.input("unused", {3});
  const Dim p = g.dim(first, 0, 9), s = g.dim(second, 0, 9);
  Tensor q = g.input("q", {s, 4});
  Tensor k = g.input("k", {p + s, 4});
  Tensor kt = transpose(k);
  Tensor scores = matmul(q, kt);
  Tensor bias = g.input("bias", {p + s});
  return canonical(luminal::softmax(swapped ? bias + scores : scores + bias, -1));
}

TEST(Canonical, NamesAndOrdersDoNotMatter) {
  const CanonicalKernel expected = two_dims("past", "seq", false, false);
  EXPECT_EQ(two_dims("a", "z", false, false).text, expected.text);
  EXPECT_EQ(two_dims("z", "a", false, false).text, expected.text);
  EXPECT_EQ(two_dims("past", "seq", true, false).text, expected.text);
  EXPECT_EQ(two_dims("z", "a", true, true).key, expected.key);
}

TEST(Canonical, OperandsThatLookAlikeAreTriedInBothOrders) {
  Graph g;
  Tensor x = g.input("x", {4}), y = g.input("y", {4}), z = g.input("z", {4});
  EXPECT_EQ(canonical((x * y) + x / z).text, canonical((y * x) + x / z).text);
  EXPECT_EQ(canonical(exp(x * y) / x).text, canonical(exp(x * y) / y).text);
  EXPECT_NE(canonical(exp(x * y) / x).text, canonical(exp(x * y) / z).text);
}

TEST(Canonical, DifferentComputationsDiffer) {
  Graph g;
  Tensor x = g.input("x", {4, 4}), v = g.input("v", {4}), w = g.input("w", {4});
  Tensor h = g.input("h", {4, 4}, f16);
  std::set<std::string> texts;
  const std::vector<Tensor> all{x * v,
                                x * unsqueeze(v, 1),
                                x + v,
                                (x * v) * w,
                                x * (v * w),
                                transpose(x) * v,
                                exp(x),
                                exp2(x),
                                sum(x, 0),
                                sum(x, 1),
                                max(x, 1),
                                h * 2.0,
                                cast(h, f32) * 2.0,
                                x * 2.0,
                                x * 3.0,
                                slice(x, 0, {.end = 2}),
                                slice(x, 0, {.begin = 2}),
                                pad(x, 0, {1, 0}),
                                pad(x, 0, {0, 1}),
                                x * x,
                                x / v,
                                build::apply(graph::Op::kDiv, build::broadcast("div", {v, x}))};
  for (const Tensor& tensor : all) texts.insert(canonical(tensor).text);
  EXPECT_EQ(texts.size(), all.size());
  EXPECT_NE(canonical(exp(x)).key, canonical(exp(x), "aligned").key);
}

TEST(Canonical, LayersHaveTheSameKernels) {
  const models::BlockSizes sizes{.tokens = 64, .heads = 2, .d = 16, .hidden = 64};
  const auto keys = [&](int layers) {
    const models::IR graph = models::gpt_block(sizes, layers);
    const GraphProgram program(graph);
    Arena arena;
    std::set<std::string> texts;
    for (const PlannedKernel& kernel : search_cut(arena, program).kernels)
      texts.insert(canonicalize(arena, kernel.kernel).text);
    return texts;
  };
  EXPECT_EQ(keys(1), keys(3));
}

}  // namespace
}  // namespace luminal::kernel
