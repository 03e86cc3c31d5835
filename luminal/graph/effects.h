// What kPrint and kDiff write while a graph runs: a glance at a tensor, and its comparison with
// reference values.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "luminal/graph/array.h"
#include "luminal/graph/node.h"

namespace luminal::graph {

/// Writes one line: "hidden: f32[2, 512] = 1 2 3 ... 4 5 6 ... 7 8 9" (first, middle and last
/// values).
void print_glance(std::ostream& text, const std::string& label, const Array& array);

/// "[3, 17]": where a row-major position is.
std::string coordinates(int64_t position, const Extents& extents);

/// One element of a comparison.
struct DiffElement {
  int64_t position;  // row-major
  double ours;
  double reference;
  double distance;  // infinite if only one side is NaN
};

/// How two arrays differ. An element passes if |ours - reference| <= absolute + relative *
/// |reference|, if both are NaN, or if both are the same infinity.
struct DiffReport {
  bool same_shape = true;
  int64_t size = 0;
  int64_t failed = 0;
  int64_t our_nans = 0;
  int64_t reference_nans = 0;
  int64_t unmatched_nans = 0;  // on one side only
  // Over the elements where neither side is NaN.
  double mean_distance = 0.0;
  double max_distance = 0.0;
  /// Distances that 50, 90, 99 and 99.9 % of the elements do not exceed.
  double percentiles[4] = {};
  /// At most ten, the worst first; elements without any distance are left out.
  std::vector<DiffElement> worst;

  bool passed() const { return same_shape && failed == 0; }
};

/// Compares element by element, as doubles.
DiffReport compare(const Array& ours, const Array& reference, double absolute_tolerance,
                   double relative_tolerance);

/// The reference values for `ours` in a file: .npy by its first bytes, else raw data of the dtype
/// and shape of `ours`. bf16 and f8 references in .npy files are unsigned integers (npy.h). Throws
/// UserError if the file is missing or is no such data.
Array load_reference(const std::string& file, const Array& ours);

/// Compares with the file and writes the report.
void print_diff(std::ostream& text, const DiffAttribute& attribute, const Array& ours);

}  // namespace luminal::graph
