#include "luminal/tensor/math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::expect_error;
using test::expect_integers;
using test::expect_named;
using test::expect_type;
using test::expect_values;
using test::vector;

constexpr double kInf = INFINITY;

/// A function of the library beside the C library's.
struct Case {
  const char* name;
  Tensor (*function)(const Tensor&);
  double (*reference)(double);
  double low, high;
};

const std::vector<Case> kCases{
    {"recip", recip, [](double x) { return 1 / x; }, -5, 5},
    {"square", square, [](double x) { return x * x; }, -5, 5},
    {"sqrt", sqrt, std::sqrt, 0, 50},
    {"rsqrt", rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.01, 50},
    {"exp", exp, std::exp, -80, 80},
    {"exp2", exp2, std::exp2, -100, 100},
    {"expm1", expm1, std::expm1, -10, 88.5},
    {"log", log, std::log, 1e-6, 1e6},
    {"log2", log2, std::log2, 1e-6, 1e6},
    {"log1p", log1p, std::log1p, -0.99, 100},
    {"sin", sin, std::sin, -1000, 1000},
    {"cos", cos, std::cos, -1000, 1000},
    {"tan", tan, std::tan, -1.5, 1.5},
    {"asin", asin, std::asin, -1, 1},
    {"acos", acos, std::acos, -1, 1},
    {"atan", atan, std::atan, -100, 100},
    {"sinh", sinh, std::sinh, -88, 88},
    {"cosh", cosh, std::cosh, -88, 88},
    {"tanh", tanh, std::tanh, -10, 10},
    {"erf", erf, std::erf, -4, 4},
};

/// How far from the reference a result may be, relative to the larger of 1e-3 and the value.
void expect_close(const Case& c, DType dtype, double tolerance) {
  Graph g;
  const Array input = test::array(dtype, {200}, test::scattered(200, 7, c.low, c.high));
  const std::vector<double> x = input.to_vector<double>();
  const std::vector<double> y = test::numbers(c.function(g.constant(input)));
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = c.reference(x[i]);
    EXPECT_LE(std::abs(y[i] - expected), tolerance * std::max(1e-3, std::abs(expected)))
        << c.name << "(" << x[i] << ") is " << y[i] << ", expected " << expected;
  }
}

TEST(Math, FollowsTheCLibraryInF32AndF64) {
  for (const Case& c : kCases) {
    expect_close(c, f32, 2e-6);
    expect_close(c, f64, 4e-15);
  }
}

TEST(Math, NarrowFloatsRoundOnce) {
  Graph g;
  for (const Case& c : kCases)
    for (DType dtype : {f16, bf16}) {
      const Array input = test::array(
          dtype, {50}, test::scattered(50, 3, std::max(c.low, -8.0), std::min(c.high, 8.0)));
      // What is exact in f64 and rounded twice differs by one unit at most, where f32 lies on a
      // tie.
      const std::vector<double> y = test::numbers(c.function(g.constant(input)));
      const std::vector<double> x = input.to_vector<double>();
      for (size_t i = 0; i < x.size(); ++i) {
        const float wide = static_cast<float>(c.reference(x[i]));
        const double down = Scalar::of(dtype, static_cast<double>(wide) * (1 - 1e-6)).as_double();
        const double up = Scalar::of(dtype, static_cast<double>(wide) * (1 + 1e-6)).as_double();
        EXPECT_TRUE(y[i] == down || y[i] == up || std::abs(y[i] - static_cast<double>(wide)) < 1e-7)
            << c.name << "(" << x[i] << ") is " << y[i] << ", expected " << wide;
      }
    }
}

TEST(Math, IntegersBecomeF32) {
  Graph g;
  for (const Case& c : kCases) {
    if (std::string(c.name) == "square") continue;
    Tensor y = c.function(vector(g, {1, 1}, i8));
    expect_type(y, "f32[2]");
    expect_values(y, {c.reference(1), c.reference(1)}, 1e-6);
  }
  expect_type(square(vector(g, {3}, i8)), "i8[1]");
  expect_type(sqrt(vector(g, {1}, boolean)), "f32[1]");
}

TEST(Math, SpecialValues) {
  Graph g;
  Tensor x = vector(g, {0.0, -0.0, kInf, -kInf, NAN});
  expect_values(recip(x), {kInf, -kInf, 0, 0, NAN});
  expect_values(sqrt(x), {0, 0, kInf, NAN, NAN});
  expect_values(rsqrt(x), {kInf, -kInf, 0, NAN, NAN});
  expect_values(exp(x), {1, 1, kInf, 0, NAN});
  expect_values(expm1(x), {0, 0, kInf, -1, NAN});
  expect_values(log(x), {-kInf, -kInf, kInf, NAN, NAN});
  expect_values(log2(x), {-kInf, -kInf, kInf, NAN, NAN});
  expect_values(log1p(x), {0, 0, kInf, NAN, NAN});
  expect_values(log1p(vector(g, {-1, -1.5})), {-kInf, NAN});
  expect_values(sin(x), {0, 0, NAN, NAN, NAN});
  expect_values(cos(x), {1, 1, NAN, NAN, NAN});
  expect_values(tan(x), {0, 0, NAN, NAN, NAN});
  expect_values(tanh(x), {0, 0, 1, -1, NAN});
  expect_values(sinh(x), {0, 0, kInf, -kInf, NAN});
  expect_values(cosh(x), {1, 1, kInf, kInf, NAN});
  expect_values(erf(x), {0, 0, 1, -1, NAN});
  expect_values(atan(x), {0, 0, M_PI_2, -M_PI_2, NAN}, 1e-6);
  expect_values(asin(vector(g, {1, -1, 1.5, kInf, NAN})), {M_PI_2, -M_PI_2, NAN, NAN, NAN}, 1e-6);
  expect_values(acos(vector(g, {1, -1, 1.5, -1.5, kInf, -kInf})), {0, M_PI, NAN, NAN, NAN, NAN},
                1e-6);
}

