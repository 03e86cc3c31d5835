#include "luminal/tensor/normalization.h"

#include "luminal/support/error.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/math.h"
#include "luminal/tensor/movement.h"

namespace luminal {
namespace {

std::vector<int64_t> as_parameter(const std::vector<int>& axes) {
  return {axes.begin(), axes.end()};
}

Tensor centered(const Tensor& x, const std::vector<int>& axes) { return x - mean(x, axes, true); }

Tensor scaled_to_unit(const Tensor& x, const std::vector<int>& axes, double epsilon) {
  return x * rsqrt(mean(square(x), axes, true) + epsilon);
}

/// The operands that are there.
std::vector<Tensor> present(std::initializer_list<Tensor> tensors) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors)
    if (tensor) result.push_back(tensor);
  return result;
}

/// Which of the optional operands a named op has.
build::Parameters with_optional(build::Parameters parameters, const Tensor& weight,
                                const Tensor& bias) {
  parameters["weight"] = static_cast<bool>(weight);
  parameters["bias"] = static_cast<bool>(bias);
  return parameters;
}

/// x * weight + bias, either of which may be missing.
Tensor affine(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  Tensor result = weight ? x * build::widen(weight) : x;
  return bias ? result + build::widen(bias) : result;
}

/// A [channels] vector as it meets axis 1 of x; checks its extent.
Tensor per_channel(std::string_view operation, const Tensor& x, const Tensor& vector) {
  if (!static_cast<bool>(vector)) return vector;  // !vector would be the elementwise not
  if (vector.rank() != 1 || vector.dim(0) != x.dim(1))
    throw UserError(operation, "needs one value per channel, [{}], got shape {}", x.dim(1),
                    graph::to_string(vector.shape()));
  Shape shape(static_cast<size_t>(x.rank()), Dim(1));
  shape[1] = x.dim(1);
  return reshape(vector, shape);
}

void check_channels(std::string_view operation, const Tensor& x) {
  if (x.rank() < 2)
    throw UserError(operation, "needs a batch axis and a channel axis, got shape {}",
                    graph::to_string(x.shape()));
}

/// The last axes of x, as many as `weight` has, whose extents must be the same.
std::vector<int> trailing_axes(std::string_view operation, const Tensor& x, const Tensor& weight) {
  std::vector<int> axes;
  const int first = x.rank() - weight.rank();
  for (int k = std::max(first, 0); k < x.rank(); ++k) axes.push_back(k);
  bool fits = first >= 0 && weight.rank() > 0;
  for (int k = 0; fits && k < weight.rank(); ++k) fits = weight.dim(k) == x.dim(first + k);
  if (!fits)
    throw UserError(operation, "weight {} does not match the last axes of {}",
                    graph::to_string(weight.shape()), graph::to_string(x.shape()));
  return axes;
}

}  // namespace

Tensor softmax(const Tensor& x, int axis) {
  const int k = graph::normalize_axis("softmax", axis, x.rank());
  Tensor input = build::to_float(x);
  Tensor wide = build::widen(input);
  Tensor e = exp(wide - max(wide, k, true));
  return build::named("softmax", {input}, {{"axis", static_cast<int64_t>(k)}},
                      cast(e / sum(e, k, true), input.dtype()));
}

Tensor log_softmax(const Tensor& x, int axis) {
  const int k = graph::normalize_axis("log_softmax", axis, x.rank());
  Tensor input = build::to_float(x);
  Tensor wide = build::widen(input);
  Tensor shifted = wide - max(wide, k, true);
  return build::named("log_softmax", {input}, {{"axis", static_cast<int64_t>(k)}},
                      cast(shifted - log(sum(exp(shifted), k, true)), input.dtype()));
}

Tensor mean_norm(const Tensor& x, const Axes& axes) {
  const std::vector<int> resolved = axes.resolve("mean_norm", x.rank());
  Tensor input = build::to_float(x);
  return build::named("mean_norm", {input}, {{"axes", as_parameter(resolved)}},
                      cast(centered(build::widen(input), resolved), input.dtype()));
}

