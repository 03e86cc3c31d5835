#include "luminal/search/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>

#include "luminal/support/stats.h"

namespace luminal::search {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

/// One candidate while it is timed.
struct Contestant {
  const std::function<void()>& run;
  int repeats = 1;
  bool dropped = false;
  std::vector<double> samples = {};

  void sample() {
    const auto begin = Clock::now();
    for (int k = 0; k < repeats; ++k) run();
    samples.push_back(microseconds_since(begin) / repeats);
  }

  /// Warms caches and finds how often a sample has to run to be long enough for the clock.
  void warm_up(double sample_us) {
    run();
    const auto begin = Clock::now();
    run();
    const double once = std::max(microseconds_since(begin), 0.05);
    repeats = std::clamp(static_cast<int>(std::ceil(sample_us / once)), 1, 10'000);
  }
};

Timing timing_of(const std::vector<double>& samples) {
  const support::Summary summary = support::summarize(samples);
  return {std::max(summary.median, 1e-3), summary.spread, static_cast<int>(summary.count)};
}

/// Whether a contestant still may be the best: its quickest sample is not far behind.
bool may_win(const Contestant& contestant, double best_median, double hopeless) {
  return *std::min_element(contestant.samples.begin(), contestant.samples.end()) <
         hopeless * best_median;
}

double best_median(const std::vector<Contestant>& contestants) {
  double best = std::numeric_limits<double>::infinity();
  for (const Contestant& each : contestants) best = std::min(best, support::median(each.samples));
  return best;
}

/// Whether every one that is left is known well enough.
bool is_settled(const std::vector<Contestant>& contestants, const MeasureOptions& options) {
  return std::all_of(contestants.begin(), contestants.end(), [&](const Contestant& each) {
    const auto count = static_cast<int>(each.samples.size());
    if (each.dropped || count >= options.most_samples) return true;
    return count >= options.least_samples &&
           support::summarize(each.samples).relative_spread() < options.steady_spread;
  });
}

}  // namespace

Measured measure_runs(const std::vector<std::function<void()>>& runs,
                      const MeasureOptions& options) {
  constexpr int kRoundsBeforeDropping = 3;
  constexpr double kUnreliable = 0.15;
  std::vector<Contestant> contestants;
  for (const std::function<void()>& run : runs) {
    contestants.push_back({run});
    contestants.back().warm_up(options.sample_us);
  }
  const auto begin = Clock::now();
  for (int round = 0; round < options.most_samples; ++round) {
    for (Contestant& each : contestants)
      if (!each.dropped) each.sample();
    if (round + 1 >= kRoundsBeforeDropping) {
      const double best = best_median(contestants);
      for (Contestant& each : contestants)
        each.dropped = each.dropped || !may_win(each, best, options.hopeless);
    }
    const bool late = microseconds_since(begin) > options.seconds * 1e6;
    if (round + 1 >= options.least_samples && (late || is_settled(contestants, options))) break;
  }
  Measured result;
  for (const Contestant& each : contestants) result.timings.push_back(timing_of(each.samples));
  const auto best =
      std::min_element(result.timings.begin(), result.timings.end(),
                       [](const Timing& a, const Timing& b) { return a.median_us < b.median_us; });
  result.unreliable =
      best != result.timings.end() && best->spread_us > kUnreliable * best->median_us;
  return result;
}

Measured measure(const std::vector<const Candidate*>& candidates, const TensorPlaces& tensors,
                 runtime::ThreadTeam& team, const MeasureOptions& options) {
  std::vector<std::unique_ptr<CandidateRunner>> runners;
  std::vector<std::function<void()>> runs;
  for (const Candidate* candidate : candidates) {
    runners.push_back(std::make_unique<CandidateRunner>(*candidate, tensors, team));
    runners.back()->prepare();
    runs.emplace_back([runner = runners.back().get()] { runner->run(); });
  }
  return measure_runs(runs, options);
}

}  // namespace luminal::search
