// Suites of whole graphs, written with the tensor API and run the way a user runs them. Every case
// is timed in turn with what the machine can do (bytes moved, products in registers) and with peers
// where they are asked for, so that a disturbance hits all of them alike. Rows go to the terminal
// and to JSON.
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

/// The program of a suite; its options are in the usage text.
int run_suite(const std::string& suite, const std::vector<Case>& cases, int argc, char** argv);

}  // namespace luminal::benchmarks
