// Single points of a kernel's results as the oracle computes them, for kernels of which it could
// not compute everything in time, and how far off a right result may be.
#pragma once

#include <span>
#include <vector>

#include "luminal/kernel/evaluate.h"

namespace luminal::search {

/// What the oracle says of one element of a result, and how far off others may be.
struct Point {
  size_t root = 0;
  int64_t position = 0;
  double value = 0.0;
  double tolerance = 0.0;
};

/// Computes points of one kernel on one set of data, all of which it refers to.
class PointOracle {
 public:
  PointOracle(const kernel::Arena& arena, const kernel::Kernel& kernel,
              const graph::DimValues& dims, const kernel::Tensors& tensors);

  /// Of the kernel's axes.
  const std::vector<int64_t>& extents() const { return extents_; }
  bool is_empty() const;
  /// All roots at one position of the axes; tolerances are left 0.
  std::vector<Point> at(std::span<const int64_t> axes);

 private:
  const kernel::Arena& arena_;
  const kernel::Kernel& kernel_;
  kernel::Evaluator evaluator_;
  std::vector<int64_t> extents_;
  std::vector<graph::Extents> shapes_;
};

/// Every float moved by a unit in its last place, up or down.
kernel::Tensors nudged(const kernel::Tensors& tensors, uint64_t seed);

/// Values that the oracle computes for one point, about.
double work_per_point(const kernel::Arena& arena, const kernel::Kernel& kernel,
                      const graph::DimValues& dims);

}  // namespace luminal::search
