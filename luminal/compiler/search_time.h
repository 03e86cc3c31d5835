// How the time of a search is dealt out: to several plans, if one search is for several, and of
// what one plan has to structures, to schedules of kernels and to comparing whole plans. And when a
// search ends before its time.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "luminal/compiler/search_options.h"
#include "luminal/graph/program.h"
#include "luminal/search/interrupt.h"

namespace luminal::search {
struct MeasureOptions;
}  // namespace luminal::search

namespace luminal::compiler {

/// What one plan has of a search for several, as buckets are.
struct SearchPart {
  double seconds = 0.0;  ///< how long to measure for it
  /// An equal share of the whole: what another search has to exceed to go on. What plans leave to
  /// each other differs from search to search.
  double share = 0.0;
  size_t plans = 1;  ///< of the search, which have to hurry together after an interrupt

  /// What counts as used up when it is over: what it had. Plans take a little longer than they
  /// may, so nearly its share is its share; one of which others took more gets it next time.
  double spent() const;
};

/// What the next of several plans has, when so many are done and so much time has passed: an equal
/// part of what is left.
SearchPart next_part(double seconds, double elapsed, size_t plans, size_t done);

/// Plans of which a run takes more microseconds are compared with the plan of the cost model only
/// if they are the best: loading each of them takes seconds.
inline constexpr double kLongRun = 20'000;

/// What making data of a graph for whole plans, and comparing what they give, takes about.
double seconds_of_data(const graph::Graph& graph, const graph::DimValues& dims);

/// The time of one plan, from when this is made on.
class SearchTime {
 public:
  /// `known_run_us` gives what is known of how long a run of the first structure takes. The options
  /// must outlive it.
  SearchTime(const SearchOptions& search, const SearchPart& part, double data_seconds,
             std::function<double()> known_run_us);

  const SearchPart& part() const { return part_; }
  /// Whether it was said that the search should end.
  bool is_stopped() const;

  /// Whether another schedule may be tried: the rest is for comparing plans.
  bool may_tune() const { return may_measure(1.0 - part_for_plans()); }
  /// Whether another structure may be begun. Structures cost time, too, but what is found without
  /// measuring must not depend on the clock.
  bool may_explore() const;
  /// Whether other launches may be looked for, which takes next to no time.
  bool may_explore_launches() const { return is_measuring() ? may_measure(1.0) : !is_stopped(); }
  /// Whether another plan may be timed.
  bool may_compare() const;

  /// What is left for schedules.
  double seconds_for_kernels() const;
  /// What is left for whole plans. The first of them is timed even if that is too little, for it is
  /// the least that a search does. `is_hurried`: the search was interrupted.
  double seconds_for_plans(bool is_hurried, bool is_first) const;
  /// What timing one plan takes at least.
  double seconds_per_plan() const;
  /// How plans are timed: neither a short search nor one that was interrupted spends seconds on it.
  search::MeasureOptions plan_timing(bool is_hurried) const;

 private:
  bool is_measuring() const { return search_.seconds > 0; }
  double elapsed() const;
  /// When no more is begun.
  double end() const;
  /// Whether there is time as long as no more than this part of it is over.
  bool may_measure(double part) const;
  /// Of the time, for comparing whole plans.
  double part_for_plans() const;
  double known_run_seconds() const { return known_run_us_() * 1e-6; }
  /// After an interrupt.
  double hurry() const;

  const SearchOptions& search_;
  const SearchPart part_;
  double data_seconds_;
  std::function<double()> known_run_us_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<search::InterruptWatch> watch_;
};

}  // namespace luminal::compiler
