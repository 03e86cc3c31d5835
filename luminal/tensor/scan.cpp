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

template <typename Combine>
Tensor scan(const char* name, const Tensor& x, int axis, const Scalar& identity, Combine combine) {
  const int k = graph::normalize_axis(name, axis, x.rank());
  const int64_t extent = largest_extent(name, x.dim(k));
  Tensor result = x;
  for (int64_t distance = 1; distance < extent; distance *= 2)
    result = combine(shifted(result, k, distance, identity), result);
  return result;
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
