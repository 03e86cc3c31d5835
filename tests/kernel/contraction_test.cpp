// Contractions as libraries and tile schedules see them.
#include <gtest/gtest.h>

#include "checks.h"
#include "luminal/kernel/contraction.h"

namespace luminal::kernel {
namespace {

using luminal::Graph;

Kernel whole(Arena& arena, const graph::Graph& graph) {
  const GraphProgram program(graph);
  const Cut cut = smallest_cut(program, *topological_order(program));
  return std::get<Kernel>(derive(arena, program, cut, program.output(0)));
}

/// "batch 0, m 1, n 2, k 1" with the strides of plain operands.
std::string described(const Contraction& c) {
  const auto names = [](const std::vector<Expr>& axes) {
    std::string text;
    for (const Expr& axis : axes) text += fmt::format(" {}", axis.axis_extent());
    return text;
  };
  const auto strides = [&](const ContractionOperand& operand) -> std::string {
    if (!operand.plain) return "prologue";
    std::string text;
    for (const auto* axes : {&c.batch, &c.m, &c.n, &c.k})
      for (const Expr& axis : *axes) {
        const Expr stride = operand.plain->stride(axis);
        if (!stride.is_constant(0)) text += fmt::format(" {}", stride);
      }
    return text;
  };
  return fmt::format("batch{} | m{} | n{} | k{} | a{} | b{}", names(c.batch), names(c.m),
                     names(c.n), names(c.k), strides(c.a), strides(c.b));
}

std::string contraction_of(const Tensor& result) {
  Arena arena;
  const auto matched = match_contraction_kernel(arena, whole(arena, graph_of({result})));
  if (!matched) return "none";
  return described(matched->contraction) + (matched->has_epilogue ? " | epilogue" : "");
}

TEST(Contraction, LayoutsAreStrides) {
  Graph g;
  Tensor a = g.input("a", {8, 16}), b = g.input("b", {16, 32});
  Tensor at = g.input("at", {16, 8}), bt = g.input("bt", {32, 16});
  EXPECT_EQ(contraction_of(matmul(a, b)), "batch | m 8 | n 32 | k 16 | a 16 1 | b 1 32");
  EXPECT_EQ(contraction_of(matmul(transpose(at), b)), "batch | m 8 | n 32 | k 16 | a 1 8 | b 1 32");
  EXPECT_EQ(contraction_of(matmul(a, transpose(bt))),
            "batch | m 8 | n 32 | k 16 | a 16 1 | b 16 1");
  EXPECT_EQ(contraction_of(einsum("ij,jk->ki", {a, b})),
            "batch | m 32 | n 8 | k 16 | a 1 32 | b 16 1");
}

TEST(Contraction, OperandOrderDoesNotMatter) {
  Graph g;
  Tensor a = g.input("a", {8, 16}), b = g.input("b", {16, 32});
  const std::string expected = "batch | m 8 | n 32 | k 16 | a 16 1 | b 1 32";
  EXPECT_EQ(contraction_of(einsum("ij,jk->ik", {a, b})), expected);
  EXPECT_EQ(contraction_of(einsum("jk,ij->ik", {b, a})), expected);
}

TEST(Contraction, BatchesGroupsAndVectors) {
  Graph g;
  Tensor q = g.input("q", {8, 5, 16}), k = g.input("k", {2, 7, 16});
  EXPECT_EQ(contraction_of(einsum("bij,bkj->bik", {q, g.input("k8", {8, 7, 16})})),
            "batch 8 | m 5 | n 7 | k 16 | a 80 16 1 | b 112 16 1");
  Tensor grouped = matmul(split_dims(q, 0, {2, 4}), unsqueeze(transpose(k), 1));
  EXPECT_EQ(contraction_of(grouped), "batch 2 | m 4 5 | n 7 | k 16 | a 320 80 16 1 | b 112 16 1");
  EXPECT_EQ(contraction_of(matmul(g.input("w", {32, 16}), g.input("x", {16}))),
            "batch | m | n 32 | k 16 | a 1 | b 16 1");
}

TEST(Contraction, CastsArePlainAndOtherPrologueIsNot) {
  Graph g;
  Tensor a = g.input("a", {8, 16}, bf16), b = g.input("b", {16, 32}, bf16);
  Arena arena;
  const auto matched = match_contraction_kernel(arena, whole(arena, graph_of({matmul(a, b)})));
  ASSERT_TRUE(matched.has_value());
  EXPECT_EQ(matched->contraction.a.plain->stored, DType::kBF16);
  EXPECT_EQ(matched->contraction.dtype, DType::kF32);
  EXPECT_TRUE(matched->has_epilogue);  // rounds to bf16
  Tensor x = g.input("x", {8, 16}), n = g.input("n", {16}), w = g.input("w", {32, 16});
  EXPECT_EQ(contraction_of(relu(matmul(x * n, transpose(w)) + g.input("bias", {32}))),
            "batch | m 8 | n 32 | k 16 | aprologue | b 16 1 | epilogue");
}

TEST(Contraction, WhatIsDoneToOneRowIsNotDoneToEveryColumn) {
  Graph g;
  Tensor x = g.input("x", {1, 16}), w = g.input("w", {32, 16});
  const std::string expected = "batch | m | n 32 | k 16 | aprologue | b 16 1";
  EXPECT_EQ(contraction_of(matmul(x * exp(x), transpose(w))), expected);
  EXPECT_EQ(contraction_of(matmul(w, squeeze(x * exp(x)))), expected);
  // However factors are ordered: a row that is only loaded may be another in every run.
  const Tensor gain = g.input("gain", {16});
  for (const Tensor& row : {gelu(x), exp(x) * x, x * x, x * gain, gain * x, exp(x) * (x * gain)}) {
    EXPECT_EQ(contraction_of(matmul(row, transpose(w))), expected);
    EXPECT_EQ(contraction_of(matmul(w, squeeze(row))), expected);
    EXPECT_EQ(contraction_of(sum(w * row, 1)), expected);
  }
}

TEST(Contraction, ConvolutionIsOneWithStridesThatOverlap) {
  Graph g;
  Tensor x = g.input("x", {2, 3, 9, 9}), w = g.input("w", {4, 3, 3, 3});
  EXPECT_EQ(contraction_of(conv2d(x, w)),
            "batch | m 4 | n 2 7 7 | k 3 3 3 | a 27 9 3 1 | b 243 9 1 81 9 1");
}

TEST(Contraction, OtherSumsAreNone) {
  Graph g;
  Tensor a = g.input("a", {8, 16}), b = g.input("b", {8, 16});
  EXPECT_EQ(contraction_of(sum(a * b, 1)), "none");
  EXPECT_EQ(contraction_of(sum(a, 1)), "none");
  EXPECT_EQ(contraction_of(unsqueeze(matmul(a, transpose(b)), 2) * g.input("c", {4})), "none");
}

}  // namespace
}  // namespace luminal::kernel
