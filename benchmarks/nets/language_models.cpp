#include "benchmarks/nets/language_models.h"

namespace luminal::benchmarks {
namespace {

/// [tokens, heads * d] -> [heads, tokens, d], and back.
Tensor split_heads(const Tensor& x, int64_t heads) {
  return transpose(split_dims(x, -1, {heads, -1}), 0, 1);
}
Tensor merge_heads(const Tensor& x) { return merge_dims(transpose(x, 0, 1), 1, 2); }

/// x times a weight of its own, as rows of outputs.
Tensor project(Network& network, const Tensor& x, int64_t outputs) {
  const Tensor weight = network.weight({outputs, *x.dim(-1).constant_value()}, x.dtype());
  return matmul(x, transpose(weight, 0, 1));
}
Tensor biased(Network& network, const Tensor& x, int64_t outputs) {
  const Tensor product = project(network, x, outputs);
  return product + network.weight({outputs}, x.dtype());
}

/// A cache of its own, and what comes after it. The new part is a result.
Tensor appended(Network& network, const Tensor& fresh, int64_t past) {
  network.outputs.push_back(fresh);
  if (past == 0) return fresh;
  const int64_t heads = *fresh.dim(0).constant_value();
  const int64_t d = *fresh.dim(2).constant_value();
  return concat({network.input({heads, past, d}, fresh.dtype()), fresh}, 1);
}

Tensor gpt2_norm(Network& network, const Tensor& x) {
  const int64_t width = *x.dim(-1).constant_value();
  const Tensor weight = network.weight({width}, x.dtype());
  return layer_norm(x, weight, network.weight({width}, x.dtype()));
}

constexpr int64_t kGptLayers = 12, kGptWidth = 768, kGptWords = 50257;

Tensor gpt2_layer(Network& network, const Tensor& input, int64_t past) {
  constexpr int64_t kWidth = kGptWidth, kHeads = 12;
  const Tensor h = gpt2_norm(network, input);
  const Tensor q = split_heads(biased(network, h, kWidth), kHeads);
  const Tensor k = appended(network, split_heads(biased(network, h, kWidth), kHeads), past);
  const Tensor v = appended(network, split_heads(biased(network, h, kWidth), kHeads), past);
  const Tensor mixed = merge_heads(attention(q, k, v, {.causal = true}));
  const Tensor x = input + biased(network, mixed, kWidth);
  const Tensor up = gelu_tanh(biased(network, gpt2_norm(network, x), 4 * kWidth));
  return x + biased(network, up, kWidth);
}

constexpr int64_t kLlamaLayers = 16, kLlamaWidth = 2048, kLlamaHeads = 32, kLlamaKvHeads = 8,
                  kLlamaDepth = 64, kLlamaHidden = 8192, kLlamaWords = 128256;

Tensor llama_norm(Network& network, const Tensor& x) {
  return rms_norm(x, network.weight({kLlamaWidth}, x.dtype()));
}

Tensor llama_layer(Network& network, const Tensor& input, const Tensor& positions, int64_t past) {
  constexpr int64_t kKvWidth = kLlamaKvHeads * kLlamaDepth;
  const RopeOptions rotary{.base = 500000.0};
  const Tensor h = llama_norm(network, input);
  const Tensor q =
      rope(split_heads(project(network, h, kLlamaWidth), kLlamaHeads), positions, rotary);
  const Tensor k =
      rope(split_heads(project(network, h, kKvWidth), kLlamaKvHeads), positions, rotary);
  const Tensor v = split_heads(project(network, h, kKvWidth), kLlamaKvHeads);
  const Tensor keys = appended(network, k, past), values = appended(network, v, past);
  const Tensor mixed = merge_heads(attention(q, keys, values, {.causal = true}));
  const Tensor x = input + project(network, mixed, kLlamaWidth);
  const Tensor n = llama_norm(network, x);
  const Tensor gated = silu(project(network, n, kLlamaHidden)) * project(network, n, kLlamaHidden);
  return x + project(network, gated, kLlamaWidth);
}

}  // namespace

void gpt2(Network& network, DType dtype, int64_t tokens, int64_t past) {
  const Tensor words = network.weight({kGptWords, kGptWidth}, dtype);
  const Tensor places = network.weight({1024, kGptWidth}, dtype);
  Tensor x = embedding(words, network.input({tokens}, i64)) +
             slice(places, 0, {.begin = past, .end = past + tokens});
  for (int64_t layer = 0; layer < kGptLayers; ++layer) x = gpt2_layer(network, x, past);
  const Tensor last = slice(x, 0, {.begin = tokens - 1, .end = tokens});
  network.outputs.push_back(matmul(gpt2_norm(network, last), transpose(words, 0, 1)));
}

double gpt2_flops(int64_t tokens, int64_t past) {
  const double count = static_cast<double>(tokens);
  const double seen = static_cast<double>(past) + (count + 1) / 2;
  return 2.0 * kGptLayers * count * kGptWidth * (12 * kGptWidth + 2 * seen) +
         2.0 * kGptWidth * kGptWords;
}

void llama_1b(Network& network, DType dtype, int64_t tokens, int64_t past) {
  const Tensor words = network.weight({kLlamaWords, kLlamaWidth}, dtype);
  const Tensor positions = arange(network.graph, past, past + tokens);
  Tensor x = embedding(words, network.input({tokens}, i64));
  for (int64_t layer = 0; layer < kLlamaLayers; ++layer)
    x = llama_layer(network, x, positions, past);
  const Tensor last = slice(x, 0, {.begin = tokens - 1, .end = tokens});
  network.outputs.push_back(matmul(llama_norm(network, last), transpose(words, 0, 1)));
}

double llama_1b_flops(int64_t tokens, int64_t past) {
  const double layer = 2.0 * kLlamaWidth * (kLlamaWidth + kLlamaKvHeads * kLlamaDepth) +
                       3.0 * kLlamaWidth * kLlamaHidden;
  const double count = static_cast<double>(tokens);
  const double seen = static_cast<double>(past) + (count + 1) / 2;
  return 2.0 * kLlamaLayers * count * (layer + 2 * seen * kLlamaHeads * kLlamaDepth) +
         2.0 * kLlamaWidth * kLlamaWords;
}

}  // namespace luminal::benchmarks
