// The graphs that suites time and tests look at, written with the tensor API.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "luminal/luminal.h"

namespace luminal::benchmarks {

/// Numbers from `low` to `high`.
struct Interval {
  float low = -1.0F;
  float high = 1.0F;
};

/// Rows of so many elements make arrays larger than caches, of as many bytes in all dtypes.
constexpr int64_t kSide = 4096;
inline int64_t rows_of(DType dtype) { return kSide * graph::bits(f32) / graph::bits(dtype); }

/// A graph to be timed. Inputs are filled with random numbers.
struct Network {
  Graph graph;
  Interval values = {};  ///< what the inputs hold
  std::vector<Tensor> inputs = {};
  std::vector<Tensor> outputs = {};

  /// One more input.
  Tensor input(const Extents& extents, DType dtype);
  /// One more input whose data stays the same from run to run, as in the networks of peers.
  Tensor weight(const Extents& extents, DType dtype);
};

/// One row of a suite: what runs, and the least it has to move and to compute.
struct Case {
  std::string name;  ///< peers.py knows it by this name and its dtype
  DType dtype;
  std::function<void(Network& network)> write;
  double flops = 0;  ///< of products; 0 where only bytes count
};

}  // namespace luminal::benchmarks
