// Activations, elementwise. Each is recorded under its name; f16, bf16 and f8 are computed in f32
// and rounded once.
#pragma once

#include "luminal/tensor/tensor.h"

namespace luminal {

/// max(x, 0); relu(-inf) is 0, NaN stays NaN.
Tensor relu(const Tensor& x);
/// x, or slope * x below zero.
Tensor leaky_relu(const Tensor& x, double slope = 0.01);
/// 1 / (1 + exp(-x)).
Tensor sigmoid(const Tensor& x);
/// x * sigmoid(x).
Tensor silu(const Tensor& x);
/// x times the normal distribution function of x: exact, by erf.
Tensor gelu(const Tensor& x);
/// The same approximated by tanh.
Tensor gelu_tanh(const Tensor& x);
/// log(1 + exp(beta x)) / beta; x itself where beta x > threshold.
Tensor softplus(const Tensor& x, double beta = 1.0, double threshold = 20.0);
/// x, or alpha * (exp(x) - 1) below zero.
Tensor elu(const Tensor& x, double alpha = 1.0);
/// x * clip(x + 3, 0, 6) / 6.
Tensor hardswish(const Tensor& x);
/// x * tanh(softplus(x)).
Tensor mish(const Tensor& x);

}  // namespace luminal
