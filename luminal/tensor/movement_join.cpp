// Cutting a tensor into pieces and joining pieces: the part of movement.h that chooses between
// views.
#include <algorithm>

#include "luminal/support/error.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/movement.h"
#include "luminal/tensor/promotion.h"

namespace luminal {
namespace {

using graph::normalize_axis;

size_t at(int axis) { return static_cast<size_t>(axis); }

/// The parts cast to one dtype, with equal shapes but for `axis`.
std::vector<Tensor> check_parts(const std::vector<Tensor>& tensors, int axis) {
  DType dtype = tensors[0].dtype();
  for (const Tensor& part : tensors) dtype = promote(dtype, part.dtype());
  std::vector<Tensor> parts;
  for (const Tensor& part : tensors) {
    bool fits = part.rank() == tensors[0].rank();
    for (int k = 0; fits && k < part.rank(); ++k)
      fits = k == axis || part.dim(k) == tensors[0].dim(k);
    if (!fits)
      throw UserError("concat", "shapes {} and {} differ outside of axis {}",
                      graph::to_string(tensors[0].shape()), graph::to_string(part.shape()), axis);
    parts.push_back(cast(part, dtype));
  }
  return parts;
}

/// The parts joined along the axis. Halves are joined first, so that an element passes through
/// log(parts) choices instead of one per part.
Tensor join(std::span<const Tensor> parts, int axis) {
  if (parts.size() == 1) return parts[0];
  const Tensor left = join(parts.first(parts.size() / 2), axis);
  const Tensor right = join(parts.subspan(parts.size() / 2), axis);
  const Dim border = left.dim(axis);
  Shape shape = left.shape();
  shape[at(axis)] = border + right.dim(axis);
  const std::shared_ptr<GraphState>& state = left.state();
  graph::NodeId in_left = state->graph.add_iota(
      boolean, shape, symbolic::less(Dim::axis(axis, shape[at(axis)]), border));
  return where(Tensor(state, state->graph.whole(in_left)), pad(left, axis, {0, right.dim(axis)}),
               pad(right, axis, {border, 0}));
}

}  // namespace

std::vector<Tensor> chunk(const Tensor& x, int64_t count, int axis) {
  const int k = normalize_axis("chunk", axis, x.rank());
  const std::optional<int64_t> extent = x.dim(k).constant_value();
  if (count < 1) throw UserError("chunk", "cannot cut into {} pieces", count);
  if (!extent)
    throw UserError("chunk", "axis {} has the symbolic extent {}; use split with extents", axis,
                    x.dim(k));
  const int64_t piece = std::max<int64_t>(1, (*extent + count - 1) / count);
  std::vector<Tensor> pieces;
  for (int64_t begin = 0; begin < std::max<int64_t>(1, *extent); begin += piece)
    pieces.push_back(slice(x, k, {.begin = begin, .end = begin + piece}));
  return pieces;
}

std::vector<Tensor> split(const Tensor& x, const std::vector<Dim>& extents, int axis) {
  const int k = normalize_axis("split", axis, x.rank());
  Dim begin = 0;
  std::vector<Tensor> pieces;
  for (const Dim& extent : extents) {
    if (extent.bounds().lo < 0)
      throw UserError("split", "the extent {} of a piece may be negative", extent);
    pieces.push_back(slice(x, k, {.begin = begin, .end = begin + extent}));
    begin = begin + extent;
  }
  if (!symbolic::provably_equal(begin, x.dim(k)))
    throw UserError("split", "the pieces add up to {}, but axis {} of {} has extent {}", begin,
                    axis, graph::to_string(x.shape()), x.dim(k));
  return pieces;
}

Tensor concat(const std::vector<Tensor>& tensors, int axis) {
  if (tensors.empty()) throw UserError("concat", "needs at least one tensor");
  build::check_same_graph("concat", tensors);
  const int k = normalize_axis("concat", axis, tensors[0].rank());
  const std::vector<Tensor> parts = check_parts(tensors, k);
  if (parts.size() == 1) return parts[0];
  return build::named("concat", parts, {{"axis", static_cast<int64_t>(k)}}, join(parts, k));
}

Tensor update_slice(const Tensor& x, int axis, const Dim& begin, const Tensor& values) {
  const int k = normalize_axis("update_slice", axis, x.rank());
  bool fits = values.rank() == x.rank() && values.dtype() == x.dtype();
  for (int d = 0; fits && d < x.rank(); ++d) fits = d == k || values.dim(d) == x.dim(d);
  if (!fits)
    throw UserError("update_slice", "{}{} does not fit into {}{} along axis {}", values.dtype(),
                    graph::to_string(values.shape()), x.dtype(), graph::to_string(x.shape()), axis);
  build::check_same_graph("update_slice", std::vector<Tensor>{x, values});
  const Dim end = begin + values.dim(k);
  if (begin.bounds().hi < 0 || symbolic::provably_less(x.dim(k), end))
    throw UserError("update_slice", "[{}, {}) is not inside of axis {} of {}{}", begin, end, axis,
                    x.dtype(), graph::to_string(x.shape()));
  const Dim position = Dim::axis(k, x.dim(k));
  const std::shared_ptr<GraphState>& state = x.state();
  const graph::NodeId inside =
      state->graph.add_iota(boolean, x.shape(),
                            symbolic::logical_and(symbolic::greater_equal(position, begin),
                                                  symbolic::less(position, end)));
  return where(Tensor(state, state->graph.whole(inside)), pad(values, k, {begin, x.dim(k) - end}),
               x);
}

Tensor stack(const std::vector<Tensor>& tensors, int axis) {
  if (tensors.empty()) throw UserError("stack", "needs at least one tensor");
  const int position = normalize_axis("stack", axis, tensors[0].rank() + 1);
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors) {
    if (tensor.shape() != tensors[0].shape())
      throw UserError("stack", "shapes {} and {} differ", graph::to_string(tensors[0].shape()),
                      graph::to_string(tensor.shape()));
    parts.push_back(unsqueeze(tensor, position));
  }
  return concat(parts, position);
}

}  // namespace luminal
