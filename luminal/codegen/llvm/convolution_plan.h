// A kernel seen as a convolution: a product whose second operand is read in overlapping windows.
// That operand, the image, is laid out once with its padding written out and the steps of a stride
// apart, so that neighbouring pixels of the result read neighbouring elements at every step of the
// window and nothing is copied per window. The other operand, the filter, is broadcast. Says
// nothing about tiles; no LLVM.
#pragma once

#include <optional>
#include <vector>

#include "luminal/codegen/llvm/contraction_plan.h"

namespace luminal::codegen {

/// An output axis p and the summed axis r that moves the window along it: the image is read at
/// stride * p + dilation * r. Without a window, r is 0.
struct ImageAxis {
  symbolic::Expr position = 0;
  symbolic::Expr window = 0;
  int64_t stride = 1;
  int64_t dilation = 1;
  symbolic::Expr place = 0;  ///< the axis that the image has instead

  bool has_window() const { return window.is_axis(); }
  int64_t steps() const;
  /// Elements along it per phase of the stride.
  int64_t size() const;
};

/// A summed axis: where its steps are in the image, in elements from step 0.
struct WindowSteps {
  symbolic::Expr axis;
  std::vector<int64_t> image;
};

/// What runs along the lanes of a tile: pixels, or rows of the filter with pixels broadcast.
enum class ConvolutionLanes { kPixels, kFilters };

/// See above. With pixels along the lanes, those of one plane of the result are numbered
/// y * pitch + x; numbers with x past the width are computed too, from whatever lies there, and
/// never stored.
struct ConvolutionPlan {
  ContractionPlan base;               ///< of one product; columns and k by their single axes
  std::vector<symbolic::Expr> outer;  ///< output axes other than rows, y and x
  std::vector<ImageAxis> planes;      ///< outer axes with a window
  ImageAxis y, x;
  int64_t height = 1;
  int64_t width = 1;
  kernel::BodyId value;  ///< the image over outer and summed axes and places

  // Set by lay_out_image.
  int64_t pitch = 1;
  int64_t row_step = 1;            ///< elements of the image between rows of pixels
  int64_t pixel_step = 1;          ///< and between pixels
  std::vector<WindowSteps> steps;  ///< outermost first
  kernel::NodeId image;            ///< a tensor of the code's own
  std::vector<symbolic::Expr> image_axes;
  std::vector<symbolic::Expr> image_store;
  symbolic::Expr image_position = 0;  ///< of pixel 0 at step 0, over the outer axes
};

/// The plan of a kernel, if it is a convolution whose sizes, but for outer axes, are known.
Recognised<ConvolutionPlan> plan_convolution(kernel::Arena& arena, const kernel::Kernel& kernel,
                                             const CpuKernelOptions& options);

/// Elements between rows of pixels that are numbered through, for vectors of so many.
int64_t pixel_pitch(kernel::Arena& arena, const ConvolutionPlan& plan, int lanes);

/// Lays out the image in elements of a dtype, for vectors of so many pixels. Where filters run
/// along the lanes, neighbouring pixels need not be neighbours in memory: only padding is added,
/// and the same row of all channels lies together. Rows may lie a line further apart than they are
/// long, which is neither written nor read.
void lay_out_image(kernel::Arena& arena, ConvolutionPlan& plan, graph::DType dtype,
                   ConvolutionLanes along, int lanes);

}  // namespace luminal::codegen
