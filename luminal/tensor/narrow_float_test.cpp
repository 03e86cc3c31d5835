// Functions of bf16 as compiled code, on every bf16 there is: what the documents promise of them
// (docs/kernels.md), for every kind of processor whose code runs here.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "luminal/tensor/activation.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/executable.h"
#include "luminal/tensor/math.h"
#include "luminal/tensor/normalization.h"
#include "luminal/tensor/reduction.h"

namespace luminal {
namespace {

constexpr int64_t kCount = 65536;

/// All of bf16, in the order of their bits.
Array every_bf16() {
  Array result(bf16, {kCount});
  for (int64_t i = 0; i < kCount; ++i) {
    const auto bits = static_cast<uint16_t>(i);
    std::memcpy(result.mutable_bytes().data() + 2 * i, &bits, sizeof bits);
  }
  return result;
}

std::vector<float> values_of(const Array& array) {
  const Array wide = array.cast(f32);
  std::vector<float> result(static_cast<size_t>(kCount));
  std::memcpy(result.data(), wide.bytes().data(), result.size() * sizeof(float));
  return result;
}

/// The distance between the bf16 around a value.
double unit_of(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, std::max(exponent - 8, -133));
}

/// Whether 2^-12 of the exact value, one rounding and what else is known explain a result.
bool is_near(float result, double exact, double more = 0) {
  if (std::isnan(exact) || std::isnan(result)) return std::isnan(exact) == std::isnan(result);
  if (std::isinf(exact) || std::isinf(result))
    return static_cast<double>(result) == exact || std::fabs(exact) > 0x1.fep127;
  return std::fabs(result - exact) <= 0x1p-12 * std::fabs(exact) + unit_of(exact) / 2 + more;
}

/// How far x/2 times a gate may be off where all that is known of the gate is how far it may be.
/// Far below 0 gates are 0.
double by_gate(double x) { return x < 0 && x > -16 ? 2e-7 * std::fabs(x) / 2 : 0; }

/// Those that stand for the forms of code there are, as far as this machine runs them.
std::vector<codegen::CpuTarget> targets() {
  std::vector<codegen::CpuTarget> result = {codegen::host_target()};
  for (const std::string_view name : codegen::cpu_target_names())
    if (codegen::runs_here(codegen::cpu_target(name))) result.push_back(codegen::cpu_target(name));
  return result;
}

std::vector<float> results_of(const codegen::CpuTarget& target,
                              const std::function<Tensor(const Tensor&)>& function) {
  Graph g;
  const Tensor x = g.input("x", {kCount}, bf16);
  const Tensor y = function(x);
  Executable exe = compile(g, {y}, {.compiler = {.target = target}});
  exe.set(x, every_bf16());
  exe.run();
  return values_of(exe.get(y));
}

TEST(NarrowFloats, GeluIsRightOnEveryBf16) {
  const std::vector<float> inputs = values_of(every_bf16());
  for (const codegen::CpuTarget& target : targets()) {
    SCOPED_TRACE(target.name);
    const auto by_erf = results_of(target, [](const Tensor& x) { return gelu(x); });
    const auto by_tanh = results_of(target, [](const Tensor& x) { return gelu_tanh(x); });
    for (size_t i = 0; i < inputs.size(); ++i) {
      const double x = inputs[i];
      const double exact =
          std::isinf(x) && x < 0 ? std::nan("") : x * std::erfc(-x / std::sqrt(2)) / 2;
      // Without fma gates are sums of 1 and what the C library gives. With it fewer digits are
      // promised below -4.8 only, where the result is 4e-6.
      const double near_gate = target.has_fma() ? 0 : by_gate(x);
      ASSERT_TRUE(is_near(by_erf[i], exact, x < -4.8 ? by_gate(x) : near_gate))
          << "gelu of " << x << " gives " << by_erf[i] << " instead of " << exact;
      const double u = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
      const double smooth = std::isinf(x) && x < 0 ? std::nan("") : x / (1 + std::exp(-2 * u));
      ASSERT_TRUE(is_near(by_tanh[i], smooth, near_gate) || std::fabs(smooth) < 1e-33)
          << "gelu_tanh of " << x << " gives " << by_tanh[i] << " instead of " << smooth;
    }
  }
}

TEST(NarrowFloats, AbsoluteValuesAndRootsAreRightOnEveryBf16) {
  const std::vector<float> inputs = values_of(every_bf16());
  for (const codegen::CpuTarget& target : targets()) {
    SCOPED_TRACE(target.name);
    const auto roots = results_of(target, [](const Tensor& x) { return sqrt(abs(x)); });
    const auto magnitudes = results_of(target, [](const Tensor& x) { return abs(x); });
    for (size_t i = 0; i < inputs.size(); ++i) {
      const double x = std::fabs(inputs[i]);
      ASSERT_TRUE(is_near(roots[i], std::sqrt(x))) << inputs[i] << " gives " << roots[i];
      if (!std::isnan(x)) {
        ASSERT_EQ(magnitudes[i], x);
        ASSERT_FALSE(std::signbit(magnitudes[i]));
      }
    }
  }
}

/// Rows whose largest element stands out by 0, 0.5, 1, ...
Array peaked_rows(int64_t rows, int64_t columns) {
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t row = i / columns;
    values[static_cast<size_t>(i)] =
        i % columns == row * 7 % columns
            ? static_cast<float>(row) / 2
            : static_cast<float>(static_cast<double>(i * 37 % 101) / 101 - 1);
  }
  return Array::from<float>(f32, {rows, columns}, values).cast(bf16);
}

