// Results of products that are padded or masked with zeros right away: the padding is part of the
// kernel, where the product is a value and not in memory.
#include <gtest/gtest.h>

#include "comparison.h"
#include "luminal/luminal.h"
#include "random.h"

namespace luminal::test {
namespace {

/// Compiles a graph of one output for this machine; results must be near the oracle's.
void expect_like_oracle(const Graph& g, const Tensor& result) {
  Executable native = compile(g, {result});
  Executable oracle = compile(g, {result}, {.backend = Backend::kInterpreter});
  Random random(5);
  for (const graph::NodeId id : g.ir().ids()) {
    const graph::Node& node = g.ir().node(id);
    if (node.op != graph::Op::kInput) continue;
    const std::string& name = node.attribute<graph::InputAttribute>().name;
    const graph::Extents extents = graph::evaluate_shape(node.type.shape, {});
    std::vector<float> values(static_cast<size_t>(graph::element_count(extents)));
    for (float& value : values) value = static_cast<float>(random.between(-16, 16)) / 16;
    const graph::Array data = graph::Array::from<float>(node.type.dtype, extents, values);
    native.set(name, data);
    oracle.set(name, data);
  }
  native.run();
  oracle.run();
  const double unit = result.dtype() == graph::DType::kBF16 ? 1e-2 : 1e-5;
  EXPECT_EQ(difference(native.get(result), oracle.get(result),
                       {.kind = Tolerance::Kind::kClose, .relative = unit, .absolute = unit}),
            std::nullopt);
}

class PaddedProducts : public testing::TestWithParam<std::tuple<int64_t, graph::DType>> {
 protected:
  int64_t rows() const { return std::get<0>(GetParam()); }
  graph::DType dtype() const { return std::get<1>(GetParam()); }

  Graph g_;
  Tensor x_ = g_.input("x", {rows(), 64}, dtype());
  Tensor w_ = g_.input("w", {64, 48}, dtype());
};

TEST_P(PaddedProducts, ArePaddedAlongEitherAxis) {
  expect_like_oracle(g_, pad(matmul(x_, w_), 0, {1, 2}));
  expect_like_oracle(g_, pad(matmul(x_, w_), 1, {3, 0}));
}

TEST_P(PaddedProducts, AreJoinedWithZeros) {
  expect_like_oracle(g_, concat({matmul(x_, w_), zeros(g_, {5, 48}, dtype())}, 0));
}

// Columns of the matrix come from several tensors by their position, which is no padding.
TEST_P(PaddedProducts, AreOfMatricesSideBySide) {
  Tensor given = g_.weight("given", {64, 48}, dtype());
  expect_like_oracle(g_, matmul(x_, concat({w_, w_ * 2.0}, 1)));
  expect_like_oracle(g_, concat({matmul(x_, given), matmul(x_, w_)}, 1));
  expect_like_oracle(g_, concat({matmul(x_, w_), matmul(x_, given)}, 1));
}

TEST_P(PaddedProducts, AreMaskedByPosition) {
  expect_like_oracle(g_, tril(matmul(x_, transpose(x_))));
  expect_like_oracle(g_, matmul(tril(matmul(x_, transpose(x_))), x_));  // causal linear attention
}

TEST_P(PaddedProducts, AreImagesOfPaddedConvolutions) {
  const Tensor image = reshape(matmul(x_, w_), {1, rows(), 6, 8});
  const Tensor filter = g_.input("f", {4, rows(), 3, 3}, dtype());
  expect_like_oracle(g_, conv2d(image, filter, {}, {.padding = {Padding{1, 1}}}));
}

INSTANTIATE_TEST_SUITE_P(Sizes, PaddedProducts,
                         testing::Combine(testing::Values(1, 7, 64),
                                          testing::Values(graph::DType::kF32,
                                                          graph::DType::kBF16)));

TEST(PaddedConvolutions, ArePaddedAgain) {
  Graph g;
  const Tensor x = g.input("x", {1, 8, 12, 12});
  const ConvOptions padding{.padding = {Padding{1, 1}}};
  expect_like_oracle(g, pad(conv2d(x, g.input("w", {16, 8, 3, 3}), {}, padding), 3, {1, 0}));
  ConvOptions depthwise = padding;
  depthwise.groups = 8;
  expect_like_oracle(g, pad(conv2d(x, g.input("d", {8, 1, 3, 3}), {}, depthwise), 2, {0, 3}));
}

}  // namespace
}  // namespace luminal::test
