// Whole language models with random weights of real shapes, token by token and in prefill: GPT-2
// small and Llama 3.2 1B. Caches hold the tokens before; what they grow by is a result.
#pragma once

#include "benchmarks/network.h"

namespace luminal::benchmarks {

/// Logits of the last of `tokens` tokens after `past` cached ones: 12 layers of width 768 with 12
/// heads, 50257 words.
void gpt2(Network& network, DType dtype, int64_t tokens, int64_t past);

/// Flops of the products of gpt2.
double gpt2_flops(int64_t tokens, int64_t past);

/// Logits of the last of `tokens` tokens after `past` cached ones: 16 layers of width 2048 with 32
/// heads that share 8 heads of keys and values, 128256 words.
void llama_1b(Network& network, DType dtype, int64_t tokens, int64_t past);

/// Flops of the products of llama_1b.
double llama_1b_flops(int64_t tokens, int64_t past);

}  // namespace luminal::benchmarks