Tensor std_norm(const Tensor& x, const Axes& axes, double epsilon) {
  const std::vector<int> resolved = axes.resolve("std_norm", x.rank());
  Tensor input = build::to_float(x);
  return build::named("std_norm", {input}, {{"axes", as_parameter(resolved)}, {"epsilon", epsilon}},
                      cast(scaled_to_unit(build::widen(input), resolved, epsilon), input.dtype()));
}

Tensor layer_norm(const Tensor& x, const Axes& axes, double epsilon) {
  const std::vector<int> resolved = axes.resolve("layer_norm", x.rank());
  Tensor input = build::to_float(x);
  Tensor result = scaled_to_unit(centered(build::widen(input), resolved), resolved, epsilon);
  return build::named("layer_norm", {input},
                      {{"axes", as_parameter(resolved)}, {"epsilon", epsilon}},
                      cast(result, input.dtype()));
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double epsilon) {
  const std::vector<int> axes = trailing_axes("layer_norm", x, weight);
  if (bias) trailing_axes("layer_norm", x, bias);
  Tensor input = build::to_float(x);
  Tensor result = scaled_to_unit(centered(build::widen(input), axes), axes, epsilon);
  return build::named(
      "layer_norm", present({input, weight, bias}),
      with_optional({{"axes", as_parameter(axes)}, {"epsilon", epsilon}}, weight, bias),
      cast(affine(result, weight, bias), input.dtype()));
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon) {
  if (x.rank() == 0) throw UserError("rms_norm", "needs at least one axis, got a scalar");
  if (weight && (weight.rank() != 1 || weight.dim(0) != x.dim(-1)))
    throw UserError("rms_norm", "weight {} does not match the last axis of {}",
                    graph::to_string(weight.shape()), graph::to_string(x.shape()));
  Tensor input = build::to_float(x);
  Tensor result = scaled_to_unit(build::widen(input), {x.rank() - 1}, epsilon);
  return build::named("rms_norm", present({input, weight}), {{"epsilon", epsilon}},
                      cast(affine(result, weight, {}), input.dtype()));
}

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias,
                  double epsilon) {
  check_channels("group_norm", x);
  if (groups < 1 || !symbolic::divisible_by(x.dim(1), groups))
    throw UserError("group_norm", "{} channels do not divide into {} groups", x.dim(1), groups);
  Tensor input = build::to_float(x);
  Tensor grouped = split_dims(build::widen(input), 1, {groups, -1});
  std::vector<int> axes;
  for (int k = 2; k < grouped.rank(); ++k) axes.push_back(k);
  Tensor normal = merge_dims(scaled_to_unit(centered(grouped, axes), axes, epsilon), 1, 2);
  Tensor result =
      affine(normal, per_channel("group_norm", x, weight), per_channel("group_norm", x, bias));
  return build::named("group_norm", present({input, weight, bias}),
                      with_optional({{"epsilon", epsilon}, {"groups", groups}}, weight, bias),
                      cast(result, input.dtype()));
}

Tensor batch_norm(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& weight,
                  const Tensor& bias, double epsilon) {
  check_channels("batch_norm", x);
  Tensor input = build::to_float(x);
  Tensor center = build::widen(per_channel("batch_norm", x, mean));
  Tensor scale = rsqrt(build::widen(per_channel("batch_norm", x, variance)) + epsilon);
  Tensor result = affine((build::widen(input) - center) * scale,
                         per_channel("batch_norm", x, weight), per_channel("batch_norm", x, bias));
  return build::named("batch_norm", present({input, mean, variance, weight, bias}),
                      with_optional({{"epsilon", epsilon}}, weight, bias),
                      cast(result, input.dtype()));
}

Tensor normalize(const Tensor& x, double p, const Axes& axes, double epsilon) {
  const std::vector<int> resolved = axes.resolve("normalize", x.rank());
  Tensor input = build::to_float(x);
  Tensor wide = build::widen(input);
  return build::named("normalize", {input},
                      {{"axes", as_parameter(resolved)}, {"epsilon", epsilon}, {"p", p}},
                      cast(wide / maximum(norm(wide, p, resolved, true), epsilon), input.dtype()));
}

}  // namespace luminal
