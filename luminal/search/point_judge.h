// Judges one element of what a candidate gave by what the oracle and its moved runs gave there
// (kernel_expectation.h says how far right kernels are off).
#pragma once

#include <optional>
#include <string>

#include "luminal/graph/array.h"
#include "luminal/kernel/body.h"

namespace luminal::search {

/// How many standard deviations a result may be off. Right kernels of all kinds stay within one or
/// two, and the least mistakes are several times as far (docs/search.md).
inline constexpr double kDeviations = 8.0;

/// What one element should be.
struct ExpectedPoint {
  size_t root = 0;         ///< of the kernel
  int64_t position = 0;    ///< in its tensor
  double oracle = 0.0;     ///< computed as written
  double wide = 0.0;       ///< computed in f64
  double deviation = 0.0;  ///< of moved runs from that
  int64_t integer = 0;     ///< the oracle's, of integers
  /// What all runs lie between, moved ones included, and the same of integers.
  double low = 0.0;
  double high = 0.0;
  int64_t least = 0;
  int64_t most = 0;
  /// A product of many factors may leave the range on the way in one order and not in another: a
  /// candidate that has no number, or 0, may be right.
  bool may_overflow = false;
  bool may_vanish = false;
  /// It is made of a sum that an offset may leave, and one of the two is beyond the range.
  bool offset_escapes = false;
};

/// What only some candidates of a kernel may do.
struct Freedom {
  /// It takes offsets of weights out of sums (leaving_offsets.h): the difference of two infinities
  /// is no number.
  bool takes_offsets_out = false;
};

/// What is said of an element.
struct PointVerdict {
  double away = 0.0;                 ///< 1 is as far off as it may be
  std::optional<std::string> fault;  ///< what is wrong with it
};

/// An element as a number.
double number_at(const graph::Array& array, int64_t position);

/// See above. What is asked of an element depends on what the kernel does.
class PointJudge {
 public:
  PointJudge(const kernel::Arena& arena, const kernel::Kernel& kernel);

  /// `typical` is the deviation of points of this root on the whole: errors may cancel at one of
  /// them, and none is asked to be better.
  PointVerdict judged(const ExpectedPoint& point, const graph::Array& result, double typical,
                      Freedom freedom) const;

  /// Whether results jump where something comes near a tie.
  bool jumps() const { return jumps_; }
  /// Whether a mask may hide what makes a result NaN.
  bool may_hide_nan() const { return may_hide_nan_; }

 private:
  bool is_decided(const ExpectedPoint& point, graph::DType dtype, double allowed) const;
  double few_digits(graph::DType dtype, double value) const;

  bool has_functions_ = false;
  bool jumps_ = false;
  bool may_hide_nan_ = false;
  bool factors_leave_sums_ = false;  ///< an infinite one may, which times 0 is no number
};

}  // namespace luminal::search
