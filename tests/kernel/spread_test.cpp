// Sums and the squares around their mean in one pass: the same values as in two, whatever the guess
// of the mean is worth.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "luminal/kernel/derive.h"
#include "luminal/kernel/nest.h"
#include "luminal/kernel/verify.h"
#include "luminal/luminal.h"

namespace luminal {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A row of which the guess is good, one of one value, one that rises, one whose guess is far from
/// the mean, and rows with what is no number, large or tiny.
std::vector<float> rows_of(int64_t width) {
  std::vector<float> values;
  const auto add = [&](auto&& value) {
    for (int64_t k = 0; k < width; ++k) values.push_back(static_cast<float>(value(k)));
  };
  const auto noise = [](int64_t k) { return static_cast<double>(k * 7919 % 1009) / 504.5 - 1; };
  const int64_t sampled = width / 16;  // the first of the values that are guessed by
  add(noise);
  add([](int64_t) { return 0.1; });
  add([&](int64_t k) { return 1e-3 * static_cast<double>(k) - 5; });
  add([&](int64_t k) { return 300 + noise(k); });
  add([&](int64_t k) { return k == sampled ? 1e6 : noise(k); });
  add([&](int64_t k) { return k == sampled + 1 ? 1e6 : noise(k); });
  add([&](int64_t k) { return k == sampled ? kInfinity : noise(k); });
  add([&](int64_t k) { return k == 1 ? -kInfinity : noise(k); });
  add([&](int64_t k) { return k == 2 ? std::nan("") : noise(k); });
  add([&](int64_t k) { return 1e15 * noise(k); });
  add([&](int64_t k) { return 1e25 * noise(k); });
  add([&](int64_t k) { return 1e-25 * noise(k); });
  add([](int64_t) { return 0.0; });
  return values;
}

kernel::Nest nest_of(kernel::Arena& arena, const Tensor& result) {
  graph::Graph ir = result.graph().ir();
  ir.add_output("y", result.edge());
  const kernel::GraphProgram program(ir);
  const kernel::Cut cut = kernel::smallest_cut(program, *kernel::topological_order(program));
  const auto derived = kernel::derive(arena, program, cut, program.output(0));
  return build_nest(arena, std::get<kernel::Kernel>(derived), {.online = false, .spreads = true});
}

bool has_shortcut(const std::vector<kernel::Statement>& block) {
  return std::any_of(block.begin(), block.end(), [](const kernel::Statement& each) {
    return each.kind == kernel::StatementKind::kUnless ||
           (each.kind == kernel::StatementKind::kLoop && has_shortcut(each.body));
  });
}

TEST(Spread, RowsOfAKnownLengthHaveOnePass) {
  Graph g;
  const auto has = [](const Tensor& y) {
    kernel::Arena arena;
    const kernel::Nest nest = nest_of(arena, y);
    EXPECT_EQ(problems(arena, nest), std::vector<std::string>{}) << to_string(arena, nest);
    return has_shortcut(nest.body);
  };
  EXPECT_TRUE(has(layer_norm(g.input("x", {4, 1024}))));
  EXPECT_TRUE(has(layer_norm(g.input("x64", {4, 1000}, f64))));
  EXPECT_TRUE(has(layer_norm(exp(g.input("z", {2, 3, 768})))));
  EXPECT_FALSE(has(layer_norm(g.input("short", {4, 512}))));
  EXPECT_FALSE(has(layer_norm(g.input("any", {4, g.dim("n", 1, 4096)}))));
  EXPECT_FALSE(has(rms_norm(g.input("u", {4, 1024}))));
  EXPECT_FALSE(has(softmax(g.input("v", {4, 1024}))));
  const auto times_squares = [](const Tensor& y) { return y * sum(y * y, -1, true); };
  // Squares around something that is not the mean of what is squared.
  const Tensor x = g.input("w", {4, 1024});
  const Tensor half = x - sum(x, -1, true) * (0.5 / 1024);
  EXPECT_FALSE(has(times_squares(half)));
  // A mean whose factor is not 1 / n as its dtype has it.
  const Tensor wide = g.input("wide", {4, 768}, f64);
  const Tensor about = wide - sum(wide, -1, true) * 0.001302083;
  EXPECT_FALSE(has(times_squares(about)));
  const Tensor exact = wide - sum(wide, -1, true) * (1.0 / 768);
  EXPECT_TRUE(has(times_squares(exact)));
  const Tensor other = exp(x) - mean(x, -1, true);
  EXPECT_FALSE(has(times_squares(other)));
}

/// What the interpreter gives.
Array expected_of(Graph& g, const Tensor& x, const Tensor& y, const Array& data) {
  Executable oracle = compile(g, {y}, {.backend = Backend::kInterpreter});
  oracle.set(x, data);
  oracle.run();
  return oracle.get(y);
}

void expect_close(const Array& actual, const Array& expected, double allowed) {
  for (int64_t k = 0; k < expected.size(); ++k) {
    const double want = expected.at(k).as_double();
    const double have = actual.at(k).as_double();
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(have)) << k << " is " << have;
    else if (std::isinf(want))
      ASSERT_EQ(have, want) << k;
    else
      ASSERT_NEAR(have, want, allowed * (1 + std::abs(want))) << k;
  }
}

