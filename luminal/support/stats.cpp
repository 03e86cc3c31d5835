#include "luminal/support/stats.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "luminal/support/error.h"

namespace luminal::support {
namespace {

// 1 / the 75th percentile of the standard normal distribution.
constexpr double kMadToDeviation = 1.4826022185056018;
// The same for the mean absolute deviation: sqrt(pi / 2).
constexpr double kMeanDeviationToDeviation = 1.2533141373155003;

std::vector<double> sorted_copy(std::span<const double> samples) {
  if (samples.empty()) throw UserError("stats", "there are no samples");
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (!std::isfinite(samples[i]))
      throw UserError("stats", "sample {} of {} is {}; samples must be finite", i, samples.size(),
                      samples[i]);
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// The mean of two numbers; their sum may overflow where the mean does not.
double middle(double low, double high) { return low / 2 + high / 2; }

double median_of_sorted(std::span<const double> sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : middle(sorted[half - 1], sorted[half]);
}

double percentile_of_sorted(std::span<const double> sorted, double fraction) {
  const double position = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 >= sorted.size()) return sorted.back();
  const double weight = position - static_cast<double>(below);
  return sorted[below] * (1 - weight) + sorted[below + 1] * weight;
}

std::vector<double> deviations(std::span<const double> samples, double center) {
  std::vector<double> out(samples.size());
  std::transform(samples.begin(), samples.end(), out.begin(),
                 [&](double sample) { return std::abs(sample - center); });
  return out;
}

// The shortest stretch of the sorted samples that holds half of them (rounded up); the lowest of
// equally short ones, since noise adds to timings.
std::span<const double> densest_half(std::span<const double> sorted) {
  const std::size_t half = (sorted.size() + 1) / 2;
  std::size_t best = 0;
  for (std::size_t i = 1; i + half <= sorted.size(); ++i)
    if (sorted[i + half - 1] - sorted[i] < sorted[best + half - 1] - sorted[best]) best = i;
  return sorted.subspan(best, half);
}

double mode_of_sorted(std::span<const double> sorted) {
  while (sorted.size() > 3) sorted = densest_half(sorted);
  if (sorted.size() < 3) return middle(sorted.front(), sorted.back());
  const double left = sorted[1] - sorted[0], right = sorted[2] - sorted[1];
  if (left == right) return sorted[1];
  return left < right ? middle(sorted[0], sorted[1]) : middle(sorted[1], sorted[2]);
}

// Leaves off as many samples at each end as the confidence allows. The (k+1)-th smallest lies above
// the median exactly if at most k of n fair coins fall on the low side.
Interval median_interval_of_sorted(std::span<const double> sorted, double confidence) {
  const std::size_t n = sorted.size();
  const double allowed_per_side = (1 - confidence) / 2;
  const double log_half_power = -static_cast<double>(n) * std::log(2.0);
  double tail = 0;
  std::size_t cut = 0;
  for (std::size_t k = 0; k < n / 2; ++k) {
    const auto nd = static_cast<double>(n), kd = static_cast<double>(k);
    tail += std::exp(std::lgamma(nd + 1) - std::lgamma(kd + 1) - std::lgamma(nd - kd + 1) +
                     log_half_power);
    if (tail > allowed_per_side) break;
    cut = k;
  }
  return {sorted[cut], sorted[n - 1 - cut]};
}

}  // namespace

double Summary::relative_spread() const { return median == 0 ? 0 : spread / std::abs(median); }

Summary summarize(std::span<const double> samples) {
  const std::vector<double> sorted = sorted_copy(samples);
  const std::vector<double> kept = without_outliers(sorted);
  return {
      .count = sorted.size(),
      .outliers = sorted.size() - kept.size(),
      .median = median_of_sorted(sorted),
      .spread = scaled_mad(sorted),
      .mode = mode_of_sorted(kept),
      .minimum = sorted.front(),
      .maximum = sorted.back(),
      .p10 = percentile_of_sorted(sorted, 0.1),
      .p90 = percentile_of_sorted(sorted, 0.9),
      .median_95 = median_interval_of_sorted(sorted, 0.95),
  };
}

std::string to_string(const Summary& summary, std::string_view unit) {
  return fmt::format("{:.4g} {} ± {:.2g} (95 % {:.4g} to {:.4g}, n = {}, {} outlier{})",
                     summary.median, unit, summary.spread, summary.median_95.low,
                     summary.median_95.high, summary.count, summary.outliers,
                     summary.outliers == 1 ? "" : "s");
}

double median(std::span<const double> samples) { return median_of_sorted(sorted_copy(samples)); }

double percentile(std::span<const double> samples, double fraction) {
  if (!(fraction >= 0 && fraction <= 1))
    throw UserError("percentile", "fraction is {}; it must be from 0 to 1", fraction);
  return percentile_of_sorted(sorted_copy(samples), fraction);
}

double scaled_mad(std::span<const double> samples) {
  return kMadToDeviation * median(deviations(samples, median(samples)));
}

double trimmed_mean(std::span<const double> samples, double fraction_per_end) {
  if (!(fraction_per_end >= 0 && fraction_per_end < 0.5))
    throw UserError("trimmed_mean", "fraction is {}; it must be at least 0 and below 0.5",
                    fraction_per_end);
  const std::vector<double> sorted = sorted_copy(samples);
  const auto cut = static_cast<std::size_t>(fraction_per_end * static_cast<double>(sorted.size()));
  const auto first = sorted.begin() + static_cast<std::ptrdiff_t>(cut);
  const auto last = sorted.end() - static_cast<std::ptrdiff_t>(cut);
  return std::accumulate(first, last, 0.0) / static_cast<double>(last - first);
}

double half_sample_mode(std::span<const double> samples) {
  return mode_of_sorted(sorted_copy(samples));
}

Interval median_interval(std::span<const double> samples, double confidence) {
  if (!(confidence >= 0 && confidence < 1))
    throw UserError("median_interval", "confidence is {}; it must be at least 0 and below 1",
                    confidence);
  return median_interval_of_sorted(sorted_copy(samples), confidence);
}

std::vector<double> without_outliers(std::span<const double> samples, double limit) {
  const double center = median(samples);
  const std::vector<double> distances = deviations(samples, center);
  double deviation = kMadToDeviation * median(distances);
  if (deviation == 0)
    deviation = kMeanDeviationToDeviation *
                std::accumulate(distances.begin(), distances.end(), 0.0) /
                static_cast<double>(distances.size());
  std::vector<double> kept;
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (distances[i] <= limit * deviation) kept.push_back(samples[i]);
  return kept;
}

bool clearly_smaller(const Summary& left, const Summary& right) {
  return left.median_95.high < right.median_95.low;
}

}  // namespace luminal::support
