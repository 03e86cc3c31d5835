#include "luminal/support/stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "luminal/support/error.h"

namespace luminal::support {
namespace {

using Samples = std::vector<double>;

// Timings as they are: a true cost, a little noise, and now and then a long delay.
Samples noisy_timings(std::mt19937& random, double cost, int count) {
  std::normal_distribution<double> jitter(0, cost * 0.01);
  std::exponential_distribution<double> delay(1 / cost);
  Samples samples;
  for (int i = 0; i < count; ++i)
    samples.push_back(cost + std::abs(jitter(random)) +
                      (random() % 8 == 0 ? 5 * delay(random) : 0));
  return samples;
}

TEST(Stats, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(median(Samples{3}), 3);
  EXPECT_EQ(median(Samples{3, 1}), 2);
  EXPECT_EQ(median(Samples{9, 1, 5}), 5);
  EXPECT_EQ(median(Samples{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median(Samples{1e308, 1.5e308}), 1.25e308);
}

TEST(Stats, PercentilesInterpolate) {
  const Samples samples{40, 10, 20, 30, 50};
  EXPECT_EQ(percentile(samples, 0), 10);
  EXPECT_EQ(percentile(samples, 1), 50);
  EXPECT_EQ(percentile(samples, 0.5), 30);
  EXPECT_DOUBLE_EQ(percentile(samples, 0.1), 14);
  EXPECT_EQ(percentile(Samples{7}, 0.3), 7);
}

TEST(Stats, MadEstimatesTheDeviationOfNormalSamples) {
  std::mt19937 random(42);
  std::normal_distribution<double> normal(100, 5);
  Samples samples;
  for (int i = 0; i < 20000; ++i) samples.push_back(normal(random));
  EXPECT_NEAR(scaled_mad(samples), 5, 0.15);
  EXPECT_EQ(scaled_mad(Samples{4, 4, 4}), 0);
}

TEST(Stats, TrimmedMeanCutsBothEnds) {
  const Samples samples{1000, 1, 2, 3, 4, 5, 6, 7, 8, -1000};
  EXPECT_DOUBLE_EQ(trimmed_mean(samples, 0.1), 4.5);
  EXPECT_DOUBLE_EQ(trimmed_mean(Samples{1, 2, 6}, 0), 3);
  EXPECT_DOUBLE_EQ(trimmed_mean(Samples{1, 2, 60}, 0.49), 2);
}

TEST(Stats, HalfSampleModeFindsTheDensestPlace) {
  EXPECT_EQ(half_sample_mode(Samples{5}), 5);
  EXPECT_EQ(half_sample_mode(Samples{4, 6}), 5);
  EXPECT_EQ(half_sample_mode(Samples{1, 2, 10}), 1.5);
  EXPECT_EQ(half_sample_mode(Samples{1, 9, 10}), 9.5);
  EXPECT_EQ(half_sample_mode(Samples{1, 2, 3}), 2);
  // Two heaps: seven samples near 10, five near 20. The median sits in the first, the mean between.
  const Samples heaps{20.1, 20.2, 20.0, 20.3, 19.9, 10.0, 10.1, 10.05, 10.2, 9.9, 10.02, 10.08};
  EXPECT_NEAR(half_sample_mode(heaps), 10.05, 0.06);
}

TEST(Stats, MedianIntervalMatchesTheBinomialTables) {
  // Standard tables: for n = 10 the 2nd and 9th smallest enclose the median with 97.9 %, for n = 20
  // the 6th and 15th with 95.9 %.
  Samples ten, twenty;
  for (int i = 1; i <= 20; ++i) {
    if (i <= 10) ten.push_back(i);
    twenty.push_back(i);
  }
  EXPECT_EQ(median_interval(ten, 0.95), (Interval{2, 9}));
  EXPECT_EQ(median_interval(twenty, 0.95), (Interval{6, 15}));
  // Six samples are the fewest for 95 %: 2 / 2^6 = 3.1 %.
  EXPECT_EQ(median_interval(Samples{1, 2, 3, 4, 5, 6}), (Interval{1, 6}));
  EXPECT_EQ(median_interval(Samples{3}), (Interval{3, 3}));
}

TEST(Stats, MedianIntervalCoversTheTruthAsOftenAsItSays) {
  std::mt19937 random(7);
  std::exponential_distribution<double> samples_of(1);
  int covered = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Samples samples;
    for (int i = 0; i < 25; ++i) samples.push_back(samples_of(random));
    const Interval interval = median_interval(samples);
    covered += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high;
  }
  EXPECT_GT(covered, 1880);
  EXPECT_LT(covered, 1960);
}

TEST(Stats, MedianIntervalOfManySamplesIsNarrow) {
  Samples samples;
  for (int i = 0; i < 10001; ++i) samples.push_back(i);
  const Interval interval = median_interval(samples);
  // Normal approximation: 5000 ± 1.96 * sqrt(10001) / 2.
  EXPECT_NEAR(interval.low, 4902, 2);
  EXPECT_NEAR(interval.high, 5098, 2);
}

TEST(Stats, OutliersAreRejectedAndOrderIsKept) {
  EXPECT_EQ(without_outliers(Samples{10, 11, 500, 9, 10.5, 0.1}), (Samples{10, 11, 9, 10.5}));
  EXPECT_EQ(without_outliers(Samples{1}), (Samples{1}));
  EXPECT_EQ(without_outliers(Samples{2, 2, 2}), (Samples{2, 2, 2}));
}

TEST(Stats, OutliersAreFoundOnACoarseClock) {
  const Samples samples{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 6, 100};
  const Samples kept = without_outliers(samples);
  EXPECT_EQ(kept.size(), 15u);
  EXPECT_EQ(kept.back(), 6);
}

TEST(Stats, SummaryAgreesWithItsParts) {
  const Samples samples{12, 10, 11, 13, 300, 11.5, 12.5};
  const Summary summary = summarize(samples);
  EXPECT_EQ(summary.count, 7u);
  EXPECT_EQ(summary.outliers, 1u);
  EXPECT_EQ(summary.median, 12);
  EXPECT_EQ(summary.spread, scaled_mad(samples));
  EXPECT_EQ(summary.minimum, 10);
  EXPECT_EQ(summary.maximum, 300);
  EXPECT_EQ(summary.p90, percentile(samples, 0.9));
  EXPECT_EQ(summary.median_95, (Interval{10, 300}));
  EXPECT_GE(summary.mode, 10);
  EXPECT_LE(summary.mode, 13);
  EXPECT_DOUBLE_EQ(summary.relative_spread(), summary.spread / 12);
  EXPECT_EQ(summarize(Samples{0, 0}).relative_spread(), 0);
}

TEST(Stats, SummaryOfOneSampleIsThatSample) {
  const Summary summary = summarize(Samples{2.5});
  EXPECT_EQ(summary.median, 2.5);
  EXPECT_EQ(summary.mode, 2.5);
  EXPECT_EQ(summary.spread, 0);
  EXPECT_EQ(summary.median_95, (Interval{2.5, 2.5}));
}

TEST(Stats, MedianAndModeStandUpToDelaysWhereTheMeanDoesNot) {
  std::mt19937 random(99);
  const Samples samples = noisy_timings(random, 100, 200);
  const Summary summary = summarize(samples);
  EXPECT_NEAR(summary.median, 100, 2);
  EXPECT_NEAR(summary.mode, 100, 2);
  EXPECT_GT(trimmed_mean(samples, 0), 130);
  EXPECT_GT(summary.outliers, 10u);
}

TEST(Stats, RealDifferencesAreToldFromNoise) {
  std::mt19937 random(5);
  const Summary slow = summarize(noisy_timings(random, 105, 100));
  const Summary fast = summarize(noisy_timings(random, 100, 100));
  const Summary again = summarize(noisy_timings(random, 100, 100));
  EXPECT_TRUE(clearly_smaller(fast, slow));
  EXPECT_FALSE(clearly_smaller(slow, fast));
  EXPECT_FALSE(clearly_smaller(fast, again) && clearly_smaller(again, fast));
  EXPECT_FALSE(clearly_smaller(fast, fast));
}

TEST(Stats, TextNamesUnitSpreadAndCount) {
  EXPECT_EQ(to_string(summarize(Samples{10, 10, 10, 12, 8, 10.5, 9.5}), "us"),
            "10 us ± 0.74 (95 % 8 to 12, n = 7, 0 outliers)");
}

TEST(Stats, BadInputIsNamed) {
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([] { summarize(Samples{}); }), "stats: there are no samples");
  EXPECT_EQ(message([] {
              median(Samples{1, std::numeric_limits<double>::quiet_NaN()});
            }),
            "stats: sample 1 of 2 is nan; samples must be finite");
  EXPECT_EQ(message([] { scaled_mad(Samples{std::numeric_limits<double>::infinity()}); }),
            "stats: sample 0 of 1 is inf; samples must be finite");
  EXPECT_EQ(message([] { percentile(Samples{1}, 1.5); }),
            "percentile: fraction is 1.5; it must be from 0 to 1");
  EXPECT_EQ(message([] { trimmed_mean(Samples{1}, 0.5); }),
            "trimmed_mean: fraction is 0.5; it must be at least 0 and below 0.5");
  EXPECT_EQ(message([] { median_interval(Samples{1}, 1); }),
            "median_interval: confidence is 1; it must be at least 0 and below 1");
}

}  // namespace
}  // namespace luminal::support
