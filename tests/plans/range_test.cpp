// Values near the ends of f32: what the interpreter finds finite and not zero is neither infinite
// nor zero in compiled programs, whatever was moved out of sums.
#include <gtest/gtest.h>

#include <cmath>

#include "luminal/luminal.h"

namespace luminal::test {
namespace {

/// Numbers from one to four times `size`.
Array sized(const graph::Extents& extents, double size) {
  Array array(f32, extents);
  for (int64_t k = 0; k < array.size(); ++k)
    array.set(k, Scalar::of(f32, size * (1 + static_cast<double>(k * 5 % 13) / 4)));
  return array;
}

struct Operand {
  Tensor tensor;
  Array value;
};

void expect_as_interpreted(const Graph& g, const Tensor& y, const std::vector<Operand>& operands) {
  std::vector<std::vector<float>> results;
  for (const Backend backend : {Backend::kInterpreter, Backend::kCpu}) {
    Executable exe = compile(g, {y}, {.backend = backend});
    for (const Operand& operand : operands) exe.set(operand.tensor, operand.value);
    exe.run();
    results.push_back(exe.get<float>(y));
  }
  for (size_t k = 0; k < results[0].size(); ++k) {
    const float expected = results[0][k];
    ASSERT_TRUE(std::isfinite(expected) && expected != 0) << "a test of nothing: " << expected;
    EXPECT_LE(std::abs(results[1][k] / expected - 1), 1e-4)
        << results[1][k] << " for " << expected << " at " << k;
  }
}

TEST(Range, ANormThatScalesByTheLargestElementNeitherOverflowsNorVanishes) {
  for (const double size : {1e30, 1e-30, 1.0}) {
    Graph g;
    Tensor x = g.input("x", {3, 4});
    Tensor largest = max(abs(x), 1, true);
    Tensor norm = largest * sqrt(sum(square(x / largest), 1, true));
    expect_as_interpreted(g, norm, {{x, sized({3, 4}, size)}});
  }
}

TEST(Range, FactorsStayInSumsThatTheyKeepSmall) {
  Graph g;
  Tensor x = g.input("x", {3, 16}), c = g.input("c", {3, 1});
  const Array huge = sized({3, 16}, 3e37), tiny = sized({3, 1}, 1e-6);
  expect_as_interpreted(g, sum(x * 0.01, 1), {{x, huge}});
  expect_as_interpreted(g, sum(x / 1000.0, 1), {{x, huge}});
  expect_as_interpreted(g, sum(x * c, 1), {{x, huge}, {c, tiny}});
  expect_as_interpreted(g, sum(square(x * 1e-20), 1), {{x, sized({3, 16}, 1e25)}});
  expect_as_interpreted(g, sum(square(x * 1e20), 1), {{x, sized({3, 16}, 1e-28)}});
}

TEST(Range, CountsOfNarrowSumsAreNotNarrow) {
  for (const DType dtype : {f16, bf16, f8e5m2}) {
    Graph g;
    Tensor x = g.input("x", {4, 1}, dtype);
    Tensor y = cast(sum(expand(x, {4, 65536}), 1), f32);
    expect_as_interpreted(g, y, {{x, sized({4, 1}, 0.0078125).cast(dtype)}});
  }
}

TEST(Range, PartsOfALongNarrowSumAreNotNarrow) {
  Graph g;
  Tensor x = g.input("x", {1 << 16}, f16);
  Array halves(f16, {1 << 16});  // of both signs, and 1 more
  for (int64_t k = 0; k < halves.size(); ++k)
    halves.set(k, Scalar::of(f16, k == 5 ? 2001 : 2 * k < halves.size() ? 2000 : -2000));
  expect_as_interpreted(g, cast(sum(x, 0), f32), {{x, halves}});
}

TEST(Range, ExponentialsAboveTheMaximumOfOtherValuesAreWhatTheyAre) {
  for (const int64_t columns : {5, 16, 40}) {
    Graph g;
    Tensor x = g.input("x", {2, columns}), z = g.input("z", {2, columns});
    Tensor m = max(z, 1, true);
    Tensor total = sum(exp(z - m), 1, true);
    expect_as_interpreted(g, exp(x - m) / total,
                          {{x, sized({2, columns}, 20)}, {z, sized({2, columns}, 0.5)}});
    Array infinite = sized({2, columns}, INFINITY);
    Executable exe = compile(g, {exp(x - m) / total});
    exe.set(x, infinite);
    exe.set(z, sized({2, columns}, 0.5));
    exe.run();
    for (const float value : exe.get<float>(exe.output(0))) EXPECT_EQ(value, INFINITY);
  }
}

TEST(Range, FactorsStayInProductsThatTheyKeepSmall) {
  Graph g;
  Tensor x = g.input("x", {5, 32}), w = g.input("w", {32, 24}), c = g.input("c", {5, 1});
  const Array large = sized({5, 32}, 1e30), few = sized({5, 32}, 1e-30);
  const Array weights = sized({32, 24}, 1e8), small = sized({32, 24}, 1e-16);
  expect_as_interpreted(g, matmul(x / 1000.0, w), {{x, large}, {w, weights}});
  expect_as_interpreted(g, matmul(x * c, w), {{x, large}, {w, weights}, {c, sized({5, 1}, 1e-9)}});
  expect_as_interpreted(g, matmul(x * c, w), {{x, few}, {w, small}, {c, sized({5, 1}, 1e20)}});
  // A number that follows the product enters it only if no operand leaves its range by that.
  expect_as_interpreted(g, matmul(x, w) * 1e10, {{x, large}, {w, sized({32, 24}, 1e-20)}});
  expect_as_interpreted(g, matmul(x, w) * 1e-20, {{x, few}, {w, weights}});
}

TEST(Range, NormalisedRowsMayBeOfAnySize) {
  for (const double size : {1e15, 1e-15}) {
    Graph g;
    Tensor x = g.input("x", {6, 32}), w = g.input("w", {32, 24});
    Tensor unit = x / sqrt(sum(square(x), 1, true));
    expect_as_interpreted(g, matmul(unit, transpose(unit)), {{x, sized({6, 32}, size)}});
    for (const double epsilon : {1e-30, 1e-5}) {
      Tensor row = rms_norm(x, {}, epsilon);
      expect_as_interpreted(g, matmul(row, w),
                            {{x, sized({6, 32}, size)}, {w, sized({32, 24}, size)}});
      expect_as_interpreted(g, matmul(row, transpose(row)), {{x, sized({6, 32}, size)}});
    }
  }
}

TEST(Range, WeightsOfASoftmaxAddUpToOneForLargeValues) {
  // As large as documented: the number of keys below the largest float.
  Graph g;
  Tensor q = g.input("q", {16, 8}), k = g.input("k", {48, 8}), v = g.input("v", {48, 8});
  Tensor y = matmul(softmax(matmul(q, transpose(k))), v);
  for (const double size : {1e36, 1e-36})
    expect_as_interpreted(
        g, y, {{q, sized({16, 8}, 0.1)}, {k, sized({48, 8}, 0.1)}, {v, sized({48, 8}, size)}});
}

TEST(Range, ScalesOfQuantisedWeightsMayBeOfAnySize) {
  Graph g;
  Tensor x = g.input("x", {2, 64}), q = g.input("q", {24, 4, 16}, i8);
  Tensor scale = g.input("scale", {24, 4, 1});
  Tensor y = matmul(x, transpose(merge_dims(cast(q, f32) * scale, 1, 2)));
  Array codes(i8, {24, 4, 16});
  for (int64_t k = 0; k < codes.size(); ++k) codes.set(k, Scalar::of(i8, 1 + k * 7 % 127));
  for (const double size : {1e33, 1e-33})
    expect_as_interpreted(
        g, y, {{x, sized({2, 64}, size)}, {q, codes}, {scale, sized({24, 4, 1}, 1 / size)}});
}

}  // namespace
}  // namespace luminal::test
