// Convolutions and pooling over any number of spatial axes. The windows are views; a convolution is
// a product of windows with weights and a sum, a pool is a reduction of windows.
#pragma once

#include <vector>

#include "luminal/tensor/movement.h"
#include "luminal/tensor/tensor.h"

namespace luminal {

/// How windows move. A list of one applies to every spatial axis; empty lists mean 1 (0 for
/// padding).
struct ConvOptions {
  std::vector<int64_t> stride = {};    ///< of the window, per axis
  std::vector<Padding> padding = {};   ///< before and after each axis
  std::vector<int64_t> dilation = {};  ///< between elements of the window
  int64_t groups = 1;                  ///< channels that do not see each other
};

/// Correlates x [batch, channels, spatial...] with weight [out, channels / groups, kernel...] and
/// adds bias [out] if there is one. One, two, three or more spatial axes.
Tensor conv(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
            const ConvOptions& options = {});
/// The same with the number of spatial axes checked.
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const ConvOptions& options = {});
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const ConvOptions& options = {});  ///< two spatial axes
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
              const ConvOptions& options = {});  ///< three spatial axes

/// How a pool's windows move. The stride is the window unless said.
struct PoolOptions {
  std::vector<int64_t> stride = {};    ///< of the window, per axis
  std::vector<Padding> padding = {};   ///< before and after each axis
  std::vector<int64_t> dilation = {};  ///< between elements of the window
  /// Average pooling: do padded zeros count?
  bool count_padding = true;
};

/// The largest element of each window over the last window.size() axes; padding never wins.
Tensor max_pool(const Tensor& x, const std::vector<int64_t>& window,
                const PoolOptions& options = {});
/// The mean of each window over the last window.size() axes.
Tensor avg_pool(const Tensor& x, const std::vector<int64_t>& window,
                const PoolOptions& options = {});

}  // namespace luminal
