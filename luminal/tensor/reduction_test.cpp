#include "luminal/tensor/reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "luminal/tensor/movement.h"
#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::counted;
using test::expect_error;
using test::expect_integers;
using test::expect_named;
using test::expect_type;
using test::expect_values;
using test::matrix;
using test::run;
using test::vector;

constexpr double kInf = INFINITY;

TEST(Reduction, ReducesAnySetOfAxes) {
  Graph g;
  Tensor x = counted(g, {2, 3, 4});
  expect_values(run(sum(x)), {}, {276});
  expect_values(run(sum(x, 0)), {3, 4}, {12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 34});
  expect_values(run(sum(x, {0, 2})), {3}, {60, 92, 124});
  expect_values(run(sum(x, {2, 0})), {3}, {60, 92, 124});
  expect_values(run(sum(x, {-1, 1})), {2}, {66, 210});
  expect_values(run(sum(x, {0, 2}, true)), {1, 3, 1}, {60, 92, 124});
  EXPECT_EQ(run(sum(x, Axes::none())).to_vector<double>(), test::numbers(x));
  expect_values(run(sum(g.constant(5.0))), {}, {5});
}

TEST(Reduction, BadAxesAreNamed) {
  Graph g;
  Tensor x = counted(g, {2, 3});
  expect_error([&] { sum(x, {0, -2}); }, "sum: axis 0 is named twice");
  expect_error([&] { max(x, 2); }, "max: axis 2");
  expect_error([&] { var(x, -3); }, "var: axis -3");
}

TEST(Reduction, SumsOfIntegersAndBoolAreI64) {
  Graph g;
  expect_type(sum(vector(g, {100, 100}, i8)), "i64[]");
  expect_values(sum(vector(g, {100, 100}, i8)), {200});
  expect_values(sum(vector(g, {1, 1, 0}, boolean)), {2});
  expect_values(prod(vector(g, {200, 200}, u8)), {40000});
  expect_type(sum(vector(g, {1}, bf16)), "bf16[]");
}

TEST(Reduction, NarrowFloatsAccumulateWide) {
  Graph g;
  Tensor ones = expand(g.constant(1.0, bf16), {1000});
  expect_values(sum(ones), {1000});  // a bf16 sum would stop at 256
  expect_values(sum(expand(g.constant(60000.0, f16), {2})), {kInf});
  expect_values(mean(expand(g.constant(60000.0, f16), {2})), {60000.0 - 0});
  expect_values(mean(expand(g.constant(0.1, f16), {3000})), {Scalar::of(f16, 0.1).as_double()});
}

TEST(Reduction, OverNothing) {
  Graph g;
  Tensor x = g.constant(Array(f32, {2, 0}));
  expect_values(sum(x, 1), {0, 0});
  expect_values(prod(x, 1), {1, 1});
  expect_values(max(x, 1), {-kInf, -kInf});
  expect_values(min(x, 1), {kInf, kInf});
  expect_values(mean(x, 1), {NAN, NAN});
  expect_values(var(x, 1), {NAN, NAN});
  expect_values(norm(x, 2, 1), {0, 0});
  expect_values(logsumexp(x, 1), {-kInf, -kInf});
  expect_values(any(x, 1), {0, 0});
  expect_values(all(x, 1), {1, 1});
  expect_values(run(sum(x, 0)), {0}, {});
  expect_values(max(g.constant(Array(i8, {0}))), {-128});
  expect_values(min(g.constant(Array(u8, {0}))), {255});
}

TEST(Reduction, MaxAndMinKeepNanAndReachTheEnds) {
  Graph g;
  Tensor x = matrix(g, {3, 2}, {1, NAN, -kInf, kInf, -2, -3});
  expect_values(max(x, 1), {NAN, kInf, -2});
  expect_values(min(x, 1), {NAN, -kInf, -3});
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  Tensor i = g.constant(test::integers(i64, {lowest, 5, -1}));
  expect_integers(min(i), {lowest});
  expect_integers(max(i), {5});
  expect_values(min(vector(g, {3, 0, 9}, u8)), {0});
  expect_type(max(vector(g, {3}, f16)), "f16[]");
}

TEST(Reduction, AnyAndAllTakeTruthValues) {
  Graph g;
  Tensor x = matrix(g, {3, 2}, {0, 0, 0, NAN, -1, 2});
  expect_type(any(x, 1), "bool[3]");
  expect_values(any(x, 1), {0, 1, 1});
  expect_values(all(x, 1), {0, 0, 1});
}

TEST(Reduction, MeanVarAndStdFollowTheirFormulas) {
  Graph g;
  const std::vector<double> values = test::scattered(24, 11, 1000, 1001);
  Tensor x = matrix(g, {4, 6}, values, f64);
  std::vector<double> means, variances, deviations;
  for (size_t row = 0; row < 4; ++row) {
    double total = 0, squares = 0;
    for (size_t k = 0; k < 6; ++k) total += values[row * 6 + k];
    for (size_t k = 0; k < 6; ++k) squares += std::pow(values[row * 6 + k] - total / 6, 2);
    means.push_back(total / 6);
    variances.push_back(squares / 5);
    deviations.push_back(std::sqrt(squares / 6));
  }
  expect_values(mean(x, 1), means, 1e-14);
  expect_values(var(x, 1), variances, 1e-12);
  expect_values(std(x, 1, 0), deviations, 1e-12);
  expect_values(run(std(x, 1, 0, true)), {4, 1}, deviations, 1e-12);
  expect_values(var(vector(g, {3})), {NAN});
  expect_values(var(vector(g, {3}), {}, 0), {0});
  expect_type(mean(vector(g, {1, 2}, i32)), "f32[]");
  expect_values(mean(vector(g, {1, 2}, i32)), {1.5});
}

