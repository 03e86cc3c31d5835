#include "luminal/tensor/activation.h"

#include <numbers>

#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/math.h"

namespace luminal {
namespace {

/// Computes `function` in f32 or wider, rounds to x's dtype, records the name.
template <typename Function>
Tensor activation(const char* name, const Tensor& x, build::Parameters parameters,
                  Function function) {
  Tensor input = build::to_float(x);
  return build::named(name, {input}, std::move(parameters),
                      cast(function(build::widen(input)), input.dtype()));
}

}  // namespace

Tensor relu(const Tensor& x) {
  return build::named("relu", {x}, {}, maximum(x, build::full_like(x, 0)));
}

Tensor leaky_relu(const Tensor& x, double slope) {
  return activation("leaky_relu", x, {{"slope", slope}},
                    [&](const Tensor& wide) { return where(less(wide, 0), wide * slope, wide); });
}

Tensor sigmoid(const Tensor& x) {
  return activation("sigmoid", x, {}, [](const Tensor& wide) { return recip(exp(-wide) + 1); });
}

Tensor silu(const Tensor& x) {
  return activation("silu", x, {}, [](const Tensor& wide) { return wide / (exp(-wide) + 1); });
}

Tensor gelu(const Tensor& x) {
  return activation("gelu", x, {}, [](const Tensor& wide) {
    return wide * 0.5 * (erf(wide * (1 / std::numbers::sqrt2)) + 1);
  });
}

Tensor gelu_tanh(const Tensor& x) {
  return activation("gelu_tanh", x, {}, [](const Tensor& wide) {
    const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)
    return wide * 0.5 * (tanh((wide + wide * wide * wide * 0.044715) * scale) + 1);
  });
}

Tensor softplus(const Tensor& x, double beta, double threshold) {
  return activation("softplus", x, {{"beta", beta}, {"threshold", threshold}},
                    [&](const Tensor& wide) {
                      Tensor scaled = wide * beta;
                      return where(greater(scaled, threshold), wide, log1p(exp(scaled)) / beta);
                    });
}

Tensor elu(const Tensor& x, double alpha) {
  return activation("elu", x, {{"alpha", alpha}}, [&](const Tensor& wide) {
    return where(less(wide, 0), expm1(wide) * alpha, wide);
  });
}

Tensor hardswish(const Tensor& x) {
  return activation("hardswish", x, {},
                    [](const Tensor& wide) { return wide * (clip(wide + 3, 0, 6) / 6); });
}

Tensor mish(const Tensor& x) {
  return activation("mish", x, {}, [](const Tensor& wide) { return wide * tanh(softplus(wide)); });
}

}  // namespace luminal
