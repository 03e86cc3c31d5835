#include "luminal/tensor/linalg.h"

#include <gtest/gtest.h>

#include <cmath>

#include "luminal/tensor/movement.h"
#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::expect_error;
using test::expect_named;
using test::expect_type;
using test::expect_values;
using test::matrix;
using test::run;
using test::vector;

/// [m, k] x [k, n] by the definition.
std::vector<double> product(const std::vector<double>& a, const std::vector<double>& b, size_t m,
                            size_t k, size_t n) {
  std::vector<double> c(m * n, 0.0);
  for (size_t i = 0; i < m; ++i)
    for (size_t j = 0; j < n; ++j)
      for (size_t p = 0; p < k; ++p) c[i * n + j] += a[i * k + p] * b[p * n + j];
  return c;
}

TEST(Matmul, MatchesTheDefinitionForOddShapes) {
  Graph g;
  for (auto [m, k, n] :
       std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {3, 5, 7}, {4, 1, 2}, {2, 9, 1}}) {
    const std::vector<double> a = test::scattered(static_cast<size_t>(m * k), 1);
    const std::vector<double> b = test::scattered(static_cast<size_t>(k * n), 2);
    const std::vector<double> c =
        product(a, b, static_cast<size_t>(m), static_cast<size_t>(k), static_cast<size_t>(n));
    expect_values(run(matmul(matrix(g, {m, k}, a, f64), matrix(g, {k, n}, b, f64))), {m, n}, c,
                  1e-14);
    expect_values(run(matmul(matrix(g, {m, k}, a), matrix(g, {k, n}, b))), {m, n}, c, 1e-5);
  }
}

TEST(Matmul, VectorsAreRowsOnTheLeftAndColumnsOnTheRight) {
  Graph g;
  Tensor m = matrix(g, {2, 3}, {1, 2, 3, 4, 5, 6}), u = vector(g, {1, 10}),
         v = vector(g, {1, 2, 3});
  expect_values(run(matmul(u, m)), {3}, {41, 52, 63});
  expect_values(run(matmul(m, v)), {2}, {14, 32});
  expect_values(run(matmul(v, v)), {}, {14});
  expect_values(run(dot(v, v)), {}, {14});
  expect_values(run(outer(u, v)), {2, 3}, {1, 2, 3, 10, 20, 30});
}

TEST(Matmul, BroadcastsLeadingAxes) {
  Graph g;
  Tensor a = g.constant(test::counting(f32, {2, 1, 2, 3})),
         b = g.constant(test::counting(f32, {4, 3, 2}));
  Tensor c = matmul(a, b);
  expect_type(c, "f32[2, 4, 2, 2]");
  std::vector<double> expected;
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 4; ++j) {
      std::vector<double> left, right;
      for (size_t e = 0; e < 6; ++e) {
        left.push_back(static_cast<double>(i * 6 + e));
        right.push_back(static_cast<double>(j * 6 + e));
      }
      for (double value : product(left, right, 2, 3, 2)) expected.push_back(value);
    }
  expect_values(c, expected);
  expect_type(matmul(g.input("v", {3}), b), "f32[4, 2]");
  expect_type(matmul(b, g.input("w", {2})), "f32[4, 3]");
}

TEST(Matmul, OfNothingIsZero) {
  Graph g;
  expect_values(run(matmul(g.constant(Array(f32, {2, 0})), g.constant(Array(f32, {0, 2})))), {2, 2},
                {0, 0, 0, 0});
  expect_type(matmul(g.input("a", {0, 3}), g.input("b", {3, 2})), "f32[0, 2]");
}

TEST(Matmul, NarrowDtypesAccumulateWideAndRoundOnce) {
  Graph g;
  Tensor ones = expand(g.constant(1.0, bf16), {1, 1000});
  expect_type(matmul(ones, transpose(ones)), "bf16[1, 1]");
  expect_values(matmul(ones, transpose(ones)), {1000});
  Tensor big = expand(g.constant(300.0, f16), {1, 4});
  // 4 * 90000 overflows f16 at the end only: halves cancel before that.
  Tensor signs = vector(g, {300, -300, 300, -300}, f16);
  expect_values(matmul(big, signs), {0});
}

TEST(Matmul, IntegersStayInTheirDtypeUnlessTold) {
  Graph g;
  Tensor a = vector(g, {100, 100}, i8);
  expect_type(matmul(a, a), "i8[]");
  expect_values(matmul(a, a, i32), {20000});
  expect_type(matmul(vector(g, {1}, u8), vector(g, {1}, i8)), "i16[]");
  expect_type(matmul(vector(g, {1}, i8), vector(g, {1}, f16)), "f16[]");
}

TEST(Matmul, KeepsNanAndInfinity) {
  Graph g;
  expect_values(matmul(vector(g, {0, 1}), vector(g, {INFINITY, 1})), {NAN});
  expect_values(matmul(vector(g, {1, 1}), vector(g, {INFINITY, 1})), {INFINITY});
}

TEST(Matmul, SymbolicDims) {
  Graph g;
  Dim n = g.dim("n"), m = g.dim("m");
  Tensor c = matmul(g.input("a", {n, m}), g.input("b", {m, 2}));
  expect_type(c, "f32[n, 2]");
  for (int64_t rows : {0, 1, 3})
    for (int64_t inner : {0, 1, 4}) {
      Array a = test::counting(f32, {rows, inner}), b = test::counting(f32, {inner, 2});
      expect_values(run(c, {.inputs = {{"a", a}, {"b", b}}}), {rows, 2},
                    product(a.to_vector<double>(), b.to_vector<double>(), static_cast<size_t>(rows),
                            static_cast<size_t>(inner), 2));
    }
}

TEST(Matmul, IsRecordedWithItsOperands) {
  Graph g;
  Tensor a = matrix(g, {1, 2}, {1, 2}, f16), b = transpose(matrix(g, {1, 2}, {3, 4}, f16));
  expect_named(matmul(a, b), "matmul()", {a, b});
  Tensor u = vector(g, {1}), v = vector(g, {2});
  expect_named(outer(u, v), "outer()", {u, v});
}

TEST(Matmul, Errors) {
  Graph g, h;
  Tensor a = matrix(g, {2, 3}, {1, 2, 3, 4, 5, 6});
  expect_error([&] { matmul(a, a); }, "matmul: inner dims differ: [2, 3] x [2, 3]");
  expect_error([&] { matmul(a, g.constant(1.0)); }, "matmul: operands need at least one axis");
  expect_error(
      [&] {
        matmul(g.input("x", {2, 4, 3}), g.input("y", {3, 3, 4}));
      },
      "matmul: leading axes do not broadcast");
  expect_error([&] { matmul(vector(g, {1}, boolean), vector(g, {1}, boolean)); },
               "matmul: is not defined for bool");
  expect_error(
      [&] {
        matmul(a, vector(h, {1, 2, 3}));
      },
      "matmul: operands belong to different graphs");
  expect_error([&] { dot(a, a); }, "dot: needs vectors, got shape [2, 3]");
  expect_error([&] { dot(vector(g, {1}), vector(g, {1, 2})); }, "dot: lengths differ: 1 and 2");
  expect_error([&] { outer(a, a); }, "outer: needs vectors, got shape [2, 3]");
}

}  // namespace
}  // namespace luminal
