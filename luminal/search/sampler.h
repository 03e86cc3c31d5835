// One function while it is timed: how often it has to run for one sample to be long enough for the
// clock, and samples of it.
#pragma once

#include <functional>

namespace luminal::search {

/// Microseconds since whenever: the clock of the machine.
double machine_clock_us();

/// See above. What it is given must outlive it.
class Sampler {
 public:
  /// Runs the function twice, or once if that takes long. `clock` may be null: the machine's. A
  /// sample takes `sample_us` at least, about.
  Sampler(const std::function<void()>& run, const std::function<double()>& clock, double sample_us);

  double now() const { return clock_ ? clock_() : machine_clock_us(); }
  /// Microseconds of one run, the mean of some.
  double sample() const;
  /// The same after a run that does not count where a sample is of several: what ran before left
  /// other data in the caches.
  double sample_warm() const;

 private:
  const std::function<void()>& run_;
  const std::function<double()>& clock_;
  int repeats_ = 1;
};

}  // namespace luminal::search
