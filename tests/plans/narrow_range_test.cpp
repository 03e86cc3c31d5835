// What leaves the range of a dtype of eight bits on its way. f8e4m3 has no infinities: whatever is
// too large is the largest number, in the graph and in fused code, which computes in f32
// (docs/kernels.md). f8e5m2 has: fused code may be finite where the graph is not, and not
// otherwise.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "luminal/luminal.h"

namespace luminal {
namespace {

constexpr int64_t kRows = 24, kColumns = 40;

/// Of any size that the dtype has, zeros too; a row of each size, so that some leave it in sums.
Array values(DType dtype, int seed) {
  std::mt19937_64 random(static_cast<uint64_t>(seed));
  const auto below = [&](int count) {
    return static_cast<int>(random() % static_cast<uint64_t>(count));
  };
  std::vector<double> numbers;
  for (int64_t k = 0; k < kRows * kColumns; ++k) {
    const double size = std::ldexp(1.0 + below(8) / 8.0, below(16) - 7);
    const bool is_negative = (k / kColumns) % 2 == 0 && below(2) == 0;
    numbers.push_back(below(12) == 0 ? 0.0 : is_negative ? -size : size);
  }
  return Array::from<double>(dtype, {kRows, kColumns}, numbers);
}

using Write = std::function<Tensor(const Tensor& x)>;

/// Every one of these leaves the range for some elements and comes back.
const std::vector<std::pair<std::string, Write>>& cases() {
  static const std::vector<std::pair<std::string, Write>> all = {
      {"product", [](const Tensor& x) { return x * x * 0.03125F; }},
      {"sum", [](const Tensor& x) { return (x + x + x) * 0.25F; }},
      {"power", [](const Tensor& x) { return pow(abs(x), 3.0F) * 0.0625F; }},
      {"exponential", [](const Tensor& x) { return exp(x) * 0.125F; }},
      {"exponential of halves", [](const Tensor& x) { return exp2(x * 0.5F) * 0.125F; }},
      {"reciprocal of nothing", [](const Tensor& x) { return 1.0F / abs(x) * 0.25F; }},
      {"infinity times nothing", [](const Tensor& x) { return 1.0F / (x * 0.0F) * x; }},
      {"quotient", [](const Tensor& x) { return x / exp(-abs(x)) * 0.0625F; }},
      {"logarithm of nothing", [](const Tensor& x) { return log(abs(x)) * 0.25F; }},
      {"difference", [](const Tensor& x) { return (exp(x) - exp(x * 0.5F)) * 0.5F; }},
      {"in a wider float", [](const Tensor& x) { return cast(exp(x), DType::kF32) - 1.0F; }},
      {"unstable softmax", [](const Tensor& x) { return exp(x) / sum(exp(x), {1}, true); }},
      {"standardised",
       [](const Tensor& x) {
         const Tensor e = cast(exp(x), DType::kF32);
         const Tensor from = e - mean(e, {0}, true);
         return from / sqrt(mean(from * from, {0}, true) + 1.0F);
       }},
      {"sum of a row", [](const Tensor& x) { return sum(abs(x), {1}) * 0.125F; }},
      {"sum of columns", [](const Tensor& x) { return sum(abs(x), {0}) * 0.125F; }},
      {"largest", [](const Tensor& x) { return max(exp(x), {1}) * 0.25F; }},
      {"gate", [](const Tensor& x) { return silu(x * x) * 0.5F; }},
      {"product of matrices",
       [](const Tensor& x) { return matmul(abs(x), transpose(abs(x), 0, 1)) * 0.125F - 2.0F; }},
  };
  return all;
}

/// Whether both are the same but for what rounding the values in between costs.
bool is_near(double one, double other) {
  if (std::isnan(one) || std::isnan(other)) return std::isnan(one) == std::isnan(other);
  if (std::isinf(one) || std::isinf(other)) return one == other;
  constexpr double kPart = 0.3;
  return std::abs(one - other) <= kPart * std::max(std::abs(one), std::abs(other)) + 0.3;
}

struct Results {
  Array fused;
  Array written;
};

Results results_of(const Write& write, DType dtype, int seed) {
  Graph g;
  const Tensor y = write(g.input("x", {kRows, kColumns}, dtype));
  const auto run = [&](Backend backend) {
    Executable exe = compile(g, {y}, {.backend = backend});
    exe.set("x", values(dtype, seed));
    exe.run();
    return exe.get(y);
  };
  return {run(Backend::kCpu), run(Backend::kInterpreter)};
}

TEST(NarrowRange, WhatHasNoInfinitiesEndsWhereTheGraphDoes) {
  for (const auto& [name, write] : cases())
    for (int seed = 1; seed <= 4; ++seed) {
      const Results results = results_of(write, DType::kF8E4M3, seed);
      for (int64_t i = 0; i < results.written.size(); ++i)
        ASSERT_TRUE(is_near(results.fused.at(i).as_double(), results.written.at(i).as_double()))
            << name << ", seed " << seed << ", element " << i << ": "
            << results.fused.at(i).to_string() << ", the interpreter says "
            << results.written.at(i).to_string();
    }
}

TEST(NarrowRange, WhatHasInfinitiesIsFiniteWhereTheGraphIs) {
  for (const auto& [name, write] : cases())
    for (int seed = 1; seed <= 4; ++seed) {
      const Results results = results_of(write, DType::kF8E5M2, seed);
      for (int64_t i = 0; i < results.written.size(); ++i) {
        const double written = results.written.at(i).as_double();
        // A number that is divided by infinity is 0, and what it was divided by may be a number.
        if (!std::isfinite(written) || written == 0.0) continue;
        ASSERT_TRUE(std::isfinite(results.fused.at(i).as_double()))
            << name << ", seed " << seed << ", element " << i << ", the interpreter says "
            << written;
      }
    }
}

}  // namespace
}  // namespace luminal
