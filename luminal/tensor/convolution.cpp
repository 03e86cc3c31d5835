#include "luminal/tensor/convolution.h"

#include "luminal/support/error.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/creation.h"
#include "luminal/tensor/promotion.h"
#include "luminal/tensor/reduction.h"

namespace luminal {
namespace {

/// One entry per spatial axis: a single entry applies to all, none means `standard`.
template <typename T>
std::vector<T> per_axis(std::string_view operation, std::string_view what, std::vector<T> values,
                        size_t axes, const T& standard) {
  if (values.empty()) return std::vector<T>(axes, standard);
  if (values.size() == 1) return std::vector<T>(axes, values[0]);
  if (values.size() != axes)
    throw UserError(operation, "{} has {} entries for {} spatial axes", what, values.size(), axes);
  return values;
}

/// How windows of one tensor lie.
struct Windows {
  std::vector<Dim> size;
  std::vector<int64_t> stride;
  std::vector<Padding> padding;
  std::vector<int64_t> dilation;
};

Windows resolve_windows(std::string_view operation, std::vector<Dim> size,
                        const std::vector<int64_t>& stride, const std::vector<Padding>& padding,
                        const std::vector<int64_t>& dilation) {
  const size_t axes = size.size();
  Windows windows{std::move(size), per_axis<int64_t>(operation, "stride", stride, axes, 1),
                  per_axis<Padding>(operation, "padding", padding, axes, {}),
                  per_axis<int64_t>(operation, "dilation", dilation, axes, 1)};
  for (size_t k = 0; k < axes; ++k) {
    if (windows.stride[k] < 1)
      throw UserError(operation, "the stride must be at least 1, got {}", windows.stride[k]);
    if (windows.dilation[k] < 1)
      throw UserError(operation, "the dilation must be at least 1, got {}", windows.dilation[k]);
    if (windows.padding[k].before.bounds().lo < 0 || windows.padding[k].after.bounds().lo < 0)
      throw UserError(operation, "the padding must not be negative; slice first");
  }
  return windows;
}

/// x [..., spatial] with its last axes cut into windows: [..., positions, window].
Tensor unfold_windows(std::string_view operation, const Tensor& x, const Windows& windows,
                      const Scalar& fill) {
  const int axes = static_cast<int>(windows.size.size());
  Tensor result = x;
  for (int k = 0; k < axes; ++k) {
    const auto i = static_cast<size_t>(k);
    const int axis = x.rank() - axes + k;
    const Dim reach = (windows.size[i] - 1) * windows.dilation[i] + 1;
    const Dim padded = x.dim(axis) + windows.padding[i].before + windows.padding[i].after;
    if (symbolic::provably_less(padded, reach))
      throw UserError(
          operation,
          "the window reaches over {} elements, but axis {} of {} has only {} with padding", reach,
          axis, graph::to_string(x.shape()), padded);
    result =
        build::pad_axis(result, axis, windows.padding[i].before, windows.padding[i].after, fill);
    result = unfold(result, axis, windows.size[i], windows.stride[i], windows.dilation[i]);
  }
  return result;
}

/// What a named definition says of the windows.
build::Parameters window_parameters(const Windows& windows) {
  build::Parameters parameters{{"dilation", windows.dilation}, {"stride", windows.stride}};
  for (size_t k = 0; k < windows.size.size(); ++k) {
    const std::string axis = std::to_string(k);
    parameters["padding_before" + axis] = windows.padding[k].before;
    parameters["padding_after" + axis] = windows.padding[k].after;
    parameters["window" + axis] = windows.size[k];
  }
  return parameters;
}

void check_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t groups) {
  if (x.rank() < 3 || weight.rank() != x.rank())
    throw UserError("conv",
                    "needs x [batch, channels, spatial...] and weight [out, channels / groups, "
                    "kernel...], got {} and {}",
                    graph::to_string(x.shape()), graph::to_string(weight.shape()));
  if (groups < 1 || !symbolic::divisible_by(x.dim(1), groups) ||
      !symbolic::divisible_by(weight.dim(0), groups))
    throw UserError("conv", "{} input and {} output channels do not divide into {} groups",
                    x.dim(1), weight.dim(0), groups);
  if (weight.dim(1) * groups != x.dim(1))
    throw UserError("conv", "weight {} wants {} input channels in {} groups, x {} has {}",
                    graph::to_string(weight.shape()), weight.dim(1) * groups, groups,
                    graph::to_string(x.shape()), x.dim(1));
  if (bias && (bias.rank() != 1 || bias.dim(0) != weight.dim(0)))
    throw UserError("conv", "bias must be [{}], got {}", weight.dim(0),
                    graph::to_string(bias.shape()));
}

/// Sum over channels and window of x windows [batch, groups, channels, positions..., window...]
/// times weight [groups, out, channels, window...]; gives [batch, groups, out, positions...].
Tensor correlate(const Tensor& windows, const Tensor& weight, int spatial) {
  std::vector<int> order{0, 1};
  for (int k = 0; k < spatial; ++k) order.push_back(3 + k);
  order.push_back(2);
  for (int k = 0; k < spatial; ++k) order.push_back(3 + spatial + k);
  Tensor left = unsqueeze(permute(windows, order),
                          2);  // [batch, groups, 1, positions..., channels, window...]
  Tensor right = weight;
  for (int k = 0; k < spatial; ++k) right = unsqueeze(right, 2);
  return build::apply(graph::Op::kSum, {left * right}, graph::ReduceAttribute{1 + spatial});
}

Tensor conv_checked(const char* name, int spatial, const Tensor& x, const Tensor& weight,
                    const Tensor& bias, const ConvOptions& options) {
  if (x.rank() != spatial + 2)
    throw UserError(name, "needs x [batch, channels, {} spatial axes], got {}", spatial,
                    graph::to_string(x.shape()));
  return conv(x, weight, bias, options);
}

std::vector<Dim> as_dims(std::string_view operation, const Tensor& x,
                         const std::vector<int64_t>& window) {
  if (window.empty() || static_cast<int>(window.size()) > x.rank())
    throw UserError(operation, "a window of {} axes does not fit a tensor of shape {}",
                    window.size(), graph::to_string(x.shape()));
  for (int64_t extent : window)
    if (extent < 1) throw UserError(operation, "window extents must be at least 1, got {}", extent);
  return {window.begin(), window.end()};
}

Axes last_axes(size_t count) {
  std::vector<int> axes;
  for (size_t k = 0; k < count; ++k) axes.push_back(-1 - static_cast<int>(k));
  return axes;
}

Windows pool_windows(std::string_view operation, const Tensor& x,
                     const std::vector<int64_t>& window, const PoolOptions& options) {
  return resolve_windows(operation, as_dims(operation, x, window),
                         options.stride.empty() ? window : options.stride, options.padding,
                         options.dilation);
}

}  // namespace

