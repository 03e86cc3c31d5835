// Random numbers from a counter: element k of stream `seed` is a fixed function (Threefry-2x32, 20
// rounds) of seed and k, written in u32 primitives, so every backend gives the same numbers and no
// state is kept. The numbers of one shape are those of any other shape in row-major order.
#pragma once

#include "luminal/tensor/graph.h"
#include "luminal/tensor/tensor.h"

namespace luminal {

/// Uniform u32 bits.
Tensor random_bits(const Graph& graph, const Shape& shape, uint64_t seed);
/// Uniform in [0, 1): multiples of 2^-24, of 2^-53 for f64, and of 2^-b for narrower floats of b
/// significant bits, so that no number rounds to 1.
Tensor rand(const Graph& graph, const Shape& shape, uint64_t seed, DType dtype = f32);
/// Normal with mean 0 and deviation 1 (Box-Muller).
Tensor randn(const Graph& graph, const Shape& shape, uint64_t seed, DType dtype = f32);

}  // namespace luminal
