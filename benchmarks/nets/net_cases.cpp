#include "benchmarks/nets/net_cases.h"

#include <fmt/format.h>

#include "benchmarks/nets/language_models.h"

namespace luminal::benchmarks {
namespace {

constexpr int64_t kWidth = 768;
constexpr int64_t kHeads = 12;

/// x times a weight of its own, plus a bias.
Tensor linear(Network& network, const Tensor& x, int64_t inputs, int64_t outputs) {
  const Tensor weight = network.weight({outputs, inputs}, x.dtype());
  return matmul(x, transpose(weight, 0, 1)) + network.weight({outputs}, x.dtype());
}

Tensor norm(Network& network, const Tensor& x) {
  const Tensor weight = network.weight({kWidth}, x.dtype());
  return layer_norm(x, weight, network.weight({kWidth}, x.dtype()));
}

/// [tokens, width] -> [heads, tokens, width / heads]
Tensor split_heads(const Tensor& x) {
  return transpose(split_dims(x, -1, {kHeads, kWidth / kHeads}), 0, 1);
}

void mlp(Network& network, int64_t batch) {
  Tensor x = network.input({batch, 784}, f32);
  x = relu(linear(network, x, 784, 512));
  x = relu(linear(network, x, 512, 512));
  network.outputs = {linear(network, x, 512, 10)};
}

Tensor conv3x3(Network& network, const Tensor& x, int64_t inputs, int64_t outputs) {
  const Tensor weight = network.weight({outputs, inputs, 3, 3}, f32);
  return conv2d(x, weight, network.weight({outputs}, f32), {.padding = {{1, 1}}});
}

void digit_cnn(Network& network, int64_t batch) {
  Tensor x = network.input({batch, 1, 28, 28}, f32);
  x = max_pool(relu(conv3x3(network, x, 1, 32)), {2, 2});
  x = max_pool(relu(conv3x3(network, x, 32, 64)), {2, 2});
  x = merge_dims(x, 1, 3);
  x = relu(linear(network, x, 64 * 49, 128));
  network.outputs = {linear(network, x, 128, 10)};
}

void residual_block(Network& network, int64_t size) {
  const Tensor x = network.input({1, 64, size, size}, f32);
  const Tensor inner = relu(conv3x3(network, x, 64, 64));
  network.outputs = {relu(x + conv3x3(network, inner, 64, 64))};
}

/// With `past`, the tokens come after that many cached ones.
void gpt_block(Network& network, DType dtype, int64_t tokens, int64_t past) {
  Tensor x = network.input({tokens, kWidth}, dtype);
  const Tensor h = norm(network, x);
  const Tensor q = split_heads(linear(network, h, kWidth, kWidth));
  Tensor k = split_heads(linear(network, h, kWidth, kWidth));
  Tensor v = split_heads(linear(network, h, kWidth, kWidth));
  if (past > 0) {
    k = concat({network.input({kHeads, past, kWidth / kHeads}, dtype), k}, 1);
    v = concat({network.input({kHeads, past, kWidth / kHeads}, dtype), v}, 1);
  }
  const Tensor mixed = attention(q, k, v, {.causal = past == 0});
  x = x + linear(network, merge_dims(transpose(mixed, 0, 1), 1, 2), kWidth, kWidth);
  const Tensor up = gelu_tanh(linear(network, norm(network, x), kWidth, 4 * kWidth));
  network.outputs = {x + linear(network, up, 4 * kWidth, kWidth)};
}

double gpt_flops(int64_t tokens) {
  const double width = kWidth;
  const double count = static_cast<double>(tokens);
  return 2 * 12 * count * width * width + 4 * count * count * width / 2;
}

}  // namespace

std::vector<Case> net_cases() {
  std::vector<Case> cases;
  for (const int64_t batch : {1, 32, 256})
    cases.push_back({fmt::format("mlp {}", batch), f32,
                     [=](Network& network) { mlp(network, batch); },
                     2.0 * static_cast<double>(batch) * (784 * 512 + 512 * 512 + 512 * 10)});
  for (const int64_t batch : {1, 32})
    cases.push_back({fmt::format("digit cnn {}", batch), f32,
                     [=](Network& network) { digit_cnn(network, batch); },
                     2.0 * static_cast<double>(batch) *
                         (9 * 32 * 784 + 9 * 32 * 64 * 196 + 64 * 49 * 128 + 1280)});
  cases.push_back({"residual block 56", f32, [](Network& network) { residual_block(network, 56); },
                   2.0 * 2 * 9 * 64 * 64 * 56 * 56});
  for (const DType dtype : {f32, bf16}) {
    for (const int64_t tokens : {1, 16, 128, 512})
      cases.push_back({fmt::format("gpt block {}", tokens), dtype,
                       [=](Network& network) { gpt_block(network, dtype, tokens, 0); },
                       gpt_flops(tokens)});
    cases.push_back({"gpt block decode 128", dtype,
                     [=](Network& network) { gpt_block(network, dtype, 1, 128); }, gpt_flops(1)});
  }
  for (const DType dtype : {f32, bf16}) {
    cases.push_back({"gpt2 decode 128", dtype,
                     [=](Network& network) { gpt2(network, dtype, 1, 128); }, gpt2_flops(1, 128)});
    cases.push_back({"gpt2 prefill 128", dtype,
                     [=](Network& network) { gpt2(network, dtype, 128, 0); }, gpt2_flops(128, 0)});
  }
  cases.push_back({"llama 1b decode 128", bf16,
                   [](Network& network) { llama_1b(network, bf16, 1, 128); },
                   llama_1b_flops(1, 128)});
  cases.push_back({"llama 1b prefill 128", bf16,
                   [](Network& network) { llama_1b(network, bf16, 128, 0); },
                   llama_1b_flops(128, 0)});
  return cases;
}

}  // namespace luminal::benchmarks