TEST(NarrowFloats, SoftmaxAndItsLogarithmKeepTheDigitsOfBf16) {
  constexpr int64_t kRows = 48;
  constexpr int64_t kColumns = 300;
  Graph g;
  const Tensor x = g.input("x", {kRows, kColumns}, bf16);
  const Tensor shares = softmax(x);
  const Tensor logs = log_softmax(x);
  const Array data = peaked_rows(kRows, kColumns);
  Executable first = compile(g, {shares});
  Executable second = compile(g, {logs});
  for (Executable* exe : {&first, &second}) {
    exe->set(x, data);
    exe->run();
  }
  const Array wide = data.cast(f32);
  const Array share_values = first.get(shares).cast(f32);
  const Array log_values = second.get(logs).cast(f32);
  const auto element = [](const Array& array, int64_t i) {
    float value = 0;
    std::memcpy(&value, array.bytes().data() + 4 * i, sizeof value);
    return value;
  };
  for (int64_t row = 0; row < kRows; ++row) {
    double most = -1e300;
    double total = 0;
    for (int64_t i = 0; i < kColumns; ++i)
      most = std::max(most, double{element(wide, row * kColumns + i)});
    for (int64_t i = 0; i < kColumns; ++i)
      total += std::exp(element(wide, row * kColumns + i) - most);
    for (int64_t i = row * kColumns; i < (row + 1) * kColumns; ++i) {
      const double difference = element(wide, i) - most;
      ASSERT_TRUE(is_near(element(share_values, i), std::exp(difference) / total))
          << "row " << row << ": " << element(share_values, i);
      // log(1 + rest) where one element is nearly all there is.
      double rest = 0;
      if (difference == 0)
        for (int64_t k = row * kColumns; k < (row + 1) * kColumns; ++k)
          if (k != i) rest += std::exp(element(wide, k) - most);
      const double exact = difference == 0 ? -std::log1p(rest) : difference - std::log(total);
      // Sums that are nearly 1 are f32.
      ASSERT_TRUE(is_near(element(log_values, i), exact, 0x1p-21))
          << "row " << row << ": " << element(log_values, i) << " instead of " << exact;
    }
  }
}

TEST(NarrowFloats, ResultsBesideThemHaveAllTheirDigits) {
  // Both are made of one kept row of exp.
  for (const DType narrow : {bf16, f8e4m3})
    for (const int64_t columns : {17, 64, 300}) {
      Graph g;
      const Tensor x = g.input("x", {45, columns});
      const Tensor powers = exp(x - max(x, -1, true));
      const Tensor shares = cast(powers / sum(powers, -1, true), narrow);
      Executable exe = compile(g, {powers, shares});
      Executable oracle = compile(g, {powers, shares}, {.backend = Backend::kInterpreter});
      std::vector<float> values(static_cast<size_t>(45 * columns));
      for (size_t k = 0; k < values.size(); ++k) values[k] = std::sin(static_cast<float>(k));
      for (Executable* each : {&exe, &oracle}) {
        each->set(x, values);
        each->run();
      }
      const std::vector<float> got = exe.get<float>(powers), expected = oracle.get<float>(powers);
      for (size_t k = 0; k < got.size(); ++k)
        ASSERT_NEAR(got[k] / expected[k], 1, 1e-6)
            << "at " << k << " beside " << graph::name(narrow);
    }
}

}  // namespace
}  // namespace luminal
