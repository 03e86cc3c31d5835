#include "luminal/tensor/scan.h"

#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"

namespace luminal {
namespace {

/// Every result is the reduction of all elements up to its own, which code generators and the
/// interpreter know for what it is: nothing is added twice.
Tensor scan(graph::Op op, const char* name, const Tensor& x, int axis, const Scalar& identity) {
  const auto k = static_cast<size_t>(graph::normalize_axis(name, axis, x.rank()));
  Shape domain = x.shape();
  domain.push_back(x.dim(static_cast<int>(k)));
  std::vector<Dim> index;
  for (size_t i = 0; i < domain.size(); ++i)
    index.push_back(Dim::axis(static_cast<int64_t>(i), domain[i]));
  const Dim earlier = index.back();
  const graph::Condition seen{index[k] - earlier, domain[k]};
  index[k] = earlier;
  index.pop_back();
  const graph::View prefixes(x.shape(), domain, index, {seen}, identity);
  Tensor source = x;
  auto view = graph::View::compose(x.edge().view, prefixes);
  if (!view) {
    source = build::materialize(x);
    view = prefixes;
  }
  return build::apply(op, {build::with_view(source, *view)}, graph::ReduceAttribute{1});
}

Tensor record(const char* name, const Tensor& x, int axis, const Tensor& result) {
  return build::named(name, {x},
                      {{"axis", static_cast<int64_t>(graph::normalize_axis(name, axis, x.rank()))}},
                      result);
}

/// Sums and products: integers in i64, narrow floats in f32.
Tensor accumulate(graph::Op op, const char* name, const Tensor& x, int axis, int identity) {
  Tensor input = graph::is_float(x.dtype()) ? x : cast(x, i64);
  Tensor wide = build::widen(input);
  Tensor result = scan(op, name, wide, axis, Scalar::of(wide.dtype(), identity));
  return record(name, input, axis, cast(result, input.dtype()));
}

Tensor running_maximum(const char* name, const Tensor& x, int axis) {
  return scan(graph::Op::kReduceMax, name, x, axis, Scalar::lowest(x.dtype()));
}

}  // namespace

Tensor cumsum(const Tensor& x, int axis) {
  return accumulate(graph::Op::kSum, "cumsum", x, axis, 0);
}

Tensor cumprod(const Tensor& x, int axis) {
  return accumulate(graph::Op::kProd, "cumprod", x, axis, 1);
}

Tensor cummax(const Tensor& x, int axis) {
  return record("cummax", x, axis, running_maximum("cummax", x, axis));
}

Tensor cummin(const Tensor& x, int axis) {
  // ~ reverses the order of integers without overflow, - that of floats.
  Tensor result = graph::is_float(x.dtype()) ? -running_maximum("cummin", -x, axis)
                                             : bit_not(running_maximum("cummin", bit_not(x), axis));
  return record("cummin", x, axis, result);
}

}  // namespace luminal
