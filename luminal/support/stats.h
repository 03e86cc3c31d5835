// Robust statistics for timings.
//
// A timing is the true cost plus noise, and the noise is not symmetric: interrupts, other
// processes, page faults and cold caches only ever add time, sometimes a lot, while a lucky turbo
// burst or a quantised clock now and then gives a sample that is too *small*.
//   - The mean follows the slow tail. One descheduled run of 10 ms among a hundred of 0.1 ms
//     doubles it, so it ranks kernels by their bad luck.
//   - The minimum is the extreme of the fast tail. It improves with the number of samples, so
//     candidates sampled more often look faster; it may be a clock artefact; and it promises a
//     speed nobody sees in practice.
// What the user feels is the typical run. The median estimates it and stands up to nearly half of
// the samples being bad; where samples fall in two heaps (a clock that changes frequency), the
// half-sample mode finds the denser one. The spread comes with it, as a median absolute deviation,
// so that a caller can tell a real difference from noise.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace luminal::support {

/// A closed range of values.
struct Interval {
  double low = 0;
  double high = 0;

  friend bool operator==(const Interval&, const Interval&) = default;
};

/// What is worth knowing about a set of samples, in the samples' own unit.
struct Summary {
  std::size_t count = 0;  ///< samples given
  std::size_t outliers =
      0;  ///< how many of them lie far off (they are still in all figures but mode)
  double median = 0;
  double spread = 0;  ///< scaled MAD: the standard deviation, if the samples were normal
  double mode = 0;    ///< half-sample mode of the samples that are no outliers
  double minimum = 0;
  double maximum = 0;
  double p10 = 0;
  double p90 = 0;
  Interval median_95;  ///< confidence interval of the median, 95 % or a little more

  /// Spread over median: how noisy the measurement was. 0 if the median is.
  double relative_spread() const;
};

/// Everything about a set of samples; UserError if there is none or one is not finite.
Summary summarize(std::span<const double> samples);
/// One line: "12.3 us ± 0.4 (95 % 12.1 to 12.6, n = 50, 2 outliers)".
std::string to_string(const Summary& summary, std::string_view unit);

/// The middle value, or the mean of the middle two.
double median(std::span<const double> samples);
/// The value below which a fraction (0 to 1) of the samples lies, interpolated linearly.
double percentile(std::span<const double> samples, double fraction);
/// Median absolute deviation from the median, times 1.4826, which makes it estimate the standard
/// deviation of normal samples.
double scaled_mad(std::span<const double> samples);
/// Mean of what remains after the given fraction (0 to below 0.5) is cut off at each end.
double trimmed_mean(std::span<const double> samples, double fraction_per_end);
/// Half-sample mode: halves the samples again and again towards where they lie densest.
double half_sample_mode(std::span<const double> samples);
/// Confidence interval of the median by order statistics: no assumption on the distribution. The
/// whole range of the samples if they are too few for the confidence (0 to below 1) asked.
Interval median_interval(std::span<const double> samples, double confidence = 0.95);

/// The samples within `limit` scaled MADs of the median, in their order. Where more than half of
/// them are equal (a coarse clock makes the MAD zero) the mean absolute deviation stands in for it.
std::vector<double> without_outliers(std::span<const double> samples, double limit = 3.5);

/// Whether one set of samples is faster (smaller) than the other beyond noise: their intervals of
/// the median do not overlap.
bool clearly_smaller(const Summary& left, const Summary& right);

}  // namespace luminal::support
