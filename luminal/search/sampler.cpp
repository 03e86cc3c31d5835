#include "luminal/search/sampler.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace luminal::search {
namespace {

/// No sample is longer if it can be shorter; how many runs there are between looks at the clock.
constexpr double kLongestSample = 20'000;
constexpr int kRunsPerLook = 16;

}  // namespace

double machine_clock_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(now).count();
}

Sampler::Sampler(const std::function<void()>& run, const std::function<double()>& clock,
                 double sample_us)
    : run_(run), clock_(clock) {
  double begin = now();
  run_();
  double end = now();
  // The first run finds nothing where it needs it, which is no matter to one that takes long.
  if (end - begin < kLongestSample) {
    begin = end;
    run_();
    end = now();
  }
  const double once = std::max(end - begin, 0.05);
  repeats_ = std::clamp(static_cast<int>(std::ceil(sample_us / once)), 1, 10'000);
}

double Sampler::sample() const {
  const double begin = now();
  double end = begin;
  int done = 0;
  // Where the machine became busy, as many runs as in the beginning may take seconds.
  while (done < repeats_ && end - begin < kLongestSample) {
    const int more = std::min(repeats_ - done, kRunsPerLook);
    for (int k = 0; k < more; ++k) run_();
    done += more;
    end = now();
  }
  return (end - begin) / done;
}

double Sampler::sample_warm() const {
  if (repeats_ > 1) run_();
  return sample();
}

}  // namespace luminal::search
