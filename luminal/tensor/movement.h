// Movement: which element goes where. None of these moves data: they change the view through which
// a node is seen (concat, stack and roll select between views; pad copies first only if the tensor
// is already padded with another value). Axes may be negative, counting from the end.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/tensor.h"

namespace luminal {

/// Row-major reshape; one extent may be -1 and is then computed.
Tensor reshape(const Tensor& x, const Shape& shape);
/// Axis k of the result is axis axes[k] of x.
Tensor permute(const Tensor& x, const std::vector<int>& axes);
/// Two axes swapped; the last two unless said.
Tensor transpose(const Tensor& x, int axis_a = -2, int axis_b = -1);
/// NumPy broadcasting to `shape`; an extent of -1 keeps the axis as it is.
Tensor expand(const Tensor& x, const Shape& shape);
/// Removes axes of extent 1: the named ones, or all.
Tensor squeeze(const Tensor& x);
Tensor squeeze(const Tensor& x, const std::vector<int>& axes);  ///< negative axes count backwards
/// Inserts an axis of extent 1, so that it is axis `axis` of the result.
Tensor unsqueeze(const Tensor& x, int axis);
/// Axes first..last become one.
Tensor flatten(const Tensor& x, int first = 0, int last = -1);
/// One axis becomes several; one extent may be -1.
Tensor split_dims(const Tensor& x, int axis, const Shape& extents);
/// `count` neighbouring axes become one.
Tensor merge_dims(const Tensor& x, int first, int count = 2);

/// A range of positions of one axis, as in Python: negative constants count from the end, bounds
/// past the ends are clipped (where that can be decided), the step may be negative.
struct Range {
  std::optional<Dim> begin = std::nullopt;  ///< 0, or the last one if the step is negative
  std::optional<Dim> end = std::nullopt;    ///< one past the last position
  int64_t step = 1;                         ///< from one position to the next; not 0
};
Tensor slice(const Tensor& x, int axis, const Range& range);  ///< one axis
/// The first axes sliced, one range each.
Tensor slice(const Tensor& x, const std::vector<Range>& ranges);
/// One position of an axis; the axis is removed.
Tensor select(const Tensor& x, int axis, const Dim& position);

/// What stands in the added elements.
enum class PadMode { kConstant, kReflect, kReplicate, kCircular };
/// Elements added before and after one axis.
struct Padding {
  Dim before = 0;  ///< the first
  Dim after = 0;   ///< the last
};
/// Pads the last paddings.size() axes, in axis order. Negative amounts crop (constant mode).
Tensor pad(const Tensor& x, const std::vector<Padding>& paddings, PadMode mode = PadMode::kConstant,
           const Value& value = 0);
/// Pads one axis.
Tensor pad(const Tensor& x, int axis, const Padding& padding, PadMode mode = PadMode::kConstant,
           const Value& value = 0);

/// Order of elements reversed along the axes.
Tensor flip(const Tensor& x, const std::vector<int>& axes);
/// Elements moved by `shift` positions along the axis, those that fall off re-enter at the other
/// end.
Tensor roll(const Tensor& x, const Dim& shift, int axis);
/// Each element `count` times in a row along the axis.
Tensor repeat(const Tensor& x, int64_t count, int axis);
/// The whole tensor repeated counts[k] times along axis k; missing leading axes are added.
Tensor tile(const Tensor& x, const std::vector<int64_t>& counts);
/// Pieces of equal extent (the last may be smaller) along the axis; needs a known extent.
std::vector<Tensor> chunk(const Tensor& x, int64_t count, int axis);
/// Pieces of the given extents.
std::vector<Tensor> split(const Tensor& x, const std::vector<Dim>& extents, int axis);
/// Joined along an existing axis.
Tensor concat(const std::vector<Tensor>& tensors, int axis);
/// x with its elements from `begin` on along the axis replaced by `values`, whose other extents are
/// those of x: new rows of a cache. What would lie outside of x is left out.
Tensor update_slice(const Tensor& x, int axis, const Dim& begin, const Tensor& values);
/// Joined along a new axis.
Tensor stack(const std::vector<Tensor>& tensors, int axis = 0);
/// Windows of `size` elements along the axis: positions stay in place, the window becomes the last
/// axis.
Tensor unfold(const Tensor& x, int axis, const Dim& size, const Dim& stride = 1,
              const Dim& dilation = 1);
/// The diagonal x[i, i + offset] of two axes, as the last axis of the result.
Tensor diagonal(const Tensor& x, int64_t offset = 0, int axis_a = -2, int axis_b = -1);
/// Data laid out as it is seen, as a node of its own.
Tensor contiguous(const Tensor& x);

}  // namespace luminal
