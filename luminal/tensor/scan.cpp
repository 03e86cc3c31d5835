#include "luminal/tensor/scan.h"

#include "luminal/support/error.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/movement.h"

namespace luminal {
namespace {

/// The largest extent the axis can have.
int64_t largest_extent(std::string_view operation, const Dim& extent) {
  const int64_t bound = extent.bounds().hi;
  if (bound == symbolic::kUnbounded)
    throw UserError(
        operation,
        "the extent {} has no upper bound; declare its dims with Graph::dim(name, lowest, highest)",
        extent);
  return bound;
}

/// x moved `distance` positions toward the end; `identity` stands where nothing was.
Tensor shifted(const Tensor& x, int axis, int64_t distance, const Scalar& identity) {
  return build::pad_axis(x, axis, distance, -distance, identity);
}

/// Elements that are scanned together; longer axes are blocks of so many.
constexpr int64_t kBlock = 16;

/// Step k combines every element with the one 2^k before it.
template <typename Combine>
Tensor scan_in_steps(const Tensor& x, int axis, int64_t extent, const Scalar& identity,
                     Combine combine) {
  Tensor result = x;
  for (int64_t distance = 1; distance < extent; distance *= 2)
    result = combine(shifted(result, axis, distance, identity), result);
  return result;
}

/// A known extent in blocks: each is scanned alone, then everything before it is added, which is
/// the scan of the blocks' totals. Work grows with the extent, not with its logarithm too.
template <typename Combine>
Tensor scan_in_blocks(const Tensor& x, int axis, int64_t extent, const Scalar& identity,
                      Combine combine) {
  if (extent <= 2 * kBlock) return scan_in_steps(x, axis, extent, identity, combine);
  const int64_t blocks = (extent + kBlock - 1) / kBlock;
  Tensor padded = build::pad_axis(x, axis, 0, blocks * kBlock - extent, identity);
  Tensor inside = scan_in_steps(split_dims(padded, axis, {blocks, kBlock}), axis + 1, kBlock,
                                identity, combine);
  Tensor totals =
      scan_in_blocks(select(inside, axis + 1, kBlock - 1), axis, blocks, identity, combine);
  Tensor before = expand(unsqueeze(shifted(totals, axis, 1, identity), axis + 1), inside.shape());
  return slice(merge_dims(combine(before, inside), axis), axis, {.end = extent});
}

template <typename Combine>
Tensor scan(const char* name, const Tensor& x, int axis, const Scalar& identity, Combine combine) {
  const int k = graph::normalize_axis(name, axis, x.rank());
  const int64_t extent = largest_extent(name, x.dim(k));
  if (x.dim(k).is_constant(extent)) return scan_in_blocks(x, k, extent, identity, combine);
  return scan_in_steps(x, k, extent, identity, combine);
}

Tensor record(const char* name, const Tensor& x, int axis, const Tensor& result) {
  return build::named(name, {x},
                      {{"axis", static_cast<int64_t>(graph::normalize_axis(name, axis, x.rank()))}},
                      result);
}

/// Sums and products: integers in i64, narrow floats in f32.
template <typename Combine>
Tensor accumulate(const char* name, const Tensor& x, int axis, int identity, Combine combine) {
  Tensor input = graph::is_float(x.dtype()) ? x : cast(x, i64);
  Tensor wide = build::widen(input);
  Tensor result = scan(name, wide, axis, Scalar::of(wide.dtype(), identity), combine);
  return record(name, input, axis, cast(result, input.dtype()));
}

}  // namespace

Tensor cumsum(const Tensor& x, int axis) {
  return accumulate("cumsum", x, axis, 0,
                    [](const Tensor& before, const Tensor& here) { return before + here; });
}

Tensor cumprod(const Tensor& x, int axis) {
  return accumulate("cumprod", x, axis, 1,
                    [](const Tensor& before, const Tensor& here) { return before * here; });
}

Tensor cummax(const Tensor& x, int axis) {
  Tensor result =
      scan("cummax", x, axis, Scalar::lowest(x.dtype()),
           [](const Tensor& before, const Tensor& here) { return maximum(before, here); });
  return record("cummax", x, axis, result);
}

Tensor cummin(const Tensor& x, int axis) {
  Tensor result =
      scan("cummin", x, axis, Scalar::highest(x.dtype()),
           [](const Tensor& before, const Tensor& here) { return minimum(before, here); });
  return record("cummin", x, axis, result);
}

}  // namespace luminal