TEST(Reduction, NormsOfEveryOrder) {
  Graph g;
  Tensor x = vector(g, {3, -4, 0});
  expect_values(norm(x), {5});
  expect_values(norm(x, 1), {7});
  expect_values(norm(x, 0), {2});
  expect_values(norm(x, kInf), {4});
  expect_values(norm(x, -kInf), {0});
  expect_values(norm(x, 3), {std::cbrt(91.0)}, 1e-6);
  expect_values(norm(vector(g, {}), kInf), {0});
  expect_values(norm(vector(g, {1, NAN}), kInf), {NAN});
  expect_error([&] { norm(x, NAN); }, "norm: p must not be NaN");
}

TEST(Reduction, LogsumexpDoesNotOverflow) {
  Graph g;
  Tensor x = matrix(g, {4, 2}, {1000, 1000, -kInf, -kInf, kInf, 0, NAN, 1});
  expect_values(logsumexp(x, 1), {1000 + std::log(2.0), -kInf, kInf, NAN}, 1e-6);
  expect_values(run(logsumexp(x, 1, true)), {4, 1}, {1000 + std::log(2.0), -kInf, kInf, NAN}, 1e-6);
}

TEST(Reduction, ArgmaxTakesTheFirstOfTiesAndNanAsExtreme) {
  Graph g;
  Tensor x = matrix(g, {3, 4}, {1, 3, 3, 0, 2, NAN, 5, NAN, -kInf, -kInf, -kInf, -kInf});
  expect_type(argmax(x, 1), "i64[3]");
  expect_integers(argmax(x, 1), {1, 1, 0});
  expect_integers(argmin(x, -1), {3, 1, 0});
  expect_integers(argmax(vector(g, {1, 9, 9})), {1});
  expect_integers(argmax(matrix(g, {2, 2}, {1, 9, 9, 0})), {1});
  expect_values(run(argmax(matrix(g, {2, 2}, {1, 9, 9, 0}), std::nullopt, true)), {1, 1}, {1});
  expect_values(run(argmin(matrix(g, {2, 2}, {1, 9, 9, 0}), 0, true)), {1, 2}, {0, 1});
  expect_integers(argmin(vector(g, {1, 0, 0}, boolean)), {1});
  expect_integers(argmax(vector(g, {-128, -128}, i8)), {0});
  expect_integers(argmax(g.constant(4.0)), {0});
  expect_error(
      [&] {
        argmax(g.constant(Array(f32, {2, 0})), 1);
      },
      "argmax: axis 1 of [2, 0] is empty");
}

TEST(Reduction, SymbolicExtentsCountAtRunTime) {
  Graph g;
  Dim n = g.dim("n"), m = g.dim("m");
  Tensor x = g.input("x", {n, m});
  Tensor average = mean(x, {0, 1}), rows = sum(x, 1), first = argmax(x, 1);
  expect_type(rows, "f32[n]");
  auto data = [](Extents extents) {
    return test::Data{.inputs = {{"x", test::counting(f32, std::move(extents))}}};
  };
  expect_values(run(average, data({3, 4})), {}, {5.5});
  expect_values(run(average, data({1, 1})), {}, {0});
  expect_values(run(average, data({0, 4})), {}, {NAN});
  expect_values(run(rows, data({2, 0})), {2}, {0, 0});
  expect_values(run(rows, data({0, 2})), {0}, {});
  expect_values(run(first, data({2, 3})), {2}, {2, 2});
  expect_values(run(var(x, 0), data({3, 1})), {1}, {1});
  expect_values(run(var(x, 0), data({1, 1})), {1}, {NAN});
}

TEST(Reduction, IsRecordedWithAxes) {
  Graph g;
  Tensor x = counted(g, {2, 3}, f16);
  expect_named(mean(x, -1, true), "mean(axes=[1], keepdims=true)", {x});
  expect_named(var(x, {0, 1}, 0), "var(axes=[0, 1], correction=0, keepdims=false)", {x});
  expect_named(norm(x, 3.0, 0), "norm(axes=[0], keepdims=false, p=3)", {x});
  expect_named(logsumexp(x, 1), "logsumexp(axes=[1], keepdims=false)", {x});
  expect_named(argmax(x, 1), "argmax(axis=1, keepdims=false)", {x});
  expect_named(argmin(x, 0, true), "argmin(axis=0, keepdims=true)", {x});
}

TEST(Reduction, SeesThroughViews) {
  Graph g;
  Tensor x = counted(g, {3, 4});
  expect_values(sum(transpose(x), 0), {6, 22, 38});
  expect_values(max(flip(slice(x, 1, {.begin = 1, .end = 3}), {0}), 1), {10, 6, 2});
  expect_values(sum(pad(x, 1, {1, 2}, PadMode::kConstant, 1), 1), {9, 25, 41});
}

}  // namespace
}  // namespace luminal
