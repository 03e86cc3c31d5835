// The loop nests that the builder finds, as text. They are the shapes people write by hand: softmax
// in one pass, layer norm in two, attention without the matrix of scores.
#include <gtest/gtest.h>

#include "luminal/kernel/laws.h"
#include "models.h"

namespace luminal::kernel {
namespace {

/// The nest of the whole graph as one kernel.
std::string nest_of(const models::IR& graph, bool factored, const NestOptions& options = {}) {
  const GraphProgram program(graph);
  const Cut cut = smallest_cut(program, *topological_order(program));
  Arena arena;
  Kernel kernel = std::get<Kernel>(derive(arena, program, cut, program.output(0)));
  if (factored) kernel = factor_invariants(arena, kernel).value_or(kernel);
  std::map<NodeId, std::string> names = models::input_names(graph);
  names[program.output(0)] = graph.outputs()[0].name;
  return "\n" + to_string(arena, build_nest(arena, kernel, options), names);
}

TEST(KernelNests, SoftmaxIsOnePassAndAnOutputLoop) {
  EXPECT_EQ(nest_of(models::softmax(4096, 1024), false), R"(
for i0<4096:
  m1 = -inf; s2 = 0
  for r<1024:  # online
    m1 = max(m1, x[i0, r])
    s2 = s2 * rescale(m1) + exp(((m1 * -1) + x[i0, r]))
  v1 = (m1 * -1)
  for i1<1024:
    y[i0, i1] = (exp((x[i0, i1] + v1)) / s2)
)");
}
TEST(KernelNests, SoftmaxWithoutTheOnlineLawIsThreePasses) {
  EXPECT_EQ(nest_of(models::softmax(4096, 1024), false, {.online = false}), R"(
for i0<4096:
  m1 = -inf
  for r<1024:
    m1 = max(m1, x[i0, r])
  s2 = 0
  v1 = (m1 * -1)
  for r<1024:
    s2 += exp((v1 + x[i0, r]))
  for i1<1024:
    y[i0, i1] = (exp((x[i0, i1] + v1)) / s2)
)");
}
TEST(KernelNests, SoftmaxMayKeepItsExponentials) {
  EXPECT_EQ(nest_of(models::softmax(4096, 1024), false, {.keep_rows = true}), R"(
for i0<4096:
  m1 = -inf
  for r<1024:
    m1 = max(m1, x[i0, r])
  s2 = 0
  v1 = (m1 * -1)
  for r<1024:
    v2 = exp((v1 + x[i0, r]))
    s2 += v2
    row0[r] = v2
  for i1<1024:
    y[i0, i1] = (row0[i1] / s2)
)");
}
TEST(KernelNests, LayerNormIsTwoPassesAndAnOutputLoop) {
  EXPECT_EQ(nest_of(models::layer_norm(4096, 1024), false), R"(
for i0<4096:
  s1 = 0
  for r<1024:
    s1 += x[i0, r]
  s2 = 0
  v1 = ((s1 * 0.0009765625) * -1)
  for r<1024:
    v2 = (v1 + x[i0, r])
    s2 += (v2 * v2)
  v3 = recip(sqrt(((0.0009765625 * s2) + 0.00001)))
  for i1<1024:
    y[i0, i1] = ((((x[i0, i1] + v1) * v3) * w[i1]) + b[i1])
)");
}
TEST(KernelNests, AttentionIsOnePassOverTheKeys) {
  const Dim s = Dim::variable("s", {1, 4096}), p = Dim::variable("p", {0, 4096});
  EXPECT_EQ(nest_of(models::attention(8, 4, s, p + s, 128), true), R"(
for i0<8, i1<4, i2<s:
  m1 = -inf; s2[i3] = 0; s3 = 0
  for r<p + s:  # online
    s4 = 0
    for t<128:
      s4 += (q[4*i0 + i1, i2, t] * k[i0, r, t])
    v1 = (p + i2 >= r ? (0.5 * s4) : -inf)
    m1 = max(m1, v1)
    v2 = exp(((-1 * m1) + v1))
    s3 = s3 * rescale(m1) + v2
    for i3<128:
      s2[i3] = s2[i3] * rescale(m1) + (v2 * v[i0, r, i3])
  for i3<128:
    y[4*i0 + i1, i2, i3] = (s2[i3] / s3)
)");
}
TEST(KernelNests, ConvolutionBiasReluAndPoolAreOneNest) {
  EXPECT_EQ(nest_of(models::conv_block(16, 28, 1, 32), false), R"(
for i0<16, i1<32, i2<14, i3<14:
  m1 = -inf
  for r<2, t<2:
    s2 = 0
    for u<3, v<3:
      s2 += ((2*i2 + u + r < 29 && 2*i2 + u + r >= 1 && 2*i3 + v + t < 29 && 2*i3 + v + t >= 1 ? x[i0, 0, 2*i2 + u + r - 1, 2*i3 + v + t - 1] : 0) * w[i1, 0, u, v])
    m1 = max(m1, max(0, (s2 + bias[i1])))
  y[i0, i1, i2, i3] = m1
)");
}
TEST(KernelNests, GateAndUpShareOneLoopBehindTheNorm) {
  EXPECT_EQ(nest_of(models::gated(4096, 14336), true), R"(
s1 = 0
for r<4096:
  s1 += (x[0, r] * x[0, r])
v1 = recip(sqrt(((s1 * 0.00024414062) + 1e-06)))
for i0<14336:
  s2 = 0; s3 = 0
  for r<4096:
    v2 = (x[0, r] * n[r])
    s2 += (wg[i0, r] * v2)
    s3 += (v2 * wu[i0, r])
  v3 = (v1 * s2)
  y[0, i0] = ((v3 / (1 + exp((-1 * v3)))) * (v1 * s3))
)");
}

}  // namespace
}  // namespace luminal::kernel
