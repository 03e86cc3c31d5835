#include "luminal/search/trial_time.h"

#include <algorithm>

#include "luminal/search/sampler.h"

namespace luminal::search {
namespace {

/// What making data is of the first trial, about, where nothing else is known.
constexpr double kShareOfData = 0.5;

}  // namespace

size_t TrialTime::that_fit(size_t wanted, double default_us) const {
  if (!seconds_left_) return wanted;
  const double seconds = std::max(seconds_per_way_, kRunsPerWay * default_us * 1e-6);
  if (seconds <= 0) return wanted;
  const double ways = std::max(seconds_left_(), 0.0) / seconds;
  return ways >= static_cast<double>(wanted) ? wanted : static_cast<size_t>(ways);
}

double TrialTime::now_us() const { return clock_ ? clock_() : machine_clock_us(); }

void TrialTime::begin() { begin_us_ = now_us(); }

void TrialTime::end(size_t ways, bool is_first) {
  last_seconds_ = (now_us() - begin_us_) * 1e-6;
  const double trials = last_seconds_ * (is_first ? 1 - kShareOfData : 1);
  seconds_per_way_ = trials / static_cast<double>(std::max<size_t>(ways, 1));
}

bool TrialTime::fits_again() const { return !seconds_left_ || seconds_left_() >= last_seconds_; }

}  // namespace luminal::search
