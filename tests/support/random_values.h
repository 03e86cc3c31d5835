// Random data of every dtype: ordinary values, and the special ones that break wrong rewrites (NaN,
// infinities, zeros of both signs, denormals, ends of ranges).
#pragma once

#include <vector>

#include "luminal/graph/array.h"
#include "luminal/graph/scalar.h"
#include "random.h"

namespace luminal::test {

/// One value.
graph::Scalar random_scalar(Random& random, graph::DType dtype);
/// Data of these extents.
graph::Array random_array(Random& random, graph::DType dtype, const graph::Extents& extents);
/// The special values of a dtype, those that it rounds to one value once.
std::vector<graph::Scalar> special_scalars(graph::DType dtype);
/// Any dtype.
graph::DType random_dtype(Random& random);

/// The same dtype, extents and values: bits must agree, but any NaN matches any NaN.
bool same_values(const graph::Array& a, const graph::Array& b);

}  // namespace luminal::test
