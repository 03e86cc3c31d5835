// What the outputs of a graph should be, and how far from that a program may stray that rounds
// elsewhere: sums in another order, fused products, narrow floats kept in f32. The one place where
// nearness to the oracle is defined.
//
// A fixed tolerance is too wide for small values and too narrow where values cancel, so it is found
// from the graph and the data. The oracle runs four times: as the graph says; in f64 throughout;
// and twice in f64 with every element of the inputs and of results that are rounded moved by a few
// units of its last place, the second time to the other side. An element may lie as far from the
// first two as they and the moved ones lie apart, times kSlack, and a unit of the output's last
// place. What is not rounded at all (integers, copies, maxima) has to be exact, unless it depends
// on what is.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "luminal/graph/program.h"

namespace luminal::graph {

/// An output as it should be.
struct Expected {
  Array value;  ///< the oracle's
  /// In f64 throughout, as near as the dtype holds infinities. Empty: only the value itself will
  /// do.
  std::vector<double> wide;
  /// How far an element may lie from either; infinite where moving the last place changes
  /// everything (a NaN or infinity comes or goes): no value is wrong there.
  std::vector<double> allowed;
  /// A product of many factors may leave the range of the dtype on the way and not in f64: zeros
  /// and infinities of the program are not judged.
  bool has_product = false;
  /// Parts of a sum may be infinities of both signs where the sum is one: a NaN is not judged
  /// there.
  bool has_sum = false;
  /// Whether that may be, by element: in f64 it is finite. Empty: not known, it may be anywhere.
  std::vector<bool> left_range = {};
};

/// How many times the distance between the oracle's runs an element may be away. More where sums
/// are long: their partial sums are rounded too.
inline constexpr double kSlack = 4.0;

/// Relative distance to the next value of a float dtype: what rounding a result once may cost, and
/// for f32 and f64 what a short chain of functions may.
double last_place(DType dtype);

/// Every output of the graph. Effects (prints) are not repeated. The moved runs are made `pairs`
/// times with other moves: with one pair an element in some thousands may agree by chance and be
/// allowed too little, so what seems wrong deserves kManyPairs.
std::vector<Expected> expected_outputs(const Graph& graph, const RunRequest& request,
                                       int pairs = 1);
inline constexpr int kManyPairs = 8;

/// What a trusted program gives, for graphs that the oracle would take too long for. As the oracle
/// finds what is allowed, so it is found here: from how far runs lie apart whose inputs (the
/// weights of every layer among them) are moved by the last place of the narrowest float the graph
/// rounds to, to one side and to the other, `pairs` times. Floats are settled (see below).
using TrustedRun =
    std::function<std::vector<Array>(const std::map<std::string, const Array*>& inputs)>;
std::vector<Expected> expected_of_runs(const Graph& graph, const RunRequest& request,
                                       const TrustedRun& run, int pairs = 1);

/// What an element may be off by is found from how far runs lie apart, which may be little by
/// chance: after this none is asked to be better than all of them are on the whole.
void settle(Expected& expected);

/// An element that is not as it should be.
struct WrongElement {
  std::string place;  ///< "[1, 2]"
  Scalar expected;
  Scalar actual;
  double allowed = 0.0;
};

/// How an output compares.
struct Comparison {
  int64_t size = 0;
  int64_t wrong = 0;
  int64_t undecided = 0;                   ///< elements where nothing would be wrong
  std::optional<WrongElement> worst = {};  ///< the farthest outside, for what is allowed there
  bool same_type = true;                   ///< dtype and extents

  bool passed() const { return same_type && wrong == 0; }
};

/// "3 of 8 elements are wrong; the worst, [1, 2], is 0.5 and should be 1, or nearer than 1e-06".
std::string to_string(const Comparison& comparison);

/// NaN equals NaN, and zeros are equal.
Comparison compare(const Array& actual, const Expected& expected);

}  // namespace luminal::graph
