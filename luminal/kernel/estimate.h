// A roofline estimate of what a kernel costs, for ranking candidates before anything is measured.
// It counts how often each value is computed and loaded in the kernel's loop nest, in the better of
// two ways to run it: in tiles of the output (contractions use the matrix units, what does not
// depend on an output axis is repeated per tile) or row by row (nothing is repeated, contractions
// are vector work).
#pragma once

#include <initializer_list>
#include <string>

#include "luminal/graph/program.h"
#include "luminal/kernel/nest.h"

namespace luminal::kernel {

/// Ops whose value is approximated by many instructions, so that none is computed twice lightly.
bool is_function(graph::Op op);

/// What a device can do. Rates are per second, of the whole device.
struct Machine {
  std::string name;                 ///< for people
  double launch_us = 2.0;           ///< what a launch costs at least
  double pass_us = 0.4;             ///< synchronising between dependent loops of one kernel
  double memory_bytes = 4.1e12;     ///< that memory gives
  double cache_bytes = 5.5e12;      ///< that caches give
  double vector_flops = 40e12;      ///< of vector units
  double matrix_flops = 500e12;     ///< of matrix units
  double transcendental_flops = 8;  ///< what an exp or a tanh costs, in additions
  int64_t units = 132;              ///< that work independently
  int64_t tile = 128;               ///< outputs per tile and axis
  int64_t row_threads = 128;        ///< what one unit does at once
  bool persistent = false;          ///< a unit keeps what it found before its first tile
  int64_t smallest_matrix = 16;     ///< extents of M and N below which matrix units do not help
  int64_t matrix_nesting = 16;      ///< steps of an outer reduction within which they still do
  double nested_step = 1.0;      ///< what a step of a reduction inside another costs, in additions
  bool matrix_in_online = true;  ///< matrix units help inside an online pass too
  bool stores_operands = false;  ///< what is multiplied and is no load is stored by a launch before

  /// A data-centre GPU.
  static Machine h200();
  /// A CPU: cores with vector units, no separate matrix units.
  static Machine cpu(int64_t cores);
};

/// What a kernel does, in the terms that a machine's constants are prices of.
struct Work {
  double launches = 1.0;      ///< with those that store operands
  double passes = 0.0;        ///< dependent loops
  double memory_bytes = 0.0;  ///< that come from memory
  double cache_bytes = 0.0;   ///< that come from caches
  double vector_flops = 0.0;  ///< of vector units, without functions
  double functions = 0.0;     ///< values of exp, tanh and the like
  double matrix_flops = 0.0;  ///< of matrix units
  double used = 1.0;          ///< the share of the device that has something to do
  bool operator==(const Work&) const = default;
};

/// What a machine takes for it.
double microseconds(const Work& work, const Machine& machine);

/// How a kernel is best run, as far as the estimate knows.
struct Estimate {
  double microseconds = 0.0;  ///< of one run
  double memory_bytes = 0.0;  ///< that come from memory
  double cache_bytes = 0.0;   ///< that come from caches
  double vector_flops = 0.0;  ///< of vector units
  double matrix_flops = 0.0;  ///< of matrix units
  bool tiled = false;         ///< in tiles, not row by row
  size_t launches = 1;        ///< with those that store operands
  Work work;                  ///< what the time is made of
  /// The kernel after the laws that pay, and how its loops are built.
  Kernel kernel;
  NestOptions nest;  ///< options of build_nest
  /// Set if `kernel` writes only a region: the rest must already be there, so the root has to share
  /// the memory of this tensor (update.h).
  std::optional<NodeId> in_place_of = {};
};
/// What an estimate may assume.
struct EstimateOptions {
  /// Values of dims; those not given count as `typical_dim`, within their interval.
  graph::DimValues dims = {};
  int64_t typical_dim = 512;  ///< of a dim that is not named
  /// Allow laws that round elsewhere.
  bool reassociate = true;
};

/// The cheapest way found among laws, nests and modes.
Estimate estimate(Arena& arena, const Kernel& kernel, const Machine& machine,
                  const EstimateOptions& options = {});

/// One way: this kernel with these loops.
Estimate estimate_nest(Arena& arena, const Nest& nest, const Machine& machine,
                       const EstimateOptions& options = {});

/// The time of things that overlap, but never wholly: the longest, and a part of the others.
double overlapped(std::initializer_list<double> times);

/// The number that an extent is taken to be.
double typical_value(const Expr& expr, const EstimateOptions& options);

}  // namespace luminal::kernel