Tensor conv(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
  build::check_same_graph("conv", bias ? std::vector{x, weight, bias} : std::vector{x, weight});
  check_conv(x, weight, bias, options.groups);
  const int spatial = x.rank() - 2;
  const DType dtype = promote(x.dtype(), weight.dtype());
  Tensor input = build::widen(cast(x, dtype));
  Tensor kernel = split_dims(build::widen(cast(weight, dtype)), 0, {options.groups, -1});
  const Windows windows =
      resolve_windows("conv", {weight.shape().begin() + 2, weight.shape().end()}, options.stride,
                      options.padding, options.dilation);
  Tensor unfolded = unfold_windows("conv", input, windows, Scalar::of(input.dtype(), 0));
  Tensor result =
      merge_dims(correlate(split_dims(unfolded, 1, {options.groups, -1}), kernel, spatial), 1, 2);
  if (bias) {
    Shape shape(static_cast<size_t>(x.rank()), Dim(1));
    shape[1] = bias.dim(0);
    result = result + reshape(build::widen(cast(bias, dtype)), shape);
  }
  build::Parameters parameters = window_parameters(windows);
  parameters["bias"] = static_cast<bool>(bias);
  parameters["groups"] = options.groups;
  return build::named("conv", bias ? std::vector{x, weight, bias} : std::vector{x, weight},
                      std::move(parameters), cast(result, dtype));
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const ConvOptions& options) {
  return conv_checked("conv1d", 1, x, weight, bias, options);
}

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const ConvOptions& options) {
  return conv_checked("conv2d", 2, x, weight, bias, options);
}

Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias,
              const ConvOptions& options) {
  return conv_checked("conv3d", 3, x, weight, bias, options);
}

Tensor max_pool(const Tensor& x, const std::vector<int64_t>& window, const PoolOptions& options) {
  const Windows windows = pool_windows("max_pool", x, window, options);
  Tensor unfolded = unfold_windows("max_pool", x, windows, Scalar::lowest(x.dtype()));
  return build::named("max_pool", {x}, window_parameters(windows),
                      max(unfolded, last_axes(window.size())));
}

Tensor avg_pool(const Tensor& x, const std::vector<int64_t>& window, const PoolOptions& options) {
  const Windows windows = pool_windows("avg_pool", x, window, options);
  Tensor input = build::to_float(x);
  Tensor wide = build::widen(input);
  const Scalar zero = Scalar::of(wide.dtype(), 0);
  Tensor total = sum(unfold_windows("avg_pool", wide, windows, zero), last_axes(window.size()));
  Tensor result;
  if (options.count_padding) {
    int64_t count = 1;
    for (int64_t extent : window) count *= extent;
    result = total / count;
  } else {
    Tensor counted = unfold_windows("avg_pool", ones_like(wide), windows, zero);
    result = total / sum(counted, last_axes(window.size()));
  }
  build::Parameters parameters = window_parameters(windows);
  parameters["count_padding"] = options.count_padding;
  return build::named("avg_pool", {input}, std::move(parameters), cast(result, input.dtype()));
}

}  // namespace luminal
