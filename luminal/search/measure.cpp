#include "luminal/search/measure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "luminal/runtime/cpu/thread_team.h"
#include "luminal/search/sampler.h"
#include "luminal/support/stats.h"
#include "luminal/support/trace.h"

namespace luminal::search {
namespace {

/// One candidate while it is timed.
struct Contestant {
  Sampler sampler;
  bool dropped = false;
  std::vector<double> samples = {};
};

Timing timing_of(const std::vector<double>& samples) {
  // One sample says nothing of how far others would be from it.
  constexpr double kSpreadOfOne = 0.05;
  const support::Summary summary = support::summarize(samples);
  const double median = std::max(summary.median, 1e-3);
  return {median, summary.count == 1 ? kSpreadOfOne * median : summary.spread,
          static_cast<int>(summary.count)};
}

double quickest(const Contestant& contestant) {
  return *std::min_element(contestant.samples.begin(), contestant.samples.end());
}

/// Whether a contestant still may be the best: its quickest sample is not far behind.
bool may_win(const Contestant& contestant, double best_median, double hopeless) {
  return quickest(contestant) < hopeless * best_median;
}

double best_median(const std::vector<Contestant>& contestants) {
  double best = std::numeric_limits<double>::infinity();
  for (const Contestant& each : contestants) best = std::min(best, support::median(each.samples));
  return best;
}

/// What a contestant takes when nothing is in its way, about.
double undisturbed(const Contestant& contestant) {
  constexpr double kQuick = 0.2;
  return support::percentile(contestant.samples, kQuick);
}

/// How much longer all took in a round than they take undisturbed.
double slowness_of(const std::vector<Contestant>& contestants, const std::vector<double>& quick,
                   size_t round) {
  std::vector<double> factors;
  for (size_t k = 0; k < contestants.size(); ++k)
    if (round < contestants[k].samples.size())
      factors.push_back(contestants[k].samples[round] / quick[k]);
  return support::median(factors);
}

/// Rounds in which most were slow tell about the machine: other work, or threads that have not
/// found a core of their own yet, as is usual in the first milliseconds. Leaves those out if enough
/// others remain; else says that there were too many.
bool without_slow_rounds(std::vector<Contestant>& contestants, const MeasureOptions& options) {
  constexpr double kSlow = 1.25;
  constexpr double kLeastLeft = 0.4;
  std::vector<double> quick;
  size_t rounds = 0;
  for (const Contestant& each : contestants) {
    quick.push_back(undisturbed(each));
    rounds = std::max(rounds, each.samples.size());
  }
  std::vector<bool> is_slow(rounds, false);
  for (size_t round = 0; round < rounds; ++round)
    is_slow[round] = slowness_of(contestants, quick, round) > kSlow;
  const auto left = static_cast<double>(std::count(is_slow.begin(), is_slow.end(), false));
  // What takes long has few rounds, which is no sign of other work.
  const size_t least = std::min(rounds, static_cast<size_t>(options.least_samples));
  if (left < std::max(kLeastLeft * static_cast<double>(rounds), static_cast<double>(least)))
    return false;
  for (Contestant& each : contestants) {
    std::vector<double> kept;
    for (size_t round = 0; round < each.samples.size(); ++round)
      if (!is_slow[round]) kept.push_back(each.samples[round]);
    // Those that were dropped early may have run in such rounds only.
    if (!kept.empty()) each.samples = std::move(kept);
  }
  return true;
}

/// Whether an order of the best would be luck: the best one is known badly, another one was clearly
/// quicker at times, or many samples of all were disturbed, or most of the first one, by which
/// others are compared with earlier ones.
bool is_unreliable(const std::vector<Contestant>& contestants, const Timing& best) {
  constexpr double kDoubt = 0.05;
  constexpr double kQuicker = 0.9;
  constexpr double kDisturbed = 1.25;
  constexpr double kMostDisturbed = 0.35;
  constexpr double kMostlyDisturbed = 1.3;
  if (best.spread_us > kDoubt * best.median_us * std::sqrt(best.samples)) return true;
  if (support::median(contestants.front().samples) >
      kMostlyDisturbed * undisturbed(contestants.front()))
    return true;
  double disturbed = 0;
  double all = 0;
  for (const Contestant& each : contestants) {
    const double quick = undisturbed(each);
    if (quick < kQuicker * best.median_us) return true;
    for (const double sample : each.samples) disturbed += sample > kDisturbed * quick ? 1 : 0;
    all += static_cast<double>(each.samples.size());
  }
  return disturbed > kMostDisturbed * all;
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
  constexpr int kLongRoundsBeforeDropping = 2;
  // A machine that is very busy makes the least number of samples take any time.
  constexpr double kMostOvertime = 8;
  constexpr double kLeastOvertime = 2e6;
  const support::TraceSpan span("search", "measure");
  const support::TracePause pause;  // runs of a measurement are no news
  const runtime::CallerPlace place(options.threads);
  std::vector<Contestant> contestants;
  for (const std::function<void()>& run : runs)
    contestants.push_back({Sampler(run, options.clock, options.sample_us)});
  if (contestants.empty()) return {};
  const Sampler& any = contestants.front().sampler;
  const double begin = any.now();
  for (int round = 0; round < options.most_samples; ++round) {
    for (Contestant& each : contestants)
      if (!each.dropped) each.samples.push_back(each.sampler.sample());
    const double elapsed = any.now() - begin;
    const bool late = elapsed > options.seconds * 1e6;
    if (round + 1 >= (late ? kLongRoundsBeforeDropping : kRoundsBeforeDropping)) {
      const double best = best_median(contestants);
      for (Contestant& each : contestants)
        each.dropped = each.dropped || !may_win(each, best, options.hopeless);
    }
    if (late && options.stop && options.stop()) break;
    if (round + 1 >= options.least_samples && (late || is_settled(contestants, options))) break;
    if (elapsed > std::max(kMostOvertime * options.seconds * 1e6, kLeastOvertime) && round > 0)
      break;
  }
  const bool is_quiet = without_slow_rounds(contestants, options);
  Measured result;
  for (const Contestant& each : contestants) result.timings.push_back(timing_of(each.samples));
  const auto best =
      std::min_element(result.timings.begin(), result.timings.end(),
                       [](const Timing& a, const Timing& b) { return a.median_us < b.median_us; });
  result.unreliable = !is_quiet || is_unreliable(contestants, *best);
  return result;
}

Measured measure(const std::vector<const Candidate*>& candidates, const TensorPlaces& tensors,
                 runtime::ThreadTeam& team, const MeasureOptions& options) {
  std::vector<std::unique_ptr<CandidateRunner>> runners;
  std::vector<std::function<void()>> runs;
  for (const Candidate* candidate : candidates) {
    runners.push_back(
        std::make_unique<CandidateRunner>(*candidate, tensors, team, options.threads));
    runners.back()->prepare();
    runs.emplace_back([runner = runners.back().get()] { runner->run(); });
  }
  MeasureOptions how = options;
  how.threads = options.threads > 0 ? std::min(options.threads, team.size()) : team.size();
  return measure_runs(runs, how);
}

}  // namespace luminal::search
