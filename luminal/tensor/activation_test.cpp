#include "luminal/tensor/activation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::expect_named;
using test::expect_type;
using test::expect_values;
using test::vector;

constexpr double kInf = INFINITY;

double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }
double softplus_of(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }

struct Case {
  const char* definition;
  Tensor (*function)(const Tensor&);
  double (*reference)(double);
};

const std::vector<Case> kCases{
    {"relu()", relu, [](double x) { return std::max(x, 0.0); }},
    {"leaky_relu(slope=0.01)", [](const Tensor& x) { return leaky_relu(x); },
     [](double x) { return x < 0 ? 0.01 * x : x; }},
    {"sigmoid()", sigmoid, sigmoid_of},
    {"silu()", silu, [](double x) { return x * sigmoid_of(x); }},
    {"gelu()", gelu, [](double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))); }},
    {"gelu_tanh()", gelu_tanh,
     [](double x) {
       return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
     }},
    {"softplus(beta=1, threshold=20)", [](const Tensor& x) { return softplus(x); }, softplus_of},
    {"elu(alpha=1)", [](const Tensor& x) { return elu(x); },
     [](double x) { return x < 0 ? std::expm1(x) : x; }},
    {"hardswish()", hardswish,
     [](double x) { return x * std::min(std::max(x + 3, 0.0), 6.0) / 6; }},
    {"mish()", mish, [](double x) { return x * std::tanh(softplus_of(x)); }},
};

TEST(Activation, FollowsItsFormulaInEveryFloat) {
  Graph g;
  const std::pair<DType, double> tolerances[] = {
      {f64, 1e-14}, {f32, 1e-6}, {f16, 1e-3}, {bf16, 8e-3}, {f8e5m2, 0.13}};
  for (const Case& c : kCases)
    for (auto [dtype, tolerance] : tolerances) {
      const Array input = test::array(dtype, {100}, test::scattered(100, 5, -12, 25));
      std::vector<double> expected;
      for (double x : input.to_vector<double>()) expected.push_back(c.reference(x));
      Tensor y = c.function(g.constant(input));
      EXPECT_EQ(y.dtype(), dtype) << c.definition;
      expect_values(y, expected, tolerance);
    }
}

TEST(Activation, IsRecordedWithItsParameters) {
  Graph g;
  Tensor x = vector(g, {1, 2}, bf16);
  for (const Case& c : kCases) expect_named(c.function(x), c.definition, {x});
  expect_named(leaky_relu(x, 0.25), "leaky_relu(slope=0.25)", {x});
  expect_named(softplus(x, 2, 10), "softplus(beta=2, threshold=10)", {x});
  expect_named(elu(x, 0.5), "elu(alpha=0.5)", {x});
}

TEST(Activation, KeepsNanAndSaturatesAtInfinity) {
  Graph g;
  Tensor x = vector(g, {NAN, kInf, -kInf});
  expect_values(relu(x), {NAN, kInf, 0});
  expect_values(leaky_relu(x), {NAN, kInf, -kInf});
  expect_values(sigmoid(x), {NAN, 1, 0});
  expect_values(softplus(x), {NAN, kInf, 0});
  expect_values(elu(x, 2), {NAN, kInf, -2});
  for (const Case& c : kCases) {
    EXPECT_TRUE(std::isnan(test::numbers(c.function(x))[0])) << c.definition;
    EXPECT_TRUE(test::numbers(c.function(x))[1] >= 1) << c.definition;
  }
}

TEST(Activation, LargeFiniteArgumentsDoNotOverflow) {
  Graph g;
  Tensor x = vector(g, {1e30, -1e30});
  for (auto function : {silu, gelu, gelu_tanh, hardswish, mish})
    expect_values(function(x), {1e30f, 0}, 1e-6);
  expect_values(sigmoid(x), {1, 0});
}

TEST(Activation, ReluKeepsIntegersAndOthersMakeF32) {
  Graph g;
  Tensor x = vector(g, {-3, 4}, i8);
  expect_type(relu(x), "i8[2]");
  expect_values(relu(x), {0, 4});
  expect_type(sigmoid(x), "f32[2]");
  expect_values(relu(vector(g, {0, 200}, u8)), {0, 200});
}

TEST(Activation, WorksOnScalarsAndEmptyTensors) {
  Graph g;
  expect_values(gelu(g.constant(0.0)), {0});
  expect_values(silu(g.constant(Array(f16, {0, 3}))), {});
}

}  // namespace
}  // namespace luminal
