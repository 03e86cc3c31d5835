#include <gtest/gtest.h>

#include <cmath>

#include "luminal/tensor/linalg.h"
#include "luminal/tensor/movement.h"
#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::counted;
using test::expect_error;
using test::expect_named;
using test::expect_type;
using test::expect_values;
using test::matrix;
using test::run;
using test::vector;

TEST(Einsum, OneOperand) {
  Graph g;
  Tensor x = counted(g, {2, 3}, f64);
  expect_values(run(einsum("ij->ji", {x})), {3, 2}, {0, 3, 1, 4, 2, 5});
  expect_values(run(einsum("ij->", {x})), {}, {15});
  expect_values(run(einsum("ij->j", {x})), {3}, {3, 5, 7});
  expect_values(run(einsum("ba", {x})), {3, 2}, {0, 3, 1, 4, 2, 5});
  Tensor square = counted(g, {3, 3}, f64);
  expect_values(run(einsum("ii", {square})), {}, {12});
  expect_values(run(einsum("ii->i", {square})), {3}, {0, 4, 8});
  expect_values(run(einsum("iij->j", {counted(g, {2, 2, 2}, f64)})), {2}, {6, 8});
  expect_values(run(einsum("iii->i", {counted(g, {2, 2, 2}, f64)})), {2}, {0, 7});
}

TEST(Einsum, ProductsMatchLoops) {
  Graph g;
  Tensor a = counted(g, {2, 3, 4}, f64), b = counted(g, {2, 4, 5}, f64);
  std::vector<double> expected;
  for (int n = 0; n < 2; ++n)
    for (int i = 0; i < 3; ++i)
      for (int k = 0; k < 5; ++k) {
        double total = 0;
        for (int j = 0; j < 4; ++j) total += (n * 12 + i * 4 + j) * (n * 20 + j * 5 + k);
        expected.push_back(total);
      }
  expect_values(run(einsum("bij,bjk->bik", {a, b})), {2, 3, 5}, expected);
  expect_values(run(einsum("bij,bjk", {a, b})), {3, 5}, [&] {
    std::vector<double> sums(15);
    for (size_t i = 0; i < 30; ++i) sums[i % 15] += expected[i];
    return sums;
  }());
  expect_values(run(einsum("i,j->ij", {vector(g, {1, 2}), vector(g, {3, 4})})), {2, 2},
                {3, 4, 6, 8});
  expect_values(run(einsum("i,i,i->", {vector(g, {1, 2}), vector(g, {3, 4}), vector(g, {5, 6})})),
                {}, {63});
  expect_values(
      run(einsum("ij,jk,kl->il", {matrix(g, {1, 2}, {1, 2}), matrix(g, {2, 2}, {1, 0, 0, 1}),
                                  matrix(g, {2, 1}, {3, 4})})),
      {1, 1}, {11});
  expect_values(run(einsum("ij,k->", {matrix(g, {1, 2}, {1, 2}), vector(g, {10, 20})})), {}, {90});
}

TEST(Einsum, EllipsisBroadcasts) {
  Graph g;
  Tensor a = counted(g, {2, 1, 2, 2}, f64), b = counted(g, {3, 2, 2}, f64);
  Tensor c = einsum("...ij,...jk->...ik", {a, b});
  expect_type(c, "f64[2, 3, 2, 2]");
  EXPECT_EQ(test::numbers(c), test::numbers(matmul(a, b)));
  expect_values(run(einsum("...i->...", {counted(g, {2, 2}, f64)})), {2}, {1, 5});
  expect_values(run(einsum("i...", {counted(g, {2, 2}, f64)})), {2, 2}, {0, 2, 1, 3});
  expect_type(einsum("...", {counted(g, {2, 3}, f64)}), "f64[2, 3]");
  expect_type(einsum("...ij,...jk->ik...", {a, b}), "f64[2, 2, 2, 3]");
}

TEST(Einsum, ExtentsOfOneStretch) {
  Graph g;
  expect_values(
      run(einsum("ij,ij->i", {matrix(g, {2, 1}, {1, 2}), matrix(g, {2, 3}, {1, 2, 3, 4, 5, 6})})),
      {2}, {6, 30});
}

TEST(Einsum, ComputesNarrowFloatsWideAndKeepsIntegers) {
  Graph g;
  Tensor ones = expand(g.constant(1.0, bf16), {1000});
  expect_type(einsum("i,i->", {ones, ones}), "bf16[]");
  expect_values(einsum("i,i->", {ones, ones}), {1000});
  expect_type(einsum("i,i", {vector(g, {1}, i8), vector(g, {1}, i16)}), "i16[]");
}

TEST(Einsum, SymbolicDims) {
  Graph g;
  Dim n = g.dim("n");
  Tensor x = g.input("x", {n, 2});
  Tensor y = einsum("ni,nj->ij", {x, x});
  expect_type(y, "f32[2, 2]");
  expect_values(run(y, {.inputs = {{"x", test::counting(f32, {2, 2})}}}), {2, 2}, {4, 6, 6, 10});
  expect_values(run(y, {.inputs = {{"x", Array(f32, {0, 2})}}}), {2, 2}, {0, 0, 0, 0});
}

TEST(Einsum, IsRecordedWithTheEquation) {
  Graph g;
  Tensor x = counted(g, {2, 2}, f64);
  expect_named(einsum("ij,jk->ik", {x, x}), "einsum(equation=ij,jk->ik)", {x, x});
}

TEST(Einsum, Errors) {
  Graph g;
  Tensor x = counted(g, {2, 3}, f64);
  expect_error([&] { einsum("ij", {}); }, "einsum: 'ij': needs at least one operand");
  expect_error([&] { einsum("ij,jk", {x}); }, "'ij,jk': names 2 operands, got 1");
  expect_error([&] { einsum("ijk", {x}); }, "operand 0 has 2 axes, its labels 'ijk' do not fit");
  expect_error([&] { einsum("i", {x}); }, "its labels 'i' do not fit");
  expect_error([&] { einsum("i1", {x}); }, "do not fit");
  expect_error([&] { einsum("ij->ik", {x}); }, "the result's 'k' is in no operand");
  expect_error([&] { einsum("ij->ii", {x}); }, "the result has 'i' twice");
  expect_error([&] { einsum("ij->j->i", {x}); }, "'-' is no letter");
  expect_error([&] { einsum("ii", {x}); }, "'i' is both 2 and 3");
  expect_error([&] { einsum("ij,ij", {x, counted(g, {3, 3}, f64)}); }, "'i' is both 2 and 3");
  expect_error([&] { einsum("...i...", {x}); }, "operand 0 has '...' twice");
  expect_error([&] { einsum("i", {vector(g, {1}, boolean)}); }, "einsum: is not defined for bool");
}

}  // namespace
}  // namespace luminal
