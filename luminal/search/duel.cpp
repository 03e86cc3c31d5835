#include "luminal/search/duel.h"

#include <algorithm>
#include <utility>

#include "luminal/runtime/cpu/thread_team.h"
#include "luminal/search/sampler.h"
#include "luminal/support/trace.h"

namespace luminal::search {
namespace {

/// That the median of the ratios is where it is said to be.
constexpr double kConfidence = 0.98;
/// An interval from clearly quicker to slower says nothing.
constexpr double kClearlyQuicker = 0.93;

/// Who loses so many pairs, and more than half of them, need not go on.
constexpr int kHopelesslyLost = 5;

std::vector<double> ratios_of(const std::vector<Pair>& pairs) {
  std::vector<double> result;
  for (const Pair& pair : pairs) result.push_back(pair.ratio());
  return result;
}

std::vector<Pair> joined(const std::vector<std::vector<Pair>>& loads) {
  std::vector<Pair> result;
  for (const std::vector<Pair>& each : loads) result.insert(result.end(), each.begin(), each.end());
  return result;
}

bool has_lost(const std::vector<Pair>& pairs) {
  return !pairs.empty() && support::median(ratios_of(pairs)) >= 1;
}

/// How many loads may be lost by who is quicker all the same: those that had bad luck.
size_t may_lose(size_t loads) { return loads / 7; }

/// The pairs of several loads of the first and another way.
std::vector<std::vector<Pair>> fought(size_t way, const LoadWay& load, DuelOptions options) {
  options.seconds /= options.loads;
  options.least_pairs = (options.least_pairs + options.loads - 1) / options.loads;
  const size_t allowed = may_lose(static_cast<size_t>(options.loads));
  size_t lost = 0;
  std::vector<std::vector<Pair>> result;
  for (int k = 0; k < options.loads && lost <= allowed; ++k) {
    // Who is loaded first has other memory than who comes second.
    const bool turned = k % 2 == 1;
    std::function<void()> one = load(turned ? way : 0);
    std::function<void()> other = load(turned ? 0 : way);
    if (turned) std::swap(one, other);
    result.push_back(time_pairs(one, other, options));
    lost += has_lost(result.back()) ? 1 : 0;
  }
  return result;
}

/// Times that compare as the pairs do.
void replace_times(Measured& measured, size_t way, const std::vector<Pair>& pairs,
                   const Verdict& verdict, double least_gain) {
  std::vector<double> firsts;
  for (const Pair& pair : pairs) firsts.push_back(pair.first_us);
  const double first = support::median(firsts);
  // What was as quick as the first before still is, to the last bit.
  const double before = measured.timings[0].median_us;
  for (Timing& timing : measured.timings) {
    timing.median_us = first * (timing.median_us / before);
    timing.spread_us = first * (timing.spread_us / before);
  }
  const double spread = support::scaled_mad(ratios_of(pairs)) * first;
  const double ratio =
      verdict.quicker ? std::min(verdict.ratio, 1 - least_gain) : std::max(verdict.ratio, 1.0);
  const auto count = static_cast<int>(pairs.size());
  measured.timings[0] = {first, spread, count};
  measured.timings[way] = {ratio * first, spread, count};
}

}  // namespace

std::vector<Pair> time_pairs(const std::function<void()>& first,
                             const std::function<void()>& second, const DuelOptions& options) {
  const support::TraceSpan span("search", "duel");
  const support::TracePause pause;  // runs of a measurement are no news
  const runtime::CallerPlace place(options.threads);
  Sampler one(first, options.clock, options.sample_us);
  Sampler other(second, options.clock, options.sample_us);
  const double begin = one.now();
  std::vector<Pair> pairs;
  int lost = 0;
  while (static_cast<int>(pairs.size()) < options.most_pairs) {
    Pair pair;
    if (pairs.size() % 2 == 0) {
      pair.first_us = one.sample_warm();
      pair.second_us = other.sample_warm();
    } else {
      pair.second_us = other.sample_warm();
      pair.first_us = one.sample_warm();
    }
    pairs.push_back(pair);
    lost += pair.ratio() >= 1 ? 1 : 0;
    if (options.give_up && lost >= kHopelesslyLost && 2 * lost > static_cast<int>(pairs.size()))
      break;
    const bool late = one.now() - begin > options.seconds * 1e6;
    if (late && static_cast<int>(pairs.size()) >= options.least_pairs) break;
  }
  return pairs;
}

Verdict judge(const std::vector<std::vector<Pair>>& loads, double least_gain) {
  const std::vector<double> ratios = ratios_of(joined(loads));
  Verdict verdict;
  if (ratios.empty()) return verdict;
  verdict.ratio = support::median(ratios);
  verdict.interval = support::median_interval(ratios, kConfidence);
  const auto lost = static_cast<size_t>(std::count_if(loads.begin(), loads.end(), has_lost));
  const bool everywhere = lost <= may_lose(loads.size());
  verdict.quicker = everywhere && verdict.ratio <= 1 - least_gain && verdict.interval.high < 1;
  verdict.disturbed =
      !verdict.quicker && verdict.interval.low < kClearlyQuicker && verdict.interval.high > 1;
  return verdict;
}

void settle_by_duels(Measured& measured, const LoadWay& load, const DuelOptions& options) {
  std::vector<bool> has_fought(measured.timings.size(), false);
  const auto next = [&] {
    size_t best = 0;
    for (size_t way = 1; way < has_fought.size(); ++way)
      if (!has_fought[way] && measured.timings[way].median_us < measured.timings[best].median_us)
        best = way;
    return best;
  };
  if (measured.timings.empty()) return;
  for (size_t way = next(); way != 0; way = next()) {
    has_fought[way] = true;
    const std::vector<std::vector<Pair>> loads = fought(way, load, options);
    Verdict verdict = judge(loads, options.least_gain);
    if (verdict.quicker && options.disturbed && options.disturbed()) {
      verdict.quicker = false;
      verdict.disturbed = true;
    }
    replace_times(measured, way, joined(loads), verdict, options.least_gain);
    measured.unreliable = !verdict.quicker && (measured.unreliable || verdict.disturbed);
    if (!verdict.quicker) continue;
    // Who has not fought is not taken for better than who won.
    const double time = measured.timings[way].median_us;
    for (size_t other = 1; other < has_fought.size(); ++other)
      if (!has_fought[other])
        measured.timings[other].median_us = std::max(measured.timings[other].median_us, time);
    break;
  }
}

}  // namespace luminal::search