TEST(Math, OddFunctionsKeepMinusZero) {
  Graph g;
  Tensor x = vector(g, {-0.0});
  for (auto function :
       {sqrt, expm1, log1p, sin, tan, asin, atan, sinh, tanh, erf, floor, ceil, round, trunc, neg})
    EXPECT_EQ(std::signbit(test::numbers(function(x))[0]), function != neg);
  EXPECT_FALSE(std::signbit(test::numbers(abs(x))[0]));
}

TEST(Math, IsAccurateNearZero) {
  Graph g;
  const std::vector<double> tiny{1e-10, -1e-10, 1e-30, 3e-4};
  for (auto function : {expm1, log1p, sinh, asin, tan})
    for (DType dtype : {f32, f64}) {
      const std::vector<double> y = test::numbers(function(vector(g, tiny, dtype)));
      for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(y[i] / tiny[i], 1, 1e-6);
      EXPECT_NEAR(y[3] / tiny[3], 1, 2e-4);
    }
}

TEST(Math, OverflowsNoEarlierThanTheResultDoes) {
  Graph g;
  expect_values(expm1(vector(g, {88.0, 88.7})), {std::expm1(88.0), std::expm1(88.7f)}, 1e-6);
  expect_values(log1p(vector(g, {1e38, 3e38})), {std::log1p(1e38), std::log1p(3e38)}, 1e-6);
  expect_values(sinh(vector(g, {89.0, -89.0})), {std::sinh(89.0), -std::sinh(89.0)}, 1e-5);
  expect_values(cosh(vector(g, {89.0})), {std::cosh(89.0)}, 1e-5);
  expect_values(expm1(vector(g, {709.0}, f64)), {std::expm1(709.0)}, 1e-14);
}

TEST(Math, AbsAndSignOfEveryKind) {
  Graph g;
  expect_values(abs(vector(g, {-1.5, 2, -kInf, NAN})), {1.5, 2, kInf, NAN});
  expect_values(abs(vector(g, {-128, 127, -1}, i8)), {-128, 127, 1});
  expect_values(abs(vector(g, {200}, u8)), {200});
  expect_values(abs(vector(g, {-2, 448}, f8e4m3)), {2, 448});
  expect_values(sign(vector(g, {-1.5, 0, 7, NAN, -kInf})), {-1, 0, 1, NAN, -1});
  expect_values(sign(vector(g, {-128, 0, 5}, i8)), {-1, 0, 1});
  expect_values(sign(vector(g, {0, 200}, u8)), {0, 1});
  expect_type(sign(vector(g, {0, 200}, u8)), "u8[2]");
  expect_integers(neg(g.constant(test::integers(i64, {std::numeric_limits<int64_t>::min(), 3}))),
                  {std::numeric_limits<int64_t>::min(), -3});
}

TEST(Math, RoundingFunctions) {
  Graph g;
  Tensor x = vector(g, {-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4, -2.6, kInf, NAN, 1e30});
  expect_values(floor(x), {-3, -2, -1, 0, 1, 2, 2, -3, kInf, NAN, 1e30f});
  expect_values(ceil(x), {-2, -1, 0, 1, 2, 3, 3, -2, kInf, NAN, 1e30f});
  expect_values(round(x), {-2, -2, 0, 0, 2, 2, 2, -3, kInf, NAN, 1e30f});
  expect_values(trunc(x), {-2, -1, 0, 0, 1, 2, 2, -2, kInf, NAN, 1e30f});
  for (auto function : {floor, ceil, round, trunc}) {
    Tensor i = vector(g, {7, -3}, i16);
    EXPECT_TRUE(function(i).is(i));
  }
}

TEST(Math, ClassifiesSpecialValuesOfEveryFloat) {
  Graph g;
  for (DType dtype : {f64, f32, f16, bf16, f8e5m2}) {
    Tensor x = vector(g, {0, kInf, -kInf, NAN, -1}, dtype);
    expect_values(isnan(x), {0, 0, 0, 1, 0});
    expect_values(isinf(x), {0, 1, 1, 0, 0});
    expect_values(isfinite(x), {1, 0, 0, 0, 1});
  }
  Tensor saturated = vector(g, {kInf, NAN, 1}, f8e4m3);  // has no infinity: 448
  expect_values(isnan(saturated), {0, 1, 0});
  expect_values(isinf(saturated), {0, 0, 0});
  expect_values(isfinite(saturated), {1, 0, 1});
  expect_values(isnan(vector(g, {1, 2}, i32)), {0, 0});
  expect_values(isfinite(vector(g, {1}, boolean)), {1});
  expect_type(isinf(vector(g, {1}, u8)), "bool[1]");
}

TEST(Math, ComposedFunctionsAreRecorded) {
  Graph g;
  Tensor x = vector(g, {0.5}, f16);
  for (const char* name : {"expm1", "log1p", "tan", "asin", "acos", "sinh", "cosh", "rsqrt"})
    for (const Case& c : kCases)
      if (std::string(c.name) == name) expect_named(c.function(x), std::string(name) + "()", {x});
}

TEST(Math, WorksOnSymbolicAndEmptyShapes) {
  Graph g;
  Tensor x = g.input("x", {g.dim("n")});
  Tensor y = sinh(x);
  expect_type(y, "f32[n]");
  expect_values(test::run(y, {.inputs = {{"x", Array(f32, {0})}}}), {0}, {});
  expect_values(test::run(y, {.inputs = {{"x", Array(f32, {1})}}}), {1}, {0});
}

}  // namespace
}  // namespace luminal
