#include "luminal/tensor/promotion.h"

#include <algorithm>

namespace luminal {
namespace {

DType promote_floats(DType first, DType second) {
  if (first == second) return first;
  if (graph::bits(first) == graph::bits(second)) return graph::bits(first) == 16 ? f32 : f16;
  return graph::bits(first) > graph::bits(second) ? first : second;
}

DType promote_integers(DType first, DType second) {
  const bool first_unsigned = graph::is_unsigned(first);
  if (first_unsigned == graph::is_unsigned(second))
    return graph::bits(first) > graph::bits(second) ? first : second;
  const int unsigned_bits = graph::bits(first_unsigned ? first : second);
  const int signed_bits = graph::bits(first_unsigned ? second : first);
  const int needed = std::max(unsigned_bits + 1, signed_bits);
  for (DType candidate : {i8, i16, i32})
    if (graph::bits(candidate) >= needed) return candidate;
  return i64;
}

}  // namespace

DType promote(DType first, DType second) {
  if (graph::is_bool(first)) return second;
  if (graph::is_bool(second)) return first;
  if (graph::is_float(first) && graph::is_float(second)) return promote_floats(first, second);
  if (graph::is_float(first)) return first;
  if (graph::is_float(second)) return second;
  return promote_integers(first, second);
}

}  // namespace luminal
