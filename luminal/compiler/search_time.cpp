#include "luminal/compiler/search_time.h"

#include <algorithm>
#include <utility>

#include "luminal/graph/query.h"
#include "luminal/search/measure.h"
#include "luminal/search/trial_time.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::compiler {
namespace {

/// What part of the time is kept for timing whole plans: as much as comparing takes in so many
/// runs, within limits.
constexpr double kLeastForPlans = 0.2;
constexpr double kMostForPlans = 0.6;
constexpr double kRunsOfPlans = 60;
/// Runs of each of them, at least; and about as many of kernels that nothing is known of yet.
constexpr double kRunsOfPlan = 15;
/// What making data of a plan, moving it, laying out weights for every run that is moved, and
/// comparing results take, for every byte of them.
constexpr double kSecondsOfDataPerByte = 1.3e-8;
/// Seconds that plans are compared for after an interrupt: who interrupts a search waits.
constexpr double kHurry = 4;
/// What is left when nothing more is begun, because what is in flight has to end and the plan to be
/// written: this part of the time; in short searches these seconds, but no more than the last part.
constexpr double kLeftAtEnd = 0.03;
constexpr double kSecondsAtEnd = 0.7;
constexpr double kMostAtEnd = 0.1;
/// When no more structures are begun: the rest is for schedules of the best.
constexpr double kForStructures = 0.5;

}  // namespace

double SearchPart::spent() const {
  constexpr double kNearly = 0.8;
  return seconds < kNearly * share ? seconds : std::max(seconds, share);
}

SearchPart next_part(double seconds, double elapsed, size_t plans, size_t done) {
  // With no time at all it would go by what is known, and not be remembered.
  constexpr double kLeast = 1e-3;
  const double share = seconds / static_cast<double>(plans);
  const double left = (seconds - elapsed) / static_cast<double>(plans - std::min(done, plans - 1));
  return {std::max(left, kLeast * share), share, plans};
}

double seconds_of_data(const graph::Graph& graph, const graph::DimValues& dims) {
  const graph::GraphStatistics counted = graph::statistics(graph);
  const symbolic::Values values(dims.begin(), dims.end());
  const int64_t bytes = symbolic::evaluate(counted.input_bytes + counted.output_bytes, values);
  const double seconds = kSecondsOfDataPerByte * static_cast<double>(bytes);
  return seconds < search::kLeastDataSeconds ? 0.0 : seconds;
}

SearchTime::SearchTime(const SearchOptions& search, const SearchPart& part, double data_seconds,
                       std::function<double()> known_run_us)
    : search_(search),
      part_(part),
      data_seconds_(data_seconds),
      known_run_us_(std::move(known_run_us)) {
  if (search.interruptible) watch_.emplace();
}

bool SearchTime::is_stopped() const {
  return (search_.cancel != nullptr && search_.cancel->load()) ||
         (watch_ && search::InterruptWatch::was_interrupted());
}

double SearchTime::elapsed() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

bool SearchTime::may_measure(double part) const {
  return is_measuring() && elapsed() < part * search_.seconds && !is_stopped();
}

bool SearchTime::may_explore() const {
  if (!is_measuring()) return !is_stopped();
  // A structure is of new kernels mostly, of which nobody knows how long they take.
  return may_measure(kForStructures) && kRunsOfPlan * known_run_seconds() <= seconds_for_kernels();
}

double SearchTime::end() const {
  const double left =
      std::max(kLeftAtEnd * search_.seconds, std::min(kSecondsAtEnd, kMostAtEnd * search_.seconds));
  return search_.seconds - left;
}

bool SearchTime::may_compare() const {
  return is_measuring() && elapsed() < end() && !is_stopped();
}

double SearchTime::part_for_plans() const {
  const double wanted = kRunsOfPlans * known_run_seconds() + data_seconds_;
  return std::clamp(wanted / std::max(search_.seconds, 1e-9), kLeastForPlans, kMostForPlans);
}

double SearchTime::hurry() const { return kHurry / static_cast<double>(part_.plans); }

double SearchTime::seconds_for_kernels() const {
  return (1.0 - part_for_plans()) * search_.seconds - elapsed();
}

double SearchTime::seconds_for_plans(bool is_hurried, bool is_first) const {
  if (is_hurried) return is_first ? hurry() : 0.0;
  const double left = end() - elapsed();
  return is_first ? std::max(left, kLeastForPlans * search_.seconds) : left;
}

double SearchTime::seconds_per_plan() const {
  return kRunsOfPlan * known_run_seconds() + data_seconds_;
}

search::MeasureOptions SearchTime::plan_timing(bool is_hurried) const {
  constexpr double kShare = 0.25;
  constexpr double kLeast = 0.1;
  constexpr double kMost = 1.5;
  const double seconds = kShare * part_for_plans() * search_.seconds;
  const double most = is_hurried ? std::max(hurry() / 8, kLeast) : kMost;
  return {.seconds = std::clamp(seconds, kLeast, most), .least_samples = 3, .sample_us = 1000};
}

}  // namespace luminal::compiler