constexpr int64_t kRows = 13;

TEST(Spread, TheReferenceTakesBothWaysToTheSameValues) {
  constexpr int64_t kWidth = 800;
  Graph g;
  const Tensor x = g.input("x", {kRows, kWidth});
  const Tensor y = layer_norm(x);
  kernel::Arena arena;
  const kernel::Nest nest = nest_of(arena, y);
  ASSERT_TRUE(has_shortcut(nest.body)) << to_string(arena, nest);
  const Array data = Array::from<float>(f32, {kRows, kWidth}, rows_of(kWidth));
  kernel::Tensors tensors;
  const graph::Graph& ir = x.graph().ir();
  for (uint32_t k = 0; k < static_cast<uint32_t>(ir.size()); ++k)
    if (ir.node({k}).op == graph::Op::kInput) tensors.emplace(graph::NodeId{k}, data);
  run_nest(arena, nest, {}, tensors);
  expect_close(tensors.at(nest.kernel.roots[0].tensor), expected_of(g, x, y, data), 1e-4);
}

TEST(Spread, NativeCodeTakesBothWaysToTheSameValues) {
  for (const DType dtype : {f32, f64})
    for (const int64_t width : {768, 1003, 4096}) {
      SCOPED_TRACE(fmt::format("{} {}", graph::name(dtype), width));
      Graph g;
      const Tensor x = g.input("x", {kRows, width}, dtype);
      const Array data = Array::from<float>(f32, {kRows, width}, rows_of(width)).cast(dtype);
      // Each of the sums by itself, too.
      const Tensor around = x - mean(x, -1, true);
      for (const Tensor& y : {layer_norm(x), layer_norm(x, x, x), mean(x, -1),
                              mean(x, -1) + mean(around * around, -1)}) {
        Executable exe = compile(g, {y});
        exe.set(x, data);
        exe.run();
        expect_close(exe.get(y), expected_of(g, x, y, data), dtype == f32 ? 1e-4 : 1e-9);
      }
    }
}

TEST(Spread, NoDigitsAreLostFarFromZero) {
  constexpr int64_t kWidth = 4096;
  Graph g;
  const Tensor x = g.input("x", {kRows, kWidth});
  const Tensor around = x - mean(x, -1, true);
  const Tensor y = concat({mean(x, -1), sum(around * around, -1)}, 0);
  const std::vector<float> values = rows_of(kWidth);
  Executable exe = compile(g, {y});
  exe.set(x, Array::from<float>(f32, {kRows, kWidth}, values));
  exe.run();
  constexpr int64_t kFarRow = 3;  // around 300
  double sum = 0, squares = 0;
  for (int64_t k = 0; k < kWidth; ++k) sum += values[static_cast<size_t>(kFarRow * kWidth + k)];
  const double mean = sum / kWidth;
  for (int64_t k = 0; k < kWidth; ++k)
    squares += std::pow(values[static_cast<size_t>(kFarRow * kWidth + k)] - mean, 2);
  EXPECT_NEAR(exe.get(y).at(kFarRow).as_double(), mean, 1e-6 * mean);
  EXPECT_NEAR(exe.get(y).at(kRows + kFarRow).as_double(), squares, 1e-6 * squares);
}

}  // namespace
}  // namespace luminal
