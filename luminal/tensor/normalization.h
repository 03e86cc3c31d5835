// Softmax and the norms. f16, bf16 and f8 are computed in f32 and rounded once; each is recorded
// under its name.
#pragma once

#include "luminal/tensor/reduction.h"
#include "luminal/tensor/tensor.h"

namespace luminal {

/// exp(x - max) / sum(exp(x - max)) along an axis. A row of -inf only gives NaN.
Tensor softmax(const Tensor& x, int axis = -1);
/// log(softmax(x)), without its overflow and underflow.
Tensor log_softmax(const Tensor& x, int axis = -1);

/// x - mean(x).
Tensor mean_norm(const Tensor& x, const Axes& axes = -1);
/// x / sqrt(mean(x^2) + epsilon).
Tensor std_norm(const Tensor& x, const Axes& axes = -1, double epsilon = 1e-5);
/// (x - mean) / sqrt(variance + epsilon) over the axes.
Tensor layer_norm(const Tensor& x, const Axes& axes = -1, double epsilon = 1e-5);
/// The same over the axes that `weight` has (the last ones), then times weight, plus bias if there
/// is one.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                  double epsilon = 1e-5);
/// x / sqrt(mean(x^2) + epsilon) over the last axis, times weight if there is one.
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, double epsilon = 1e-6);
/// Normalises each of `groups` groups of channels (axis 1) together with all axes after it; weight
/// and bias are [channels].
Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight = {},
                  const Tensor& bias = {}, double epsilon = 1e-5);
/// (x - mean) / sqrt(variance + epsilon) * weight + bias per channel (axis 1), with given
/// statistics of shape [channels].
Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& variance,
                  const Tensor& weight = {}, const Tensor& bias = {}, double epsilon = 1e-5);
/// x / max(p-norm of x, epsilon) along the axes.
Tensor normalize(const Tensor& x, double p = 2.0, const Axes& axes = 1, double epsilon = 1e-12);

}  // namespace luminal
