#include "luminal/tensor/sorting.h"

#include "luminal/support/error.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/indexing.h"
#include "luminal/tensor/movement.h"

namespace luminal {

Tensor argsort(const Tensor& x, int axis, bool descending) {
  const int k = graph::normalize_axis("argsort", axis, x.rank());
  Tensor order =
      build::apply(graph::Op::kArgSort, {transpose(x, k, -1)}, graph::ArgSortAttribute{descending});
  return transpose(order, k, -1);
}

Sorted sort(const Tensor& x, int axis, bool descending) {
  const int k = graph::normalize_axis("sort", axis, x.rank());
  Tensor indices = argsort(x, k, descending);
  Tensor values = gather(x, k, indices);
  return {build::named("sort", {x}, {{"axis", static_cast<int64_t>(k)}, {"descending", descending}},
                       values),
          indices};
}

Sorted topk(const Tensor& x, const Dim& k, int axis, bool largest) {
  const int a = graph::normalize_axis("topk", axis, x.rank());
  if (k.bounds().hi < 0 || symbolic::provably_less(x.dim(a), k))
    throw UserError("topk", "cannot take {} of {} elements along axis {}", k, x.dim(a), axis);
  Tensor indices = slice(argsort(x, a, largest), a, {.end = k});
  Tensor values = gather(x, a, indices);
  return {build::named("topk", {x},
                       {{"axis", static_cast<int64_t>(a)}, {"k", k}, {"largest", largest}}, values),
          indices};
}

}  // namespace luminal
