// What a kernel should give on one set of data, and how far from that a right candidate may be.
//
// The limit follows from the kernel and the data. Sampled points are computed by the oracle; in
// f64; and in f64 with every value, partial sums too, moved by chance by what its rounding may cost
// (point_oracle.h). How far the moved ones lie from the f64 ones is the standard deviation of what
// a right kernel gives, whatever the order of its sums; kDeviations of them are allowed. The
// rounding of a result itself is not part of that: a candidate has to lie between the results of
// rounding the lower and the upper limit. Where all of these are NaN a candidate has to be, too,
// unless a mask may hide what made it so: what a reduction does not see may count as 0
// (docs/kernels.md).
//
// All other elements are compared with the first candidate that passed. Where two differ by more
// than they may, or one of them is NaN or infinite, the oracle is asked who is right. Functions
// that end in bf16 or f8 have a few digits more than bf16 and no others, so one that comes near the
// middle between two may be rounded to either. Infinities and zeros of products of many factors are
// not judged where these might leave the range on the way, in whichever order.
//
// What is rounded to integers or compared jumps where its operand comes near a tie, and of a
// million elements some do. So integers are never asked to be as good as others are: each is
// judged by its own moved runs, and may be what any of them gives or what lies between. What seems
// wrong is asked about again with many runs that are moved farther (graph/expected.h does the same
// for whole plans) before it counts.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "luminal/search/kernel_data.h"
#include "luminal/search/point_judge.h"
#include "luminal/search/point_oracle.h"

namespace luminal::search {

/// How many points are computed.
struct PointCounts {
  /// Values of bodies that the oracle may compute, about: fewer points where each takes long.
  double oracle_work = 3e5;
  int least = 6;
  int most = 48;
  int most_cheap = 192;  ///< where each takes next to no time

  /// Fewer, where others are computed as well.
  PointCounts some() const { return {oracle_work / 4, least / 2, most / 4, most_cheap / 4}; }
  /// As many, but fewer of those that take long: how far results may be off is known.
  PointCounts few() const { return {oracle_work, least / 2, most, most_cheap}; }
  /// How many points there are, if each has so many values.
  int with_work(double work) const;
};

/// What computing points on ordinary and on special data takes, about, as long as nobody knows.
double seconds_of_points(const kernel::Arena& arena, const kernel::Kernel& kernel,
                         const graph::DimValues& dims);

/// See above.
class KernelExpectation {
 public:
  /// `ordinary` is the expectation on ordinary data, which says how far results are off where
  /// nothing special is near; null for that one itself. The arena and kernel must outlive it.
  KernelExpectation(const kernel::Arena& arena, const kernel::Kernel& kernel,
                    const graph::DimValues& dims, DataKind kind, uint64_t seed,
                    const PointCounts& counts, const KernelExpectation* ordinary);

  DataKind kind() const { return kind_; }
  const kernel::Tensors& data() const { return data_; }

  /// What is wrong with results, by root; nothing if they are right. The first that are right are
  /// kept: later ones are compared with all of their elements.
  std::optional<std::string> fault(std::vector<graph::Array> results, Freedom freedom = {});
  /// Whether there are results that were right.
  bool has_first() const { return !results_.empty(); }
  /// What the oracle found wrong with the first results when later ones differed; those are
  /// compared with since.
  const std::optional<std::string>& fault_of_first() const { return fault_of_first_; }
  /// How near the farthest of the last results came to its limit: 1 is as far as it may be.
  double farthest() const { return farthest_; }
  /// Whether a point asks for values outside of tensors, which no graph that may run looks at.
  bool reads_outside() const { return reads_outside_; }

 private:
  class Oracles;
  void add_points(uint64_t seed, const PointCounts& counts);
  void settle(const KernelExpectation* ordinary);
  size_t largest_of(const std::vector<double>& deviations) const;
  PointVerdict judged(const ExpectedPoint& point, const graph::Array& result,
                      Freedom freedom) const;
  /// The same point with many moved runs; nothing if nobody knows where it is computed.
  const std::optional<ExpectedPoint>& asked_again(size_t root, int64_t position);
  /// What is said of a point, by many moved runs if it seems to be wrong by a few.
  PointVerdict confirmed(const ExpectedPoint& point, const graph::Array& result, Freedom freedom);
  /// Of the sampled points, the farthest that is wrong.
  std::optional<std::string> fault_at_points(const std::vector<graph::Array>& results);
  /// Of the first candidate: what is no number is rare on data without infinities, and others would
  /// have it from the same code.
  std::optional<std::string> fault_of_no_numbers(size_t root, const graph::Array& result);
  std::optional<std::string> fault_beside(size_t root, const graph::Array& result);
  /// Elements that differ from those of the first candidate by more than they may.
  std::vector<int64_t> disputed_integers(size_t root, const graph::Array& result) const;
  std::vector<int64_t> disputed_floats(size_t root, const graph::Array& result) const;
  /// Of elements that differ from those of the first candidate.
  std::optional<std::string> fault_among(const std::vector<int64_t>& positions, size_t root,
                                         const graph::Array& result);

  const kernel::Arena* arena_;
  const kernel::Kernel* kernel_;
  graph::DimValues dims_;
  DataKind kind_;
  uint64_t seed_;
  PointJudge judge_;
  double work_;  // values of one point
  LeavingOffsets offsets_;
  size_t most_asked_ = 1;  // elements of one result that the oracle is asked about
  int many_runs_ = 1;      // moved runs of one of them
  bool reads_outside_ = false;
  kernel::Tensors data_;
  std::vector<ExpectedPoint> points_;
  std::map<std::pair<size_t, int64_t>, std::optional<ExpectedPoint>>
      again_;  // by root and position
  // By root: deviations of points on ordinary data on the whole, the same relative to how large
  // results are, and the largest of all points, or of most.
  std::vector<double> typical_;
  std::vector<double> relative_;
  std::vector<double> largest_;
  std::vector<graph::Array> results_;  // of the first candidate that passed
  Freedom freedom_ = {};               // of the candidate that is being judged
  Freedom freedom_of_first_ = {};
  std::optional<std::string> fault_of_first_;
  double farthest_ = 0.0;
};

}  // namespace luminal::search
